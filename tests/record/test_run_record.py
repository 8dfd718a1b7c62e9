"""The record of a whole cluster, as the end of a run reads it."""

import time
from pathlib import Path

import pytest

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    EventType,
    Header,
    Record,
    Soak,
    Write,
)
from conformance.model.errors import InfraError
from conformance.model.labels import OWNED
from conformance.record.run_record import RunRecord, case_begins, case_conforms, read_endings
from tests.record.support import Writer, an_object

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = Writer(tmp_path)
    made.beat()
    for number, name in enumerate(("case-1", "case-2"), start=1):
        metadata = {"labels": {OWNED: "true"}}
        made.event(ADDED, an_object("Namespace", name, number, namespace="", metadata=metadata))
    return made


def read(directory: Path) -> RunRecord:
    record = RunRecord(directory, read_endings(directory))
    record.poll()
    return record


def a_write(name: str, *, namespace: str = "case-1", at: float, resource: str = "pods") -> Write:
    return Write(
        at=at, received_at=at, verb="create", user="u", agent="", group="", resource=resource,
        subresource="", namespace=namespace, name=name, code=201,
    )  # fmt: skip


def names(records: list[Record]) -> list[str]:
    return [record.obj.name for record in records if isinstance(record, Event)]


def writes(records: list[Record]) -> list[str]:
    return [record.name for record in records if isinstance(record, Write)]


def conformed(directory: Path, *, revision: int, at: float) -> None:
    header = Header(
        case="c", feature="f", title="t", operator="o", namespace="case-1", profile={}, bounds={}
    )
    checkpoint = Checkpoint(
        name="m", at=at, since=at, end=CheckpointEnd.HELD, revision=revision, graphs=()
    )  # fmt: skip
    kept = Event(type=ADDED, revision=11, at=at, object=an_object("Pod", "a", 11))
    case_begins(directory, "case-1")
    case_conforms(directory, History([header, kept, checkpoint]), others=["x"])


def test_of_the_suites_namespaces_only_what_is_still_there_is_left(
    tmp_path: Path, writer: Writer
) -> None:
    writer.event(ADDED, an_object("Pod", "a", 11), at=50.0)
    writer.event(MODIFIED, an_object("Pod", "a", 12), at=51.0)
    writer.event(MODIFIED, an_object("Pod", "a", 13), at=52.0)
    writer.event(ADDED, an_object("Pod", "b", 14), at=53.0)
    writer.event(DELETED, an_object("Pod", "b", 14), revision=15, at=54.0)
    for name in ("a", "b", ""):
        writer.sink.write(a_write(name, at=50.0))
    writer.sink.write(a_write("", at=10.0))
    record = read(tmp_path)
    assert [event.obj.name for event in record.present()] == ["a"]
    records = record.remaining(since=time.time() + 9, requests=100.0)
    assert [(r.revision, r.obj.name) for r in records if isinstance(r, Event)] == [
        (11, "a"), (13, "a"),
    ]  # fmt: skip
    assert writes(records) == ["a", ""], "and who made it, if need be without its name"


def test_late_requests_and_leases_are_kept_whatever_became_of_their_objects(
    tmp_path: Path, writer: Writer
) -> None:
    writer.sink.write(a_write("early", at=50.0))
    writer.sink.write(a_write("lease", at=50.0, resource="leases"))
    writer.sink.write(a_write("late", at=101.0))
    record = read(tmp_path)
    assert writes(record.remaining(since=0.0, requests=100.0)) == ["lease", "late"]


def test_of_other_namespaces_everything_since_the_start_of_the_run_is_kept(
    tmp_path: Path, writer: Writer
) -> None:
    for name, at in (("old", 50.0), ("new", 150.0)):
        writer.event(ADDED, an_object("ConfigMap", name, int(at), namespace="operator"), at=at)
        writer.sink.write(a_write(name, namespace="operator", at=at))
    records = read(tmp_path).remaining(since=100.0, requests=0.0)
    assert "new" in names(records)
    assert "old" not in names(records)
    assert writes(records) == ["new"]


def test_namespaces_of_cases_that_did_not_conform_are_left_out(
    tmp_path: Path, writer: Writer
) -> None:
    case_begins(tmp_path, "case-2")
    writer.event(ADDED, an_object("Pod", "a", 11, namespace="case-2"))
    writer.sink.write(a_write("a", namespace="case-2", at=50.0))
    record = read(tmp_path)
    assert record.present() == []
    assert writes(record.remaining(since=0.0, requests=0.0)) == []
    assert read_endings(tmp_path).failed == {"case-2"}


def test_what_stands_is_the_state_at_the_last_checkpoint_and_all_that_came_after(
    tmp_path: Path, writer: Writer
) -> None:
    conformed(tmp_path, revision=12, at=60.0)
    writer.event(ADDED, an_object("Pod", "a", 11), at=50.0)
    writer.event(ADDED, an_object("Pod", "before", 12), at=50.0)
    writer.event(ADDED, an_object("Pod", "after", 13), at=61.0)
    writer.event(DELETED, an_object("Pod", "after", 13), revision=14, at=62.0)
    writer.sink.write(a_write("before", at=50.0))
    writer.sink.write(a_write("after", at=61.0))
    record = read(tmp_path)
    records = record.soaked()
    assert [(r.case, r.others) for r in records if isinstance(r, Soak)] == [("c", ("x",))]
    assert [(r.type, r.obj.name) for r in records if isinstance(r, Event)] == [
        (EventType.LISTED, "a"), (ADDED, "after"), (DELETED, "after"),
    ]  # fmt: skip
    assert writes(records) == ["after"]
    record.end_soak()
    writer.event(DELETED, an_object("Pod", "a", 11), revision=20, at=70.0)
    record.poll()
    assert names(record.soaked()) == ["a", "after", "after"]


def test_a_recorder_that_is_behind_is_told(tmp_path: Path, writer: Writer) -> None:
    record = read(tmp_path)
    with pytest.raises(InfraError, match=r"more than 0\.1 s behind"):
        record.catch_up(within=0.1)
    writer.beat(at=time.time() + 60)
    record.catch_up(within=0.1)
    record.close()
