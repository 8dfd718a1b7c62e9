"""Findings about a checkpoint, a sentence each: objects, service, duration, change, owner, creator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, finding
from conformance.judge.mismatch import Mismatch
from conformance.judge.steps import describe, relevant
from conformance.judge.wording import by, join, noun, nouns, owned_by, subject
from conformance.model.kinds import Actor
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict


def elapsed(point: CasePoint, service: str = "") -> str:
    """`30.0 s after multinode was added to service VllmDecodeWorker`."""
    step = relevant(point.steps, service)
    if step is None:
        return f"at {point.name}"
    return f"{max(0.0, point.at - step.answered_at):.1f} s after {describe(step)}"


def origin(case: Case, state: State, objects: Sequence[Obj]) -> str:
    """`it is controlled by DCD a, created by the operator`; those that are alike share a clause."""
    if not objects:
        return ""
    first, *rest = objects
    facts = [f"{owned_by(state, obj)}, created by {by(case.creator(obj.uid))}" for obj in objects]
    if not rest:
        return f"it is {facts[0]}"
    if len(set(facts)) == 1:
        both = "both" if len(objects) == 2 else "all"
        return f"it and {nouns(rest)} are {both} {facts[0]}"
    clauses = [
        f"{'it' if obj is first else noun(obj)} is {fact}"
        for obj, fact in zip(objects, facts, strict=True)
    ]
    return join(clauses, most=4)


def origin_of(case: Case, state: State, obj: Obj) -> str:
    """`Deployment x is controlled by DCD a, created by the operator`."""
    return f"{noun(obj)} is {owned_by(state, obj)}, created by {by(case.creator(obj.uid))}"


def sentence(point: CasePoint, row: Mismatch) -> str:
    """A mismatch with times, owner and creator."""
    message = f"{row.message}, {elapsed(point, row.service)}"
    for obj in known(point, row.objects[:1]):
        if row.message.startswith(noun(obj)):
            message += f"; {origin(point.case, point.state, [obj])}"
        else:
            message += f"; {origin_of(point.case, point.state, obj)}"
    if row.blame is not Actor.OPERATOR and not row.ending:
        message += f"; the fault is with {by(row.blame)}"
    return message


def known(point: CasePoint, uids: Iterable[str]) -> list[Obj]:
    """The objects with those uids, as far as they exist at that checkpoint."""
    return [obj for uid in uids if (obj := point.state.get(uid)) is not None]


def finding_of(point: CasePoint, row: Mismatch) -> Finding:
    """A mismatch at a checkpoint as a finding.

    What is already on its way out, or is another actor's fault, keeps the case from conforming
    without blaming the operator: it is `unknown`.
    """
    blamed = row.blame is Actor.OPERATOR and not row.ending
    return finding(
        row.checker,
        Verdict.VIOLATES if blamed else Verdict.UNKNOWN,
        row.subject,
        sentence(point, row),
        graph=row.graph,
        step=point.last_step,
        first_at=point.checkpoint.since,
        last_at=point.at,
        service=row.service,
        checkpoint=point.name,
        objects=[subject(obj) for obj in known(point, row.objects)],
        blame=str(row.blame),
    )


def check_mismatches(case: Case, checker: CheckerName) -> CheckResult:
    """The checker whose findings are simply this name's mismatches at each checkpoint."""
    findings = [
        finding_of(point, row)
        for point in case.seen
        for row in point.mismatches
        if row.checker is checker
    ]
    return CheckResult(
        checker=checker,
        findings=(*findings, *blind_spots(case, checker)),
        looked_at=len(case.seen),
    )
