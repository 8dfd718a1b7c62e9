import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.kube import Api
from conformance.kube.credentials import Credential, Credentials, Plugin, read_token
from conformance.model.errors import InfraError, UsageError
from tests.kube.fake_api import POD, FakeApi, write_kubeconfig
from tests.processes import wait_gone

VERSION = "client.authentication.k8s.io/v1"


def script(folder: Path, body: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def says(status: dict[str, Any], version: str = VERSION) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"echo '{json.dumps(answer)}'"


def plugin(folder: Path, body: str, **settings: Any) -> Plugin:
    given = {"command": script(folder, body), "apiVersion": VERSION, **settings}
    return Plugin(given, folder=folder, seconds=1.0)


def stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD)
    yield server
    server.close()


def test_a_plugin_gives_a_token_and_is_told_what_it_is_asked_for(tmp_path: Path) -> None:
    body = f'echo "$KUBERNETES_EXEC_INFO $1 $GIVEN" > {tmp_path}/asked\n{says({"token": "t"})}'
    made = plugin(tmp_path, body, args=["get-token"], env=[{"name": "GIVEN", "value": "yes"}])
    assert made.fetch().token == "t"
    asked = (tmp_path / "asked").read_text()
    assert asked.strip().endswith("get-token yes")
    assert VERSION in asked


def test_a_relative_command_counts_from_the_kubeconfig(tmp_path: Path) -> None:
    script(tmp_path, says({"token": "t"}))
    made = Plugin({"command": "./plugin", "apiVersion": VERSION}, folder=tmp_path)
    assert made.fetch().token == "t"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("echo login required >&2; exit 3", "ended with code 3: login required"),
        ("exit 1", "ended with code 1 and said nothing"),
        ("echo hello", "answered something that is no ExecCredential"),
        (says({"token": "t"}, "client.authentication.k8s.io/v1beta1"), "speaks .*v1beta1"),
        (says({}), "gave neither a token nor a client certificate"),
        (
            says({"token": "t", "expirationTimestamp": "soon"}),
            "expirationTimestamp that is no time",
        ),
    ],
)
def test_what_a_plugin_does_wrong_is_one_sentence(
    tmp_path: Path, body: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=rf"the credential plugin .*plugin .* {complaint}"):
        plugin(tmp_path, body).fetch()


def test_a_plugin_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match="gave no answer within 1 s"):
        plugin(tmp_path, f"sleep 100 & echo $! > {tmp_path}/pid; wait").fetch()
    assert time.monotonic() - began < 5
    wait_gone(int((tmp_path / "pid").read_text()), 5)


def test_a_missing_plugin_is_told_with_its_hint(tmp_path: Path) -> None:
    settings = {"command": "no-such-plugin", "apiVersion": VERSION, "installHint": "get it at x"}
    with pytest.raises(UsageError, match=r"not installed or not on PATH \(get it at x\)"):
        Plugin(settings, folder=tmp_path).fetch()


def test_a_token_is_fetched_anew_before_it_expires_and_once_for_all_threads() -> None:
    fetched = []

    def fetch() -> Credential:
        fetched.append(time.time())
        time.sleep(0.05)
        until = 0.0 if len(fetched) == 1 else float("inf")
        return Credential(token=str(len(fetched)), until=until)

    credentials = Credentials(fetch)
    seen: list[str] = []
    threads = [
        threading.Thread(target=lambda: seen.append(credentials.present.token)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["2"] * 8
    assert len(fetched) == 2


def test_a_short_lived_token_is_used_for_half_of_its_life(tmp_path: Path) -> None:
    made = plugin(tmp_path, says({"token": "t", "expirationTimestamp": stamp(20)})).fetch()
    assert 5 < made.until - time.time() < 15
    long = plugin(tmp_path, says({"token": "t", "expirationTimestamp": stamp(900)})).fetch()
    assert 860 < long.until - time.time() < 875


def test_a_token_file_is_read_and_an_empty_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("abc\n")
    assert read_token(path).token == "abc"
    path.write_text("\n")
    with pytest.raises(UsageError, match="is empty, expected a bearer token"):
        read_token(path)
    path.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        read_token(path)


def kubeconfig(fake: FakeApi, folder: Path, user: dict[str, Any]) -> Path:
    path = write_kubeconfig(folder / "kubeconfig", fake.url)
    content = json.loads(path.read_text())
    content["users"][0]["user"] = user
    path.write_text(json.dumps(content))
    return path


def test_requests_carry_the_token_of_the_plugin_and_a_failing_one_is_infrastructure(
    fake: FakeApi, tmp_path: Path
) -> None:
    body = says({"token": "from-plugin", "expirationTimestamp": stamp(1)})
    script(tmp_path, f"[ -e {tmp_path}/gone ] && exit 7\n{body}")
    path = kubeconfig(
        fake, tmp_path, {"exec": {"command": str(tmp_path / "plugin"), "apiVersion": VERSION}}
    )
    with Api.from_kubeconfig(path) as api:
        api.list(POD.path())
        assert fake.requests[-1][2]["authorization"] == "Bearer from-plugin"
        (tmp_path / "gone").touch()
        time.sleep(1.1)
        with pytest.raises(InfraError, match=r"identity cannot be renewed: .* code 7"):
            api.list(POD.path())


def test_a_kubeconfig_that_impersonates_is_obeyed(fake: FakeApi, tmp_path: Path) -> None:
    user = {"token": "t", "as": "someone", "as-groups": ["a", "b"]}
    with Api.from_kubeconfig(kubeconfig(fake, tmp_path, user)) as api:
        api.list(POD.path())
    headers = fake.requests[-1][2]
    assert headers["Impersonate-User"] == "someone"
    # A dict keeps the first of a repeated header.
    assert headers["Impersonate-Group"] == "a"


def test_a_context_that_is_missing_is_told_with_those_that_there_are(
    fake: FakeApi, tmp_path: Path
) -> None:
    path = kubeconfig(fake, tmp_path, {})
    with pytest.raises(UsageError, match=r"contexts lack 'other' \(there: fake\)"):
        Api.from_kubeconfig(path, context="other")
