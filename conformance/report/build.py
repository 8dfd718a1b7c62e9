"""From judged histories to results of cases, and from these to a report.

Counts and verdicts are computed here and nowhere else, so that `verify` can compute them again.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.evidence.excerpt import checkpoint_of, matched_after
from conformance.evidence.known import known_failure, unexpected_passes
from conformance.history.history import History
from conformance.history.records import Step
from conformance.judge.verdict import Judgement
from conformance.model.bounds import Bounds
from conformance.model.profile import Profile
from conformance.model.verdict import Finding, Outcome, Verdict, worst
from conformance.report.concessions import concessions
from conformance.report.model import (
    CaseResult,
    ConformanceReport,
    Deviation,
    HistoryFile,
    NotRun,
    ReportedFinding,
    Statistics,
    StepResult,
    Summary,
)

# The outcome that says most about a case comes first.
_TELLING = (
    Outcome.FAILED, Outcome.INCONCLUSIVE, Outcome.BLOCKED,
    Outcome.REFUSED, Outcome.RECONCILED, Outcome.NOT_APPLICABLE,
)  # fmt: skip
_END_LOST = "the run ended, but the judgement of its end was lost; run it again"
_LOST = (
    "left no result: its worker process died, or the run was stopped before it; run the case again "
    "alone"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is true of the whole run. `date` is ISO 8601 in UTC, by default now; `profile_sha256` is the
    digest of the profile's file, in hex."""

    profile: Profile
    bounds: Bounds
    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    cluster: str = "embedded"
    cluster_admin: bool = False
    date: str = ""
    profile_sha256: str = ""


def case_result(
    history: History,
    judgement: Judgement,
    *,
    duration: float,
    nodeid: str = "",
    history_file: HistoryFile | None = None,
    error: str = "",
) -> CaseResult:
    """The result of a judged case. `duration` in seconds; `error` says what interrupted it."""
    header, profile, findings = history.header, history.profile, judgement.findings
    verdict = worst([judgement.verdict, Verdict.UNKNOWN]) if error else judgement.verdict
    steps = {step.name: step for step in history.steps}
    missed = unexpected_passes(
        profile,
        header.case,
        findings,
        race=header.race,
        judged=not error and not any(result.blind for result in judgement.results),
    )
    return CaseResult(
        id=header.case,
        feature=header.feature,
        title=header.title,
        operator=header.operator,
        nodeid=nodeid,
        verdict=verdict,
        outcome=overall(judgement.outcomes, steps),
        steps=[
            _step(history, name, outcome, steps.get(name))
            for name, outcome in judgement.outcomes.items()
        ],
        findings=[_finding(profile, header.case, finding) for finding in findings],
        duration=round(duration, 3),
        error=error,
        unexpected_passes=[failure.link for failure in missed],
        history=history_file,
    )


def overall(outcomes: Mapping[str, Outcome], steps: Mapping[str, Step]) -> Outcome | None:
    """The most telling outcome of the judged steps (of all steps, if none is judged)."""
    judged = [o for name, o in outcomes.items() if name not in steps or steps[name].judged]
    return next((o for o in _TELLING if o in (judged or outcomes.values())), None)


def _step(history: History, name: str, outcome: Outcome, step: Step | None) -> StepResult:
    if step is None:
        return StepResult(name=name, outcome=outcome)
    after = matched_after(step, checkpoint_of(history, name))
    return StepResult(
        name=name,
        outcome=outcome,
        door=step.door,
        judged=step.judged,
        seconds=None if after is None else round(after, 3),
    )


def _finding(profile: Profile, case: str, finding: Finding) -> ReportedFinding:
    reported = ReportedFinding.model_validate(finding, from_attributes=True)
    failure = known_failure(profile, case, finding)
    return reported.model_copy(update={"known_failure": failure.link}) if failure else reported


def statistics(cases: Iterable[CaseResult]) -> Statistics:
    """The counts of these cases."""
    listed = list(cases)
    ran = [case for case in listed if case.not_run is None]
    plain = [case for case in ran if not case.known]
    return Statistics(
        cases=len(listed),
        conforms=sum(case.verdict is Verdict.CONFORMS for case in plain),
        violates=sum(case.verdict is Verdict.VIOLATES for case in plain),
        unknown=sum(case.verdict in (None, Verdict.UNKNOWN) for case in plain),
        known_failures=len(ran) - len(plain),
        not_run=len(listed) - len(ran),
        unexpected_passes=sum(bool(case.unexpected_passes) for case in ran),
        unsupported=sum(case.not_run is NotRun.UNSUPPORTED for case in listed),
        second_looks=sum(bool(case.attempts) for case in ran),
        required_not_run=sum(case.not_run is not None and case.required for case in listed),
    )


def summary(cases: Iterable[CaseResult], *, deviates: bool) -> Summary:
    """The verdict of a run: violates, else unknown, else partial, else conforms.

    If nothing was judged, or a known failure passed (so the profile is wrong about its operator), it
    is unknown. A required case (`Profile.excuse`) that was not run makes it partial.
    """
    counts = statistics(cases)
    if counts.violates:
        return Summary.VIOLATES
    if counts.unknown or counts.unexpected_passes or not (counts.conforms + counts.known_failures):
        return Summary.UNKNOWN
    if counts.known_failures or deviates or counts.required_not_run:
        return Summary.PARTIAL
    return Summary.CONFORMS


def totals(cases: Iterable[CaseResult], *, deviates: bool) -> dict[str, Any]:
    """The fields of a report that follow from its cases: these in order, counts and verdict."""
    listed = sorted(cases, key=lambda case: (case.feature, case.id))
    verdict = summary(listed, deviates=deviates)
    return {"verdict": verdict, "statistics": statistics(listed), "cases": listed}


def lost(
    expected: Iterable[CaseResult], found: Iterable[CaseResult], *, broken_off: str = ""
) -> list[CaseResult]:
    """Cases that were to be run and left no result (their worker died): unknown, never forgotten.

    `expected` need hold no more than id, feature, title, operator and nodeid. `broken_off` says why
    the whole run ended before its time, if it did.
    """
    there = {(case.operator, case.id) for case in found}
    why = f"left no result, since the run was broken off: {broken_off}" if broken_off else _LOST
    return [
        case.model_copy(
            update={"verdict": Verdict.UNKNOWN, "error": _END_LOST if case.of_run else why}
        )
        for case in expected
        if (case.operator, case.id) not in there
    ]


def report(cases: Iterable[CaseResult], facts: RunFacts) -> ConformanceReport:
    """The report of a run."""
    deviations = {
        name: Deviation(value=value, default=default)
        for name, (value, default) in facts.bounds.deviations().items()
    }
    return ConformanceReport(
        date=facts.date or datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        operator=facts.profile.identity,
        profile_sha256=facts.profile_sha256,
        concessions=concessions(facts.profile),
        versions=dict(facts.versions),
        options=dict(facts.options),
        bounds={name: float(value) for name, value in facts.bounds.to_json().items()},
        deviations=deviations,
        cluster=facts.cluster,
        cluster_admin=facts.cluster_admin,
        **totals(cases, deviates=bool(deviations)),
    )
