"""`python -m conformance`, as a person types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import paths
from conformance.__main__ import main
from conformance.history import store
from conformance.history.history import History
from conformance.judge.verdict import Judgement
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.model.verdict import Verdict
from conformance.report import documents, files, recheck
from conformance.report.build import RunFacts, case_result, report
from tests.evidence import sample
from tests.report.test_report_model import PROFILE


def _results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Judgement]:
    """A results folder of two cases, and the table from which `judge` answers, by case."""
    judgements: dict[str, Judgement] = {}
    cases = []
    for history, judgement in (sample.leftover(), sample.good()):
        name = history.header.case
        path = files.history_path(folder, name, "sample")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        judgements[name] = judgement
        case = case_result(
            history, judgement, duration=1.0, history_file=files.history_file(path, results=folder)
        )
        files.write_case(folder, case)
        cases.append(case)
    files.write({"sample": report(cases, RunFacts(profile=PROFILE, bounds=Bounds()))}, folder)
    stories = {h.header.case: h for h, _ in (sample.leftover(), sample.good())}

    def read(path: Path) -> History:
        return next(h for name, h in stories.items() if files.slug(name, "sample") in path.name)

    monkeypatch.setattr(store, "read", read)
    monkeypatch.setattr(recheck, "judge", lambda history: judgements[history.header.case])
    return judgements


def test_recheck_that_agrees_exits_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _results(tmp_path, monkeypatch)
    assert main(["recheck", str(tmp_path)]) == 0
    assert "2 of 2 histories judged as in the run" in capsys.readouterr().out


def test_recheck_names_what_differs_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judgements = _results(tmp_path, monkeypatch)
    name = sample.leftover()[0].header.case
    judgements[name] = Judgement(verdict=Verdict.CONFORMS, results=(), outcomes={})
    assert main(["recheck", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"differs  {name}: violates in the run, conforms now" in printed
    assert "only in the run: coexistence violates Deployment/vllm-agg-worker" in printed
    assert "1 of 2 histories" in printed


def test_recheck_compares_with_the_report_when_the_files_of_cases_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _results(tmp_path, monkeypatch)
    for path in (tmp_path / "cases").glob("*.json"):
        path.unlink()
    assert main(["recheck", str(tmp_path)]) == 0
    (tmp_path / "report.json").unlink()
    assert main(["recheck", str(tmp_path)]) == 3


def test_an_unreadable_history_is_told_and_exits_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _results(tmp_path, monkeypatch)

    def broken(path: Path) -> History:
        raise ValueError("line 3 is cut off")

    monkeypatch.setattr(store, "read", broken)
    assert main(["recheck", str(tmp_path), "--json"]) == 3
    listed = json.loads(capsys.readouterr().out)
    assert "cannot be judged: line 3 is cut off" in listed[0]["problem"]
    assert listed[0]["same"] is False


def test_recheck_of_nothing_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recheck", str(tmp_path)]) == 5
    assert "nothing was judged" in capsys.readouterr().out


def test_an_interrupted_case_rechecks_as_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _results(tmp_path, monkeypatch)
    history, judgement = sample.good()
    case = case_result(history, judgement, duration=1.0, error="the API server went away")
    files.write_case(tmp_path, case)
    checks = {check.case: check for check in recheck.recheck(tmp_path)}
    assert checks[history.header.case].same


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["recheck", "/nowhere/at/all"], "/nowhere/at/all does not exist"),
        (["recheck"], "required: DIR"),
        (["no-such-command"], "invalid choice: 'no-such-command'"),
        (["schema", "other"], "invalid choice: 'other'"),
        (["report", "verify", "/nowhere/at/all"], "holds no report.json"),
        ([], "required: COMMAND"),
    ],
)
def test_a_users_mistake_is_one_sentence_and_exits_with_4(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 4
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error
    assert len(error.splitlines()) == 1


def test_report_verify_tells_truth_from_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _results(tmp_path, monkeypatch)
    assert main(["report", "verify", str(tmp_path)]) == 0
    path = tmp_path / "report.json"
    path.write_text(path.read_text().replace('"violates": 1', '"violates": 0'))
    assert main(["report", "verify", str(path)]) == 1
    assert "statistics.violates says 0, its cases add up to 1" in capsys.readouterr().out


def test_schemas_are_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Profile"
    assert main(["schema", "--write", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == set(documents.SCHEMAS)


def test_faults_are_listed_with_checker_and_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    case = "test_add_multinode.py::test_three_nodes"
    assert ["deployment-kept-on-add", "coexistence", case] in rows
    assert ["hot-loop", "quiescence"] in [row[:2] for row in rows]
    assert all(len(row) == 3 for row in rows)


def test_pages_and_schemas_of_the_documentation_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["docs", "--write", str(tmp_path / "docs")]) == 0
    written = {path.name for path in (tmp_path / "docs").rglob("*.*")}
    assert written == {"checkers.md", *documents.SCHEMAS}
    assert len(capsys.readouterr().out.splitlines()) == len(written)


def test_the_command_starts_without_the_test_tools() -> None:
    code = (
        "import sys, conformance.__main__;"
        "print(sorted({'pytest', 'allure', 'kubernetes', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(paths.__file__).parents[1],
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_checkout_is_found_before_packaged_data(tmp_path: Path) -> None:
    package = tmp_path / "conformance"
    for name in paths.SHIPPED:
        (package / "shipped" / name).mkdir(parents=True)
    assert paths.root(package) == package / "shipped"
    for name in paths.SHIPPED:
        (tmp_path / name).mkdir()
    assert paths.root(package) == tmp_path


def test_missing_data_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the suite's own data is missing: expected operators/"):
        paths.root(tmp_path / "conformance")
