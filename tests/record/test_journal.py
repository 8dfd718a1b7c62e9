import contextlib
from pathlib import Path
from types import MappingProxyType

import pytest

from conformance.history.records import (
    JSON_LINES,
    Expect,
    Foreign,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Step,
)
from conformance.model.errors import InfraError
from conformance.model.graph import Graph, Role, Service
from conformance.model.transition import ChangeKind
from conformance.record.journal import Journal

TOKEN = "eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5ldGVz.c2lnbmF0dXJlLWhlcmU"


def a_step(**request: object) -> Step:
    graph = Graph(name="agg", services=(Service(name="Worker", role=Role.WORKER),))
    return Step(
        name="add",
        kinds=(ChangeKind(next(iter(ChangeKind))),),
        target="agg",
        target_kind="DynamoGraphDeployment",
        namespace="ns",
        judged=True,
        expect=Expect.PROMISE,
        door="merge patch",
        request=MappingProxyType(request),
        sent_at=1.0,
        answered_at=2.0,
        code=200,
        before=graph,
        after=graph,
    )


def on_disk(path: Path) -> list[Record]:
    return [JSON_LINES.decode(line) for line in path.read_bytes().splitlines()]


def test_what_is_appended_is_on_disk_at_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal.jsonl"
    with contextlib.closing(Journal(path)) as journal:
        foreign = Foreign(uid="u", kind="Pod", namespace="ns", name="f", at=1.0)
        journal.append(foreign)
        journal.append(a_step(spec={"a": 1}))
        assert on_disk(path) == journal.records
        assert journal.records[0] == foreign
        step = journal.records[1]
    assert isinstance(step, Step)
    assert step.after == a_step().after
    assert step.request == {"spec": {"a": 1}}


def test_secrets_in_a_request_are_masked_on_disk_and_in_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    secret = {"kind": "Secret", "metadata": {}, "data": {"key": "czNjcjN0"}}
    with contextlib.closing(Journal(path)) as journal:
        journal.append(a_step(items=[secret]))
        journal.append(OperatorEvent(kind=OperatorEventKind.LOG, at=1.0, text=f"token {TOKEN}"))
        kept = repr(journal.records)
    for text in (kept, path.read_text()):
        assert "czNjcjN0" not in text
        assert TOKEN not in text
        assert "<masked>" in text
    assert secret["data"] == {"key": "czNjcjN0"}


def test_a_journal_that_cannot_be_written_is_an_infrastructure_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfraError, match="cannot be written"):
        Journal(tmp_path / "file" / "journal.jsonl")
    journal = Journal(tmp_path / "journal.jsonl")
    journal.close()
    with pytest.raises(InfraError, match="cannot be written"):
        journal.append(Foreign(uid="u", kind="Pod", namespace="ns", name="f", at=1.0))
