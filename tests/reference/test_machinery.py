"""Queue, informer, kubeconfig and command line."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from reference.client import ApiError, Client, ConfigError, in_pod, load_kubeconfig
from reference.informers import Informer, Store
from reference.objects import POD, Key, Object, meta
from reference.workqueue import WorkQueue

ROOT = Path(__file__).resolve().parents[2]


def test_key_waits_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for _ in range(3):
        queue.add("a")
    queue.add("b")
    assert [queue.get(), queue.get()] == ["a", "b"]
    queue.close()
    assert queue.get() is None


def test_key_added_during_its_work_comes_again_only_after_it() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert queue.get() == "a"
    queue.add("a")
    queue.add("b")
    assert queue.get() == "b"
    queue.done("a")
    assert queue.get() == "a"


def test_retries_wait_longer_until_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waits = [queue.retry("a") for _ in range(12)]
    assert waits[:3] == [0.05, 0.1, 0.2]
    assert waits[-1] == 30.0
    queue.forget("a")
    assert queue.retry("a") == 0.05


def test_delayed_key_comes_when_it_is_due() -> None:
    queue: WorkQueue[str] = WorkQueue()
    begin = time.monotonic()
    queue.add_after("late", 0.1)
    queue.add_after("soon", 0.02)
    assert [queue.get(), queue.get()] == ["soon", "late"]
    assert time.monotonic() - begin >= 0.1


def pod(name: str, version: int, uid: str = "u", owner: str = "") -> Object:
    metadata: Object = {"name": name, "namespace": "ns", "uid": uid}
    metadata["resourceVersion"] = str(version)
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    return {"metadata": metadata}


def test_own_write_is_seen_before_the_watch_tells_of_it() -> None:
    store = Store()
    store.observe(pod("a", 5))
    store.remember(pod("a", 7))
    _, now = store.observe(pod("a", 6))
    assert meta(now)["resourceVersion"] == "7"


def test_late_answer_does_not_bring_a_deleted_object_back() -> None:
    store = Store()
    store.observe(pod("a", 5))
    store.drop(pod("a", 9))
    store.remember(pod("a", 7))
    assert store.get(Key("ns", "a")) is None


def test_deletion_of_an_old_object_spares_the_new_one_of_its_name() -> None:
    store = Store()
    store.observe(pod("a", 5, uid="old"))
    store.remember(pod("a", 8, uid="new"))
    assert store.drop(pod("a", 7, uid="old")) is None
    assert store.get(Key("ns", "a")) is not None


def test_objects_are_found_by_owner_and_lost_with_it() -> None:
    store = Store()
    store.observe(pod("b", 1, owner="o"))
    store.observe(pod("a", 2, owner="o"))
    assert [meta(obj)["name"] for obj in store.owned_by("o")] == ["a", "b"]
    store.observe(pod("b", 3))
    store.drop(pod("a", 4))
    assert store.owned_by("o") == []


class Script:
    """A client whose list and watch follow a script."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.calls: list[str] = []
        self.finished = threading.Event()

    def list(self, *args: Any, **options: Any) -> Object:
        self.calls.append("list")
        step = self._next()
        if isinstance(step, ApiError):
            raise step
        version, items = step
        return {"metadata": {"resourceVersion": str(version)}, "items": items}

    def watch(self, kind: Any, query: Any, version: str, **options: Any) -> Iterator[Object]:
        self.calls.append(f"watch {version}")
        for step in self._next():
            if isinstance(step, BaseException):
                raise step
            yield step

    def _next(self) -> Any:
        if not self.steps:
            self.finished.set()
            threading.Event().wait(5)
            return ()
        return self.steps.pop(0)


def event(type_: str, obj: Object) -> Object:
    return {"type": type_, "object": obj}


def follow(*steps: Any) -> tuple[Script, Informer, list[tuple[str, str]]]:
    script = Script(*steps)
    # The script has the two methods of Client that an informer uses.
    informer = Informer(script, POD)  # type: ignore[arg-type]
    seen: list[tuple[str, str]] = []

    def note(old: Object | None, new: Object | None) -> None:
        word = "gone" if new is None else "new" if old is None else "changed"
        seen.append((word, meta(new or old or {}).get("name", "")))

    informer.on_change(note)
    informer.start()
    assert script.finished.wait(5)
    informer.stop()
    return script, informer, seen


def test_broken_watch_resumes_where_it_was() -> None:
    script, _, seen = follow(
        (1, [pod("a", 1)]),
        [event("MODIFIED", pod("a", 4)), OSError("reset")],
        [event("DELETED", pod("a", 6))],
    )
    assert script.calls == ["list", "watch 1", "watch 4", "watch 6"]
    assert seen == [("new", "a"), ("changed", "a"), ("gone", "a")]


def test_expired_watch_lists_again_and_tells_what_went_meanwhile() -> None:
    expired = {"code": 410, "reason": "Expired", "message": "too old"}
    script, informer, seen = follow(
        (1, [pod("a", 1), pod("b", 1, uid="b")]),
        [event("ERROR", expired)],
        (9, [pod("b", 8, uid="b")]),
    )
    assert script.calls == ["list", "watch 1", "list", "watch 9"]
    assert ("gone", "a") in seen
    assert informer.store.get(Key("ns", "a")) is None


def test_kind_that_is_not_served_is_no_obstacle_and_is_tried_again() -> None:
    missing = ApiError(404, "NotFound", "no such kind")
    script, informer, _ = follow(missing, (3, []))
    assert informer.synced.is_set()
    assert script.calls[:2] == ["list", "list"]
    assert informer.served


def test_bookmark_moves_the_place_to_resume_from() -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "50"}})
    script, _, seen = follow((1, []), [bookmark], [])
    assert script.calls[:3] == ["list", "watch 1", "watch 50"]
    assert seen == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a: [", "is not YAML"),
        ("current-context: x\ncontexts: []", "contexts has no entry named 'x'"),
        (
            "current-context: x\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {}}]\n"
            "users: [{name: u, user: {}}]\n",
            "cluster 'c' has no server",
        ),
    ],
)
def test_unusable_kubeconfig_is_told_in_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_kubeconfig(file)


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pod's ServiceAccount."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("first\n", encoding="ascii")
    return tmp_path


def test_pod_finds_its_api_server_and_reads_its_token_again(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = in_pod(service_account)
    assert connection.server == "https://[fd00::1]:6443"
    client = Client(connection)
    assert client._headers["Authorization"] == "Bearer first"
    (service_account / "token").write_text("second\n", encoding="ascii")
    assert client._headers["Authorization"] == "Bearer first"
    monkeypatch.setattr("reference.client.TOKEN_SECONDS", 0.0)
    assert client._headers["Authorization"] == "Bearer second"


def test_pod_without_a_service_account_is_told(service_account: Path) -> None:
    (service_account / "token").unlink()
    with pytest.raises(ConfigError, match="lacks the pod's ServiceAccount: No such file"):
        in_pod(service_account)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--cert-dir is required"),
        (["--cert-dir=."], "--kubeconfig is missing, and this is no pod of a cluster"),
        (["--kubeconfig=nowhere", "--cert-dir=."], "kubeconfig nowhere cannot be read"),
        (["--kubeconfig=x", "--cert-dir=.", "--fault=no-such"], "unknown fault 'no-such'"),
    ],
)
def test_users_mistake_is_a_sentence_without_traceback(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-m", "reference", *arguments]
    run = subprocess.run(
        command, cwd=ROOT / "operators", capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
