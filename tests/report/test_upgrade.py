"""Reports of v1alpha1 are read as they would be written today."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.__main__ import main
from conformance.model.errors import UsageError
from conformance.report import files

OLD: dict[str, Any] = {
    "apiVersion": "conformance.dgd.dev/v1alpha1",
    "kind": "ConformanceReport",
    "date": "2026-01-01T00:00:00+00:00",
    "operator": {"name": "mine"},
    "concessions": [{"kind": "keeper", "what": "Secret ssh", "reason": "shared"}],
    "cluster": "embedded",
    "admin": True,
    "verdict": "partial",
    "statistics": {"cases": 3, "conforms": 1, "known_failures": 1, "not_run": 1, "lacking": 0},
    "cases": [
        {"id": "add/a", "feature": "add", "node": "cases/test_add.py::test_a", "error": "",
         "verdict": "violates", "history": {"path": "histories/a.jsonl.zst", "sha256": "0" * 64},
         "findings": [{"checker": "size", "verdict": "violates", "subject": "s", "message": "m",
                       "known": "https://example.org/1"}]},
        {"id": "run/nothing_left_elsewhere", "feature": "whole run", "verdict": "conforms",
         "error": "the API server went away",
         "parts": [{"id": "run/nothing_left_elsewhere", "feature": "whole run", "node": ""}]},
        {"id": "run/rest_until_the_end", "feature": "whole run", "not_run": "moot",
         "required": False},
    ],
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(OLD))
    return path


def test_every_field_and_value_that_was_renamed_is_read(path: Path) -> None:
    report = files.read(path)
    assert report.apiVersion == "conformance.dgd.dev/v1alpha2"
    assert report.cluster_admin
    assert [str(one.kind) for one in report.concessions] == ["retained-object"]
    known, end, rest = report.cases
    assert (known.nodeid, known.known) == ("cases/test_add.py::test_a", True)
    assert known.findings[0].known_failure == "https://example.org/1"
    assert [shard.of_run for shard in end.shards] == [True]
    assert str(rest.not_run) == "nothing-to-judge"


def test_the_commands_take_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(path.parent)
    assert main(["report", "summary", folder]) == 0
    assert main(["report", "compare", folder, folder]) == 0
    capsys.readouterr()
    assert main(["report", "verify", folder]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert "case add/a: its history" in line
    assert main(["report", "merge", f"{folder}-merged", folder]) == 4
    assert "report.json is of no shard" in capsys.readouterr().err


def test_the_result_of_a_case_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.json").write_text(json.dumps(OLD["cases"][0]))
    (case,) = files.read_cases(tmp_path)
    assert (case.nodeid, case.known) == ("cases/test_add.py::test_a", True)


def test_a_version_that_nobody_knows_is_refused_in_one_sentence(path: Path) -> None:
    path.write_text(json.dumps({**OLD, "apiVersion": "conformance.dgd.dev/v2"}))
    with pytest.raises(UsageError, match=r"apiVersion: .*v1alpha2") as refused:
        files.read(path)
    assert len(str(refused.value).splitlines()) == 1
