"""Counts and verdicts of a report."""

from typing import Any

import pytest

from conformance.evidence.known import known_failure, unexpected_passes
from conformance.judge.verdict import Judgement
from conformance.model.bounds import Bounds
from conformance.model.exemptions import KnownFailure
from conformance.model.profile import Profile
from conformance.model.verdict import CheckerName, Outcome, Verdict
from conformance.report.build import RunFacts, case_result, overall, report, statistics, summary
from conformance.report.model import CaseResult, NotRun, ReportedFinding, Summary
from tests.evidence import sample

PROFILE = Profile.model_validate(
    {
        "identity": {"name": "sample", "version": "1.2"},
        "install": {"command": ["x"]},
        "known_failures": [
            {
                "case": "add-worker[*]",
                "checker": "coexistence",
                "subject": "Deployment/*",
                "link": "https://example.org/1",
            }
        ],
    }
)


def case(verdict: Verdict | None = Verdict.CONFORMS, **fields: Any) -> CaseResult:
    values: dict[str, Any] = {"id": "c", "feature": "add", "operator": "sample"}
    return CaseResult(**(values | fields), verdict=verdict)


def finding(verdict: Verdict = Verdict.VIOLATES, *, known: str = "") -> ReportedFinding:
    return ReportedFinding(
        checker=CheckerName.SIZE, verdict=verdict, subject="s", message="m", known_failure=known
    )


KNOWN = case(Verdict.VIOLATES, findings=[finding(known="https://example.org/1")])


@pytest.mark.parametrize(
    ("cases", "deviates", "expected"),
    [
        ([case()], False, Summary.CONFORMS),
        ([case()], True, Summary.PARTIAL),
        ([case(), KNOWN], False, Summary.PARTIAL),
        ([KNOWN], False, Summary.PARTIAL),
        ([case(), case(None, not_run=NotRun.DESELECTED)], False, Summary.PARTIAL),
        ([case(), case(None, not_run=NotRun.UNSUPPORTED, required=False)], False, Summary.CONFORMS),
        ([case(), case(None, not_run=NotRun.UNSUPPORTED)], False, Summary.PARTIAL),
        ([case(), case(Verdict.UNKNOWN)], True, Summary.UNKNOWN),
        ([case(Verdict.UNKNOWN), case(Verdict.VIOLATES)], False, Summary.VIOLATES),
        ([case(unexpected_passes=["l"])], False, Summary.UNKNOWN),
        ([], False, Summary.UNKNOWN),
        ([case(None, not_run=NotRun.UNSUPPORTED, required=False)], False, Summary.UNKNOWN),
    ],
)
def test_the_worst_thing_decides_the_summary(
    cases: list[CaseResult], deviates: bool, expected: Summary
) -> None:
    assert summary(cases, deviates=deviates) is expected


def test_a_known_failure_excuses_only_itself() -> None:
    both = case(Verdict.VIOLATES, findings=[finding(known="l"), finding()])
    assert KNOWN.known
    assert not KNOWN.gates
    assert not both.known
    assert both.gates


def test_a_known_failure_does_not_excuse_an_error_of_the_suite() -> None:
    broken = case(Verdict.UNKNOWN, findings=[finding(known="l")], error="etcd died")
    assert broken.gates
    assert broken.sentence == "etcd died"


def test_the_counts_add_up() -> None:
    cases = [
        case(),
        KNOWN,
        case(Verdict.VIOLATES, findings=[finding()]),
        case(Verdict.UNKNOWN),
        case(None, not_run=NotRun.UNSUPPORTED),
        case(unexpected_passes=["l"]),
    ]
    counts = statistics(cases)
    assert counts.cases == 6
    assert (counts.conforms, counts.violates, counts.unknown) == (2, 1, 1)
    assert (counts.known_failures, counts.not_run, counts.unexpected_passes) == (1, 1, 1)
    assert (counts.unsupported, counts.required_not_run) == (1, 1)


def test_what_is_not_required_is_unsupported_and_not_lacking() -> None:
    cases = [
        case(None, not_run=NotRun.UNSUPPORTED, required=False),
        case(None, not_run=NotRun.DESELECTED),
    ]
    counts = statistics(cases)
    assert (counts.not_run, counts.unsupported, counts.required_not_run) == (2, 1, 1)


def test_brackets_in_case_ids_are_letters_and_only_the_star_is_wild() -> None:
    history, judgement = sample.leftover()
    (accusation,) = (f for r in judgement.results for f in r.findings if f.verdict == "violates")
    assert known_failure(PROFILE, history.header.case, accusation) is not None
    assert known_failure(PROFILE, "add-workerm", accusation) is None
    assert known_failure(PROFILE, "remove-worker[x]", accusation) is None


def test_another_checker_or_subject_is_not_known() -> None:
    _, judgement = sample.leftover()
    findings = [f for r in judgement.results for f in r.findings]
    known = [f.checker for f in findings if known_failure(PROFILE, "add-worker[x]", f)]
    assert known == [CheckerName.COEXISTENCE]


def test_a_known_failure_that_does_not_show_is_an_unexpected_pass() -> None:
    assert len(unexpected_passes(PROFILE, "add-worker[x]", [], race=False)) == 1
    assert unexpected_passes(PROFILE, "remove-worker[x]", [], race=False) == []
    assert unexpected_passes(PROFILE, "add-worker[x]", [], race=False, judged=False) == []


def test_sometimes_excuses_a_race_only() -> None:
    entry = KnownFailure(
        case="*", checker=CheckerName.SIZE, link="https://example.org/2", sometimes=True
    )
    profile = PROFILE.model_copy(update={"known_failures": [entry]})
    assert unexpected_passes(profile, "c", [], race=True) == []
    assert unexpected_passes(profile, "c", [], race=False) == [entry]


def test_a_judged_history_becomes_a_result() -> None:
    history, judgement = sample.leftover()
    result = case_result(history, judgement, duration=31.23412)
    assert (result.id, result.feature, result.operator) == (
        "add-worker[merge-patch-v1alpha1]",
        "add",
        "sample",
    )
    assert result.verdict is Verdict.VIOLATES
    assert result.outcome is Outcome.FAILED
    assert result.duration == 31.234
    assert [(s.name, s.judged, s.seconds) for s in result.steps] == [
        ("deploy", False, 1.5),
        ("add-multinode-2", True, None),
    ]
    assert result.sentence.startswith("service worker: Deployment vllm-agg-worker still exists")


def test_an_interrupted_case_is_at_best_unknown() -> None:
    history, judgement = sample.good()
    result = case_result(history, judgement, duration=1.0, error="the API server went away")
    assert result.verdict is Verdict.UNKNOWN
    assert result.gates


def test_a_refused_step_says_more_than_a_moot_one() -> None:
    outcomes = {"a": Outcome.REFUSED, "b": Outcome.NOT_APPLICABLE}
    assert overall(outcomes, {}) is Outcome.REFUSED
    assert overall({}, {}) is None


def test_a_report_holds_identity_bounds_and_deviations() -> None:
    facts = RunFacts(
        profile=PROFILE,
        bounds=Bounds(hold=1.0),
        date="2026-01-01T00:00:00+00:00",
        cluster_admin=True,
    )
    made = report([case()], facts)
    assert made.operator.version == "1.2"
    assert made.bounds["deadline"] == 30.0
    assert {k: (d.value, d.default) for k, d in made.deviations.items()} == {"hold": (1.0, 5.0)}
    assert made.verdict is Summary.PARTIAL
    assert made.cluster_admin


def test_nothing_judged_is_unknown() -> None:
    history = sample.story().history()
    nothing = Judgement(verdict=Verdict.UNKNOWN, results=(), outcomes={})
    assert case_result(history, nothing, duration=0.0).gates
