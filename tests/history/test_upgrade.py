"""Histories that an earlier version of the suite stored are judged as the present one's are."""

import json
from pathlib import Path

import pytest
import zstandard

from conformance.history import store
from conformance.history.records import JSON_LINES, Scope
from conformance.history.upgrade import FORMAT
from conformance.model.errors import UsageError
from tests.builders import HistoryBuilder, a_profile


def stored(path: Path, *records: dict[str, object]) -> Path:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(zstandard.ZstdCompressor().compress(lines.encode()))
    return path


def header(**changes: object) -> dict[str, object]:
    history = HistoryBuilder(a_profile()).history()
    profile = {key: value for key, value in history.header.profile.items() if key != "retained"}
    kept = [{"kind": "Secret", "name": "ssh-key", "reason": "one for all graphs"}]
    return {
        "record": "header", "case": "c", "feature": "f", "title": "t", "operator": "o",
        "namespace": "n", "profile": {**profile, "keepers": kept},
        "bounds": dict(history.header.bounds), **changes,
    }  # fmt: skip


MOMENT = {
    "record": "moment", "name": "verdict 1", "at": 2.0, "since": 1.0, "end": "held",
    "revision": 5, "graphs": [], "steps": ["again"],
}  # fmt: skip
STANDING = {
    "record": "standing", "case": "c", "namespace": "n", "at": 2.0, "revision": 5, "graphs": [],
}  # fmt: skip
TABLES = {"record": "tables", "moment": "verdict 1", "at": 2.0, "text": {"Pod": "p"}}
MOOT = {
    "record": "step", "name": "again", "kinds": ["deploy"], "target": "agg",
    "target_kind": "DynamoGraphDeployment", "namespace": "n", "judged": True, "expect": "promise",
    "door": "apply", "request": {}, "sent_at": 1.0, "answered_at": 1.0, "code": 0,
    "answer": {"moot": "the graph already is as this step asks"},
    "after": {"name": "agg", "services": [{"name": "w", "role": "worker", "node_count": 2}]},
}  # fmt: skip
EVENT = {
    "record": "event", "type": "ADDED", "revision": 5, "at": 1.5,
    "object": {"kind": "Pod", "moment": "as it was", "metadata": {"uid": "u", "name": "p"}},
}  # fmt: skip
UNCHANGED = (
    {"record": "gap", "at": 1.0, "reason": "r", "kind": "Pod"},
    {
        "record": "unseen", "at": 1.0, "kind": "Secret", "group": "", "resource": "secrets",
        "reason": "may not be listed",
    },
    {
        "record": "write", "at": 1.0, "received_at": 0.9, "verb": "create", "user": "u",
        "agent": "a", "group": "apps", "resource": "deployments", "subresource": "",
        "namespace": "n", "name": "d", "code": 201,
    },
    {"record": "operator", "kind": "log", "at": 1.0, "text": "t"},
    {"record": "foreign", "uid": "u", "kind": "Pod", "namespace": "n", "name": "p", "at": 1.0},
    {"record": "fresh", "graph": {"name": "g", "services": []}, "namespace": "n"},
)  # fmt: skip


def test_a_history_of_the_first_format_is_read_in_todays_words(tmp_path: Path) -> None:
    history = store.read(
        stored(tmp_path / "c.jsonl.zst", header(scope="standing"), MOMENT, STANDING, TABLES, MOOT)
    )
    assert history.header.format == FORMAT
    assert history.header.scope is Scope.SOAK
    assert [retained.name for retained in history.profile.retained] == ["ssh-key"]
    assert [checkpoint.name for checkpoint in history.checkpoints] == ["verdict 1"]
    assert [soak.case for soak in history.soaks] == ["c"]
    assert history.tables[0].checkpoint == "verdict 1"
    (step,) = history.steps_of(history.checkpoints[0])
    assert step.answer == {"superseded": "the graph already is as this step asks"}
    assert step.after is not None
    assert step.after.service("w").multinode


@pytest.mark.parametrize(("old", "new"), [("case", "case"), ("standing", "soak"), ("run", "run")])
def test_every_scope_of_the_first_format_is_read(tmp_path: Path, old: str, new: str) -> None:
    path = stored(tmp_path / "c.jsonl.zst", header(scope=old))
    assert store.read_header(path).scope == store.read(path).header.scope == new


def test_what_was_not_renamed_is_read_as_it_stands(tmp_path: Path) -> None:
    old = store.read(stored(tmp_path / "c.jsonl.zst", header(), EVENT, *UNCHANGED))
    (event,) = old.events
    assert event.object == EVENT["object"], "renaming stops at the objects of the cluster"
    assert [record.record for record in old.records[2:]] == [row["record"] for row in UNCHANGED]
    for record, row in zip(old.records[2:], UNCHANGED, strict=True):
        kept = json.loads(JSON_LINES.encode(record))
        assert {key: kept[key] for key in row if key != "graph"} == {
            key: value for key, value in row.items() if key != "graph"
        }


def test_a_history_of_the_first_format_is_written_in_the_present_one(tmp_path: Path) -> None:
    old = store.read(stored(tmp_path / "c.jsonl.zst", header(), MOMENT, STANDING, TABLES, MOOT))
    store.write(tmp_path / "d.jsonl.zst", old)
    packed = (tmp_path / "d.jsonl.zst").read_bytes()
    rows = [json.loads(line) for line in zstandard.decompress(packed).splitlines()]
    assert rows[0]["format"] == FORMAT
    assert [row["record"] for row in rows[1:]] == ["checkpoint", "soak", "tables", "step"]
    assert store.read(tmp_path / "d.jsonl.zst").records == old.records


def test_a_history_of_a_format_to_come_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = stored(tmp_path / "c.jsonl.zst", header(format=FORMAT + 1))
    with pytest.raises(UsageError, match=f"has format {FORMAT + 1}, and this suite reads up to"):
        store.read(path)
    with pytest.raises(UsageError, match=f"has format {FORMAT + 1}, and this suite reads up to"):
        store.read_header(path)
