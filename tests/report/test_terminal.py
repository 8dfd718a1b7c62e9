"""What the terminal shows."""

from syrupy.assertion import SnapshotAssertion

from conformance.model.bounds import Bounds
from conformance.model.verdict import CheckerName, Outcome, Verdict
from conformance.report.build import RunFacts, lost, report
from conformance.report.junit import properties
from conformance.report.model import CaseResult, HistoryFile, NotRun, ReportedFinding
from conformance.report.table import verdict_table
from conformance.report.terminal import conclusion, next_command, summary
from tests.report.test_report_model import KNOWN, PROFILE, case, finding

SENTENCE = (
    "service worker: Deployment vllm-agg-worker still exists 30 s after multinode was set; it and "
    "LWS vllm-agg-worker-0 are both controlled by DCD vllm-agg-worker, created by the operator"
)


def _cases() -> list[CaseResult]:
    leftover = ReportedFinding(
        checker=CheckerName.COEXISTENCE,
        verdict=Verdict.VIOLATES,
        subject="Deployment/vllm-agg-worker",
        message=SENTENCE,
    )
    return [
        *(case(id=f"add-{n}", outcome=Outcome.RECONCILED, duration=7.0 + n) for n in range(3)),
        case(
            Verdict.VIOLATES,
            id="add-worker[merge-patch-v1alpha1]",
            nodeid="cases/test_add.py::test_add_worker[sample-merge-patch-v1alpha1]",
            outcome=Outcome.FAILED,
            duration=35.04,
            findings=[leftover],
        ),
        case(id="remove-a", feature="remove", outcome=Outcome.REFUSED, duration=5.5),
        KNOWN.model_copy(update={"id": "remove-b", "feature": "remove", "duration": 6.0}),
        case(
            Verdict.UNKNOWN,
            id="idle",
            feature="idle",
            outcome=Outcome.INCONCLUSIVE,
            duration=6.0,
            error="etcd exited with code 1 during the case; the history has a gap",
        ),
        case(
            None,
            id="add-beta",
            feature="v1beta1",
            not_run=NotRun.UNSUPPORTED,
            reason="the profile serves v1alpha1 only",
            required=False,
        ),
    ]


def test_the_end_of_a_run_that_fails(snapshot: SnapshotAssertion) -> None:
    made = report(_cases(), RunFacts(profile=PROFILE, bounds=Bounds(hold=1.0)))
    assert summary(made, results="results", width=110) == snapshot


def test_the_end_of_a_run_that_conforms(snapshot: SnapshotAssertion) -> None:
    made = report(_cases()[:3], RunFacts(profile=PROFILE, bounds=Bounds()))
    assert summary(made, results="results", width=80) == snapshot


def test_only_a_terminal_gets_colours() -> None:
    assert "\x1b[" not in verdict_table(_cases())
    assert "\x1b[" in verdict_table(_cases(), color=True)


def test_a_narrow_terminal_still_gets_every_word(snapshot: SnapshotAssertion) -> None:
    assert verdict_table(_cases(), width=72) == snapshot


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in (60, 80, 120):
        assert max(map(len, verdict_table(_cases(), width=width).splitlines())) <= width


def test_the_next_line_is_the_first_failing_case() -> None:
    options = {"operator": "./my operator", "operator-binary": "a/manager", "fault": "one,two"}
    made = report(_cases(), RunFacts(profile=PROFILE, bounds=Bounds(), options=options))
    assert next_command(made, results="r") == (
        "pytest '--operator=./my operator' --operator-binary=a/manager --fault=one --fault=two "
        "--results=r-again 'cases/test_add.py::test_add_worker[sample-merge-patch-v1alpha1]'"
    )


def test_a_run_that_was_broken_off_tells_the_cause_once_and_shows_no_table() -> None:
    expected = [case(None, id=f"add-{n}", outcome=None, duration=0.0) for n in range(3)]
    gone = lost(expected, [], broken_off="the operator sample was not ready 60 s after its start")
    made = report(gone, RunFacts(profile=PROFILE, bounds=Bounds()))
    text = summary(made, results="results")
    assert text.splitlines()[:2] == [
        "unknown  add-0, add-1 and add-2",
        "    left no result, since the run was broken off: the operator sample was not ready 60 s "
        "after its start",
    ]
    assert text.count("not ready") == 1
    assert "feature" not in text


def test_a_feature_of_which_only_a_part_ran_is_partial_in_its_row() -> None:
    left_out = case(None, id="add-b", not_run=NotRun.DESELECTED)
    rows = verdict_table([case(id="add-a"), left_out]).splitlines()
    assert next(row for row in rows if row.startswith("add")).endswith("partial")


def test_a_row_whose_required_cases_are_not_supported_is_partial() -> None:
    left_out = case(None, id="add-b", not_run=NotRun.UNSUPPORTED)
    rows = verdict_table([case(id="add-a"), left_out]).splitlines()
    assert next(row for row in rows if row.startswith("add")).endswith("partial")
    excused = left_out.model_copy(update={"required": False})
    rows = verdict_table([case(id="add-a"), excused]).splitlines()
    assert next(row for row in rows if row.startswith("add")).endswith("conforms")


def test_the_last_line_says_how_many_cases_the_profile_does_not_support() -> None:
    lacking = [case(None, id=f"add-{n}", not_run=NotRun.UNSUPPORTED) for n in range(2)]
    excused = [c.model_copy(update={"required": False}) for c in lacking]
    facts = RunFacts(profile=PROFILE, bounds=Bounds())
    assert conclusion(report([case(), *lacking], facts)) == (
        "sample: partial (2 of 3 cases not supported by the profile, 2 of them required)"
    )
    assert conclusion(report([case(), *excused], facts)) == (
        "sample conforms: 1 case (2 of 3 cases not supported by the profile)"
    )


def test_after_a_good_run_the_next_line_checks_the_report() -> None:
    made = report([case()], RunFacts(profile=PROFILE, bounds=Bounds()))
    assert next_command(made, results="my results") == (
        "python -m conformance report verify 'my results'"
    )


def test_partial_says_why_it_is_not_conformant() -> None:
    left_out = case(None, not_run=NotRun.DESELECTED)
    made = report([case(), KNOWN, left_out], RunFacts(profile=PROFILE, bounds=Bounds(hold=1)))
    assert conclusion(made) == (
        "sample: partial (1 known failure; bounds changed: hold 1 s; 1 required case deselected)"
    )


def test_junit_properties_carry_the_verdict_and_every_finding() -> None:
    shown = case(
        Verdict.VIOLATES,
        outcome=Outcome.FAILED,
        findings=[finding()],
        history=HistoryFile(path="histories/c.jsonl.zst", sha256="0" * 64),
    )
    recorded = properties(shown)
    assert dict(recorded)["dgd.finding.size"] == "violates s: m"
    assert dict(recorded)["dgd.history"] == "histories/c.jsonl.zst"
    assert "dgd.known" not in dict(recorded)
