"""Findings about a checkpoint, a sentence each: objects, service, duration, change, owner, creator."""

from collections.abc import Sequence

from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, finding
from conformance.judge.mismatch import Mismatch
from conformance.judge.steps import describe, relevant
from conformance.judge.wording import by, join, noun, nouns, owned_by, subject
from conformance.model.kinds import Actor
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding


def elapsed(point: CasePoint, service: str = "") -> str:
    """`30.0 s after multinode was added to service VllmDecodeWorker`."""
    step = relevant(point.steps, service)
    if step is None:
        return f"at {point.name}"
    return f"{max(0.0, point.at - step.answered_at):.1f} s after {describe(step)}"


def origin(case: Case, state: State, objects: Sequence[Obj]) -> str:
    """`it is controlled by DCD a, created by the operator`; those that are alike share a clause."""
    facts = [f"{owned_by(state, obj)}, created by {by(case.creator(obj.uid))}" for obj in objects]
    others = objects[1:]
    if others and len(set(facts)) == 1:
        return f"it and {nouns(others)} are {'both' if len(others) == 1 else 'all'} {facts[0]}"
    subjects = ("it", *(noun(obj) for obj in others))
    return join((f"{one} is {fact}" for one, fact in zip(subjects, facts, strict=False)), most=4)


def origin_of(case: Case, state: State, obj: Obj) -> str:
    """`Deployment x is controlled by DCD a, created by the operator`."""
    return f"{noun(obj)} is {owned_by(state, obj)}, created by {by(case.creator(obj.uid))}"


def finding_of(point: CasePoint, row: Mismatch) -> Finding:
    """A mismatch at a checkpoint as a finding, with times, owner and creator. What is on its way
    out already, or another actor's fault, is `unknown`: it neither conforms nor blames the
    operator."""
    case, state = point.case, point.state
    there = [state.get(uid) for uid in row.objects]
    message = f"{row.message}, {elapsed(point, row.service)}"
    first = there[0] if there else None
    if first is not None:
        named = row.message.startswith(noun(first))
        message += f"; {origin(case, state, [first]) if named else origin_of(case, state, first)}"
    ours = row.blame is Actor.OPERATOR
    if not ours and not row.ending:
        message += f"; the fault is with {by(row.blame)}"
    if point.late:
        waited, turn = point.at - point.checkpoint.since, point.checkpoint.turn or 0.0
        message += f"; the operator had its turn for {turn:.1f} s of {waited:.1f} s"
    return finding(
        row.checker, point.still_wrong(blamed=ours and not row.ending), row.subject, message,
        graph=row.graph, step=point.last_step, first_at=point.checkpoint.since, last_at=point.at,
        service=row.service, checkpoint=point.name,
        objects=[subject(obj) for obj in there if obj is not None], blame=str(row.blame),
    )  # fmt: skip


def check_mismatches(case: Case, checker: CheckerName) -> CheckResult:
    """The checker whose findings are simply this name's mismatches at each checkpoint."""
    rows = [(point, row) for point in case.seen for row in point.mismatches]
    findings = [finding_of(point, row) for point, row in rows if row.checker is checker]
    findings += blind_spots(case, checker)
    return CheckResult(checker=checker, findings=tuple(findings), looked_at=len(case.seen))
