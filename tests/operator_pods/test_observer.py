"""What happened to an operator, from looks at its pods."""

from typing import Any

from conformance.model.labels import ENDED
from conformance.model.state import Obj
from conformance.operator.pods.deployed import Pod
from conformance.operator.pods.watcher import Observer

Raw = dict[str, Any]


def pod(
    name: str, *, restarts: int = 0, ready: bool = True, going: bool = False, **state: Any
) -> Raw:
    status = {
        "name": "manager",
        "restartCount": restarts,
        "ready": ready,
        "state": state or {"running": {}},
    }
    metadata = {"name": name, "uid": f"uid-{name}"}
    metadata |= {"deletionTimestamp": "now"} if going else {}
    return {"metadata": metadata, "status": {"containerStatuses": [status]}}


def deployed(mark: str = "") -> Raw:
    return {"metadata": {"annotations": {ENDED: mark} if mark else {}}}


def looks(*seen: tuple[Raw | None, list[Raw]]) -> list[str]:
    """`kind text` of all events that a series of looks gives."""
    observer = Observer()
    events = [
        event
        for deployment, pods in seen
        for event in observer.look(
            Obj(deployment) if deployment else None,
            [Pod(pod, container="manager") for pod in pods],
            last_line="the end",
        )
    ]
    return [f"{kind} {text}".strip() for kind, text in events]


def test_a_pod_starts_and_becomes_ready_once() -> None:
    waiting = pod("a", ready=False, waiting={"reason": "ContainerCreating"})
    assert looks(
        (deployed(), []),
        (deployed(), [waiting]),
        (deployed(), [pod("a", ready=False)]),
        (deployed(), [pod("a")]),
        (deployed(), [pod("a")]),
    ) == ["started pod a", "ready"]


def test_planned_ends_are_told_by_the_note_even_if_the_next_pod_is_there_already() -> None:
    assert looks(
        (deployed(), [pod("a")]),
        (deployed("stop 1"), [pod("b")]),
        (deployed("kill 2"), []),
        (deployed("kill 2"), [pod("c")]),
    ) == [
        "started pod a",
        "ready",
        "stopped pod a",
        "started pod b",
        "ready",
        "killed pod b",
        "started pod c",
        "ready",
    ]


def test_a_crash_is_an_exit_with_its_code_and_last_line() -> None:
    again = pod("a", restarts=1)
    again["status"]["containerStatuses"][0]["lastState"] = {
        "terminated": {"exitCode": 137, "reason": "OOMKilled"}
    }
    assert looks((deployed(), [pod("a")]), (deployed(), [again])) == [
        "started pod a",
        "ready",
        "exited pod a ended with exit code 137 (OOMKilled); its last line: the end",
        "started pod a",
        "ready",
    ]


def test_a_crash_after_a_planned_end_is_a_crash() -> None:
    ended = pod("b", terminated={"exitCode": 2, "reason": "Error"})
    assert looks((deployed("stop 1"), [pod("b")]), (deployed("stop 1"), [ended]))[-1] == (
        "exited pod b ended with exit code 2; its last line: the end"
    )


def test_pod_that_others_delete_is_an_exit() -> None:
    going = pod("a", going=True, terminated={"exitCode": 0})
    assert looks((deployed(), [pod("a")]), (deployed(), [going]))[-1].startswith(
        "exited pod a was deleted, and not by the suite"
    )


def test_second_replica_is_no_start_and_its_crash_is_an_exit() -> None:
    told = looks(
        (deployed(), [pod("a")]),
        (deployed(), [pod("a"), pod("b")]),
        (deployed(), [pod("a"), pod("b", terminated={"exitCode": 1})]),
    )
    assert [line.split()[0] for line in told] == ["started", "ready", "exited"]
