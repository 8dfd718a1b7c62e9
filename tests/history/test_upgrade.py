"""Histories that an earlier version of the suite stored are judged as the present one's are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from conformance.history import store
from conformance.history.records import Scope
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


def test_a_history_of_the_first_format_is_read_in_todays_words(tmp_path: Path) -> None:
    moment = {
        "record": "moment", "name": "verdict 1", "at": 2.0, "since": 1.0, "end": "held",
        "revision": 5, "graphs": [],
    }  # fmt: skip
    standing = {
        "record": "standing", "case": "c", "namespace": "n", "at": 2.0, "revision": 5, "graphs": [],
    }  # fmt: skip
    tables = {"record": "tables", "moment": "verdict 1", "at": 2.0, "text": {"Pod": "p"}}
    step = {
        "record": "step", "name": "s", "kinds": [], "target": "g", "target_kind": "k",
        "namespace": "n", "judged": True, "expect": "promise", "door": "", "request": {},
        "sent_at": 1.0, "answered_at": 1.0, "code": 0, "answer": {"moot": "it already is"},
    }  # fmt: skip
    records = (header(scope="standing"), step, moment, standing, tables)
    history = store.read(stored(tmp_path / "c.jsonl.zst", *records))
    assert history.header.format == FORMAT
    assert history.header.scope is Scope.SOAK
    assert [retained.name for retained in history.profile.retained] == ["ssh-key"]
    assert [checkpoint.name for checkpoint in history.checkpoints] == ["verdict 1"]
    assert [soak.case for soak in history.soaks] == ["c"]
    assert history.tables[0].checkpoint == "verdict 1"
    assert history.steps[0].answer == {"superseded": "it already is"}


def test_a_history_of_a_format_to_come_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = stored(tmp_path / "c.jsonl.zst", header(format=FORMAT + 1))
    with pytest.raises(UsageError, match=f"has format {FORMAT + 1}, and this suite reads up to"):
        store.read(path)
