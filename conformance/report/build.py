"""From judged histories to results of cases, and from these to a report. Counts are computed here
and nowhere else, so that `verify` can compute them again."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.evidence.known import known_failure, unexpected_passes
from conformance.history.history import History
from conformance.history.records import Step
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
    OperatorIdentity,
    ReportedFinding,
    Statistics,
    StepResult,
    Summary,
)

if TYPE_CHECKING:
    from conformance.judge.verdict import Judgement

# The outcome that says most about a case comes first.
_TELLING = (
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.BLOCKED,
    Outcome.REFUSED,
    Outcome.RECONCILED,
    Outcome.NOT_APPLICABLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is true of the whole run. `date` is ISO 8601 in UTC, by default now."""

    profile: Profile
    bounds: Bounds
    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    cluster: str = "embedded"
    admin: bool = False
    """True if the operator ran as cluster admin instead of under RBAC of its own."""
    date: str = ""
    profile_sha256: str = ""
    """Digest of the profile's file, in hex."""


def case_result(
    history: History,
    judgement: Judgement,
    *,
    duration: float,
    node: str = "",
    history_file: HistoryFile | None = None,
    error: str = "",
) -> CaseResult:
    """The result of a judged case. `duration` in seconds; `error` says what interrupted it."""
    header = history.header
    profile = history.profile
    findings = [f for result in judgement.results for f in result.findings]
    verdict = worst([judgement.verdict, Verdict.UNKNOWN]) if error else judgement.verdict
    steps = {step.name: step for step in history.steps}
    return CaseResult(
        id=header.case,
        feature=header.feature,
        title=header.title,
        operator=header.operator,
        node=node,
        verdict=verdict,
        outcome=overall(judgement.outcomes, steps),
        steps=[
            _step(history, name, outcome, steps.get(name))
            for name, outcome in judgement.outcomes.items()
        ],
        findings=[_finding(profile, header.case, finding) for finding in findings],
        duration=round(duration, 3),
        error=error,
        unexpected_passes=[
            failure.link
            for failure in unexpected_passes(
                profile,
                header.case,
                findings,
                race=header.race,
                judged=not error and not any(result.blind for result in judgement.results),
            )
        ],
        history=history_file,
    )


def overall(outcomes: Mapping[str, Outcome], steps: Mapping[str, Step]) -> Outcome | None:
    """The most telling outcome of the judged steps (of all steps, if none is judged)."""
    judged = [o for name, o in outcomes.items() if name not in steps or steps[name].judged]
    return next((o for o in _TELLING if o in (judged or outcomes.values())), None)


def _step(history: History, name: str, outcome: Outcome, step: Step | None) -> StepResult:
    checkpoint = next((m for m in history.checkpoints if name in m.steps), None)
    seconds = None
    if step is not None and checkpoint is not None and checkpoint.reached_at is not None:
        seconds = round(max(0.0, checkpoint.reached_at - step.answered_at), 3)
    return StepResult(
        name=name,
        outcome=outcome,
        door=step.door if step else "",
        judged=step.judged if step else True,
        seconds=seconds,
    )


def _finding(profile: Profile, case: str, finding: Finding) -> ReportedFinding:
    failure = known_failure(profile, case, finding)
    return ReportedFinding(
        checker=finding.checker,
        verdict=finding.verdict,
        subject=finding.subject,
        message=finding.message,
        step=finding.step,
        first_at=finding.first_at,
        last_at=finding.last_at,
        known=failure.link if failure else "",
    )


def history_file(path: Path, *, results: Path) -> HistoryFile:
    """The reference to a stored history, relative to the results folder. Raises OSError."""
    return HistoryFile(path=path.relative_to(results).as_posix(), sha256=digest(path))


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
        lacking=sum(case.not_run is not None and case.required for case in listed),
    )


def summary(cases: Iterable[CaseResult], *, deviates: bool) -> Summary:
    """The verdict of a run: violates, else unknown, else partial, else conforms.

    Nothing judged, and an unexpected pass (the profile is wrong about its operator), are unknown. A
    case that was not run keeps a run from conforming, unless it is not required (`Profile.excuse`).
    """
    listed = list(cases)
    counts = statistics(listed)
    if counts.violates:
        return Summary.VIOLATES
    if counts.unknown or counts.unexpected_passes or not (counts.conforms + counts.known_failures):
        return Summary.UNKNOWN
    if counts.known_failures or deviates or counts.lacking:
        return Summary.PARTIAL
    return Summary.CONFORMS


def report(cases: Iterable[CaseResult], facts: RunFacts) -> ConformanceReport:
    """The report of a run."""
    listed = sorted(cases, key=lambda case: (case.feature, case.id))
    identity = facts.profile.identity
    deviations = {
        name: Deviation(value=value, default=default)
        for name, (value, default) in facts.bounds.deviations().items()
    }
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return ConformanceReport(
        date=facts.date or now,
        operator=OperatorIdentity(
            name=identity.name,
            title=identity.title,
            organization=identity.organization,
            url=identity.url,
            version=identity.version,
        ),
        profile_sha256=facts.profile_sha256,
        concessions=concessions(facts.profile),
        versions=dict(facts.versions),
        options=dict(facts.options),
        bounds={name: float(value) for name, value in facts.bounds.to_json().items()},
        deviations=deviations,
        cluster=facts.cluster,
        admin=facts.admin,
        verdict=summary(listed, deviates=bool(deviations)),
        statistics=statistics(listed),
        cases=listed,
    )
