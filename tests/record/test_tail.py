import time
from pathlib import Path
from typing import Any

import pytest

from conformance.history.records import Event, EventType, Gap, Header, Write
from conformance.model.errors import InfraError
from conformance.model.labels import OWNED
from conformance.record import elsewhere
from conformance.record.tail import Tail
from tests.record.support import Writer, an_object, until

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "_LOOK_SECONDS", -1.0)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = Writer(tmp_path)
    made.beat()
    return made


def header() -> Header:
    return Header(
        case="c",
        feature="f",
        title="t",
        operator="o",
        namespace="case-1",
        profile={},
        bounds={},
    )


def a_write(namespace: str = "case-1", name: str = "a", at: float = 1.0) -> Write:
    return Write(
        at=at,
        received_at=at,
        verb="create",
        user="u",
        agent="",
        group="apps",
        resource="deployments",
        subresource="",
        namespace=namespace,
        name=name,
        code=201,
    )


def test_each_poll_gives_what_came_since_the_last(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1")
    writer.event(ADDED, an_object("Pod", "a", 11), at=5.0)
    writer.sink.write(a_write())
    first = tail.poll()
    writer.event(MODIFIED, an_object("Pod", "a", 12), at=6.0)
    second = tail.poll()
    assert [type(record) for record in first] == [Event, Write]
    assert [record.revision for record in second if isinstance(record, Event)] == [12]
    assert tail.poll() == []
    assert tail.records == [*first, *second]
    assert (tail.last_event_at, tail.revision) == (6.0, 12)


def test_a_line_that_is_not_yet_whole_waits(tmp_path: Path, writer: Writer) -> None:
    writer.event(ADDED, an_object("Pod", "a", 11))
    path = tmp_path / "live" / "case-1.jsonl"
    line = path.read_bytes()
    path.write_bytes(line[:50])
    tail = Tail(tmp_path, "case-1")
    assert tail.poll() == []
    with path.open("ab") as file:
        file.write(line[50:])
    assert len(tail.poll()) == 1


def test_the_state_follows_events_whatever_order_the_kinds_come_in(
    tmp_path: Path, writer: Writer
) -> None:
    tail = Tail(tmp_path, "case-1")
    deployment = an_object("Deployment", "a", 10)
    writer.event(ADDED, deployment)
    writer.event(ADDED, an_object("LeaderWorkerSet", "l", 30))
    writer.event(DELETED, deployment, revision=20)
    tail.poll()
    assert [obj.name for obj in tail.state()] == ["l"]
    assert tail.state() is tail.state()
    assert tail.state().revision == 30
    history = tail.history(header())
    assert [event.revision for event in history.events] == [10, 20, 30]
    assert [obj.name for obj in history.at(19)] == ["a"]
    assert [obj.name for obj in history.at(29)] == []


def test_what_is_elsewhere_is_taken_only_if_it_concerns_the_case(
    tmp_path: Path, writer: Writer
) -> None:
    tail = Tail(tmp_path, "case-1", other_namespaces=True)
    volume = an_object("PersistentVolume", "pv-1", 5, namespace="", uid="pv")
    writer.event(ADDED, volume)
    claimed = {**volume, "spec": {"claimRef": {"namespace": "case-1"}}}
    claimed["metadata"] = {**volume["metadata"], "resourceVersion": "6"}
    writer.event(MODIFIED, claimed)
    writer.event(DELETED, volume, revision=7)
    writer.event(ADDED, an_object("Namespace", "case-1", 8, namespace=""))
    writer.event(ADDED, an_object("Namespace", "case-11", 9, namespace=""))
    writer.event(ADDED, an_object("ClusterRole", "planner-case-1", 10, namespace=""))
    writer.event(ADDED, an_object("ClusterRole", "planner-case-12", 11, namespace=""))
    hooked = an_object("ValidatingWebhookConfiguration", "w", 12, namespace="", x=["case-1"])
    writer.event(ADDED, hooked)
    writer.event(ADDED, an_object("Pod", "elsewhere", 13, namespace="case-2"))
    labels = {"labels": {"case": "case-1"}}
    other = "operator-system"
    writer.event(ADDED, an_object("ConfigMap", "c", 14, namespace=other, metadata=labels))
    writer.event(ADDED, an_object("ConfigMap", "d", 15, namespace=other))
    found = [event for event in tail.poll() if isinstance(event, Event)]
    assert [(event.obj.name, event.revision) for event in found] == [
        ("pv-1", 6),
        ("pv-1", 7),
        ("case-1", 8),
        ("planner-case-1", 10),
        ("c", 14),
    ]
    assert tail.kinds() == set()
    assert tail.last_event_at == 0.0


def test_writes_to_cluster_scoped_objects_of_the_case_come_along(
    tmp_path: Path, writer: Writer
) -> None:
    tail = Tail(tmp_path, "case-1")
    writer.event(ADDED, an_object("ClusterRole", "r", 5, namespace="", x="case-1"))
    for name in ("r", "case-1", "stranger", "case-10"):
        writer.sink.write(a_write("", name))
    writes = [record for record in tail.poll() if isinstance(record, Write)]
    assert [write.name for write in writes] == ["r", "case-1"]


def test_gap_marks_count_from_the_making_of_the_tail(tmp_path: Path, writer: Writer) -> None:
    writer.sink.sign(Gap(at=time.time() - 1, reason="before", kind="Pod"))
    tail = Tail(tmp_path, "case-1")
    writer.sink.sign(Gap(at=time.time(), reason="during", kind="Pod"))
    assert [record.reason for record in tail.poll() if isinstance(record, Gap)] == ["during"]


def test_a_recorder_without_heartbeat_is_noticed_and_leaves_a_gap_mark(
    tmp_path: Path, writer: Writer
) -> None:
    tail = Tail(tmp_path, "case-1", lag=0.2)
    assert tail.poll() == []
    time.sleep(0.25)
    for _ in range(2):
        with pytest.raises(InfraError, match="no sign of life"):
            tail.poll()
    (gap,) = tail.history(header()).gaps
    assert tail.since <= gap.at <= time.time()
    assert gap.kind == ""
    assert len(tail.records) == 1


def test_a_recorder_that_never_was_is_noticed(tmp_path: Path) -> None:
    tail = Tail(tmp_path, "case-1", lag=0.05)
    tail.poll()
    time.sleep(0.06)
    with pytest.raises(InfraError, match="no sign of life"):
        tail.poll()


def test_a_recorder_that_stopped_in_mid_case_is_noticed(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1")
    writer.event(ADDED, an_object("Pod", "a", 11))
    writer.beat(stopped=True)
    with pytest.raises(InfraError, match="stopped before the case ended"):
        tail.poll()
    assert [type(record) for record in tail.records] == [Event, Gap]


def test_catching_up_waits_for_the_audit_log(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1")
    now = time.time()
    with pytest.raises(InfraError, match=r"more than 0.05 s behind"):
        tail.catch_up(now, within=0.05)
    writer.sink.write(a_write())
    writer.beat(at=now + 0.01)
    tail.catch_up(now)
    assert len(tail.records) == 1


def test_an_object_recorded_at_a_revision_is_as_it_was_then(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1")
    writer.event(EventType.LISTED, an_object("Pod", "old", 3))
    writer.event(ADDED, an_object("Pod", "a", 10))
    writer.event(MODIFIED, an_object("Pod", "a", 12))
    writer.event(DELETED, an_object("Pod", "old", 3), revision=14)
    tail.poll()
    assert tail.recorded_at("Pod", "", 11) == {"Pod/old": 3, "Pod/a": 10}
    assert tail.recorded_at("Pod", "", 14) == {"Pod/a": 12}
    assert tail.recorded_at("Pod", "apps", 14) == {}
    assert tail.kinds() == {("Pod", "")}


def test_a_tail_needs_a_namespace(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        Tail(tmp_path, "")


def test_the_reader_sees_an_event_within_milliseconds(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1")
    tail.poll()
    started = time.monotonic()
    writer.event(ADDED, an_object("Pod", "a", 11))
    until(tail.poll)
    assert time.monotonic() - started < 0.5


def owned(name: str, revision: int) -> dict[str, Any]:
    metadata = {"labels": {OWNED: "true"}}
    return an_object("Namespace", name, revision, namespace="", metadata=metadata)


def names(tail: Tail) -> list[str]:
    return [record.obj.name for record in tail.poll() if isinstance(record, Event)]


def test_a_namespace_that_comes_during_the_case_is_read_from_its_beginning(
    tmp_path: Path, writer: Writer
) -> None:
    blind, tail = Tail(tmp_path, "case-1"), Tail(tmp_path, "case-1", other_namespaces=True)
    assert names(tail) == []
    writer.event(ADDED, an_object("Deployment", "hidden-case-1", 5, namespace="dyn-1"))
    assert names(tail) == ["hidden-case-1"]
    assert names(blind) == []


def test_namespaces_of_other_cases_are_not_read(tmp_path: Path, writer: Writer) -> None:
    tail = Tail(tmp_path, "case-1", other_namespaces=True)
    writer.event(ADDED, owned("case-1", 1))
    writer.event(ADDED, owned("case-2", 2))
    writer.event(ADDED, an_object("Pod", "a", 3))
    writer.event(ADDED, an_object("Pod", "case-1", 4, namespace="case-2"))
    assert sorted(names(tail)) == ["a", "case-1"]
    writer.event(ADDED, an_object("Pod", "b-case-1", 5, namespace="case-2"))
    assert names(tail) == []


def test_what_carries_the_uid_of_a_graph_of_the_case_concerns_it(
    tmp_path: Path, writer: Writer
) -> None:
    tail = Tail(tmp_path, "case-1", other_namespaces=True)
    writer.event(ADDED, an_object("DynamoGraphDeployment", "agg", 3, uid="0a1b"))
    assert names(tail) == ["agg"]
    labels = {"labels": {"graph": "0a1b"}}
    writer.event(ADDED, an_object("ConfigMap", "c", 4, namespace="operator", metadata=labels))
    other = {"labels": {"graph": "0a1b2"}}
    writer.event(ADDED, an_object("ConfigMap", "d", 5, namespace="operator", metadata=other))
    assert names(tail) == ["c"]
