import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from conformance.driver import graphs
from conformance.history import store
from conformance.history.history import History
from conformance.history.records import (
    JSON_LINES,
    Checkpoint,
    CheckpointEnd,
    Event,
    EventType,
    Fresh,
    Gap,
    Header,
    Record,
)
from conformance.model.errors import UsageError
from conformance.model.graph import Graph, Role, Service


def records() -> list[Record]:
    graph = Graph(name="agg", services=(Service(name="Worker", role=Role.WORKER, node_count=2),))
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"uid": "u", "name": "ü"}}
    return [
        Gap(at=3.0, reason="r", kind="Pod"),
        Header(
            case="add/worker",
            feature="add",
            title="t",
            operator="o",
            namespace="ns",
            profile={"identity": {"name": "o"}},
            bounds={"hold": 5.0},
        ),
        Event(type=EventType.ADDED, revision=7, at=1.5, object=pod),
        Checkpoint(
            name="end",
            at=4.0,
            since=2.0,
            end=CheckpointEnd.HELD,
            revision=7,
            graphs=(graph,),
            verified={"Pod": 7},
            steps=("add",),
        ),
    ]


def line(record: Record) -> dict[str, Any]:
    """As `json` reads what is stored of it."""
    data: dict[str, Any] = json.loads(JSON_LINES.encode(record))
    return data


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "histories" / f"case{store.SUFFIX}"
    store.write(path, History(records()))
    return path


def test_a_history_reads_as_it_was_written_with_its_header_first(stored: Path) -> None:
    gap, header, event, checkpoint = records()
    assert store.read(stored).records == [header, gap, event, checkpoint]


def test_nothing_but_the_file_is_left(stored: Path) -> None:
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_an_unwritable_record_leaves_the_old_file(stored: Path) -> None:
    before = stored.read_bytes()
    bad = Event(type=EventType.ADDED, revision=1, at=1.0, object={"x": object()})
    with pytest.raises(ValueError, match="expected plain data"):
        store.write(stored, History([records()[1], bad]))
    assert stored.read_bytes() == before
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]


def test_a_file_that_is_cut_off_at_any_place_is_a_usage_error(stored: Path) -> None:
    whole = stored.read_bytes()
    for length in range(len(whole)):
        stored.write_bytes(whole[:length])
        with pytest.raises(UsageError, match=r"is cut off|is damaged"):
            store.read(stored)


def test_a_damaged_file_is_a_usage_error_and_never_another_history(stored: Path) -> None:
    whole = stored.read_bytes()
    told = store.read(stored).records
    complaints: list[str] = []
    for place, byte in enumerate(whole):
        stored.write_bytes(whole[:place] + bytes([byte ^ 0x11]) + whole[place + 1 :])
        try:
            assert store.read(stored).records == told
        except UsageError as error:
            complaints.append(str(error))
    assert len(complaints) > 0.95 * len(whole)
    assert all(str(stored) in text and "\n" not in text for text in complaints)


def test_a_file_that_goes_on_after_its_end_is_a_usage_error(stored: Path) -> None:
    stored.write_bytes(stored.read_bytes() * 2)
    with pytest.raises(UsageError, match="goes on after its end"):
        store.read(stored)


def test_a_missing_file_and_one_of_another_kind_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        store.read(tmp_path / "none")
    plain = tmp_path / "plain"
    plain.write_text("{}")
    with pytest.raises(UsageError, match="no zstandard file"):
        store.read(plain)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "is empty"),
        ([line(records()[0])], "starts with a gap, expected its header"),
        ([line(records()[1]), {"record": "alien"}], "line 2 .*'alien' .* does not match any"),
        ([{**line(records()[1]), "novelty": 1}], "line 1 .* no record of this version"),
        (["text"], "line 1 .* no record of this version"),
    ],
)
def test_lines_that_are_no_history_are_usage_errors(
    tmp_path: Path, lines: list[object], complaint: str
) -> None:
    path = tmp_path / "h"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text.encode()))
    with pytest.raises(UsageError, match=complaint):
        store.read(path)


def test_the_header_can_be_read_alone(tmp_path: Path) -> None:
    path = tmp_path / f"a{store.SUFFIX}"
    history = History(records())
    store.write(path, history)
    assert store.read_header(path) == history.header
    path.write_bytes(zstandard.compress(b'{"record": "gap", "at": 1.0, "reason": "r"}\n'))
    with pytest.raises(UsageError, match="expected its header"):
        store.read_header(path)
    for damaged in (b"", b"no zstandard", zstandard.compress(b"[]\n")):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match="has no header that can be read"):
            store.read_header(path)


@pytest.mark.parametrize(
    "name", ["vllm-agg", "vllm-agg-multinode", "vllm-disagg", "vllm-two-workers"]
)
def test_a_graph_survives_being_stored(name: str) -> None:
    fresh = Fresh(graph=graphs.load(name), namespace="ns")
    assert JSON_LINES.decode(JSON_LINES.encode(fresh)) == fresh
