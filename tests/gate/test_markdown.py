from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.model.profile import Identity
from conformance.model.verdict import CheckerName, Outcome, Verdict
from conformance.report import files, markdown
from conformance.report.build import statistics, summary
from conformance.report.model import (
    CaseResult,
    ConformanceReport,
    NotRun,
    ReportedFinding,
)


def report(*cases: CaseResult, name: str = "mine", **options: str) -> ConformanceReport:
    return ConformanceReport(
        date="2030-01-01T00:00:00+00:00", operator=Identity(name=name), options=options,
        cluster="embedded", versions={"suite": "1"}, verdict=summary(cases, deviates=False),
        statistics=statistics(cases), cases=list(cases),
    )  # fmt: skip


def good(case: str = "add/one") -> CaseResult:
    return CaseResult(
        id=case, feature="add", operator="mine", verdict=Verdict.CONFORMS,
        outcome=Outcome.RECONCILED, duration=2.0, nodeid=f"cases/test_add.py::test_{case}",
    )  # fmt: skip


def bad(message: str, case: str = "add/two") -> CaseResult:
    finding = ReportedFinding(
        checker=CheckerName.COEXISTENCE, verdict=Verdict.VIOLATES, subject="x", message=message
    )
    return good(case).model_copy(
        update={"verdict": Verdict.VIOLATES, "outcome": Outcome.FAILED, "findings": [finding]}
    )


def test_it_has_verdict_table_first_sentences_and_the_next_command() -> None:
    text = markdown.summary(
        report(good(), bad("Deployment x still exists 30 s after")), results="r"
    )
    assert text.startswith(
        "## ❌ Conformance of mine\n\n**mine: violates (1 of 2 cases violates)**\n"
    )
    assert "| feature | cases | reconciled | failed | median | slowest | verdict |" in text
    assert "| add | 2 | 1 | 1 | 2.0 s | 2.0 s | violates 1 |" in text
    assert "- **violates** add/two: Deployment x still exists 30 s after\n" in text
    assert "pytest --operator=mine" in text
    assert "test_add/two" in text


def test_it_says_how_many_cases_the_profile_does_not_support() -> None:
    left = CaseResult(
        id="restart/kill", feature="restart", operator="mine", not_run=NotRun.UNSUPPORTED
    )
    text = markdown.summary(report(good(), left), results="r")
    assert (
        "**mine: partial (1 of 2 cases not supported by the profile, 1 of them required)**" in text
    )
    assert "| restart | 1 |  | 1 |  |  | not run |" in text


def test_a_shard_says_which_it_is() -> None:
    text = markdown.summary(report(good(), shard="2/4"), results="r")
    assert text.startswith("## ✅ Conformance of mine, shard 2/4\n")


def test_every_row_of_the_table_has_as_many_cells_as_the_head() -> None:
    text = markdown.summary(report(good(), bad("a | b\nc")), results="r")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a | b",
        "*bold*",
        "`code`",
        "[x](https://example.com)",
        "a\n\n# b",
    ],
)
def test_what_others_wrote_stays_text(text: str) -> None:
    shown = markdown.escape(text)
    assert "\n" not in shown
    assert "<s" not in shown
    for special in "|*`[":
        assert special not in shown.replace(f"\\{special}", "")


def test_names_of_people_and_numbers_of_issues_are_not_linked() -> None:
    assert "@someone" not in markdown.escape("by @someone in #12")
    assert "#12" not in markdown.escape("by @someone in #12")


def test_there_are_at_most_twenty_failures() -> None:
    cases = [bad(f"wrong {n}", f"add/{n}") for n in range(25)]
    text = markdown.summary(report(*cases), results="r")
    assert sum(line.startswith("- **violates**") for line in text.splitlines()) == 20
    assert "- … and 5 more; report.yaml holds all of them" in text


def test_where_nothing_ran_there_is_no_table() -> None:
    left = good().model_copy(update={"verdict": None, "not_run": NotRun.DESELECTED})
    text = markdown.summary(report(left), results="r")
    assert "| feature" not in text
    assert text.startswith("## ❓")


def test_the_command_prints_all_operators_and_appends_the_worst_verdict_as_an_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = {"one": report(good(), name="one"), "two": report(bad("wrong"), name="two")}
    files.write(reports, tmp_path)
    outputs = tmp_path / "outputs"
    outputs.write_text("before=1\n")
    assert main(["report", "summary", str(tmp_path), "--outputs", str(outputs)]) == 0
    shown = capsys.readouterr().out
    assert "Conformance of one" in shown
    assert "Conformance of two" in shown
    assert outputs.read_text().splitlines() == [
        "before=1", "verdict=violates", f"report={tmp_path / 'report-one.json'}",
    ]  # fmt: skip


def test_a_folder_without_a_report_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "summary", str(tmp_path)]) == 4
    assert "holds no report.json" in capsys.readouterr().err
