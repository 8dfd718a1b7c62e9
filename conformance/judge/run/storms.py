"""Storms: once every graph is gone the operator has nothing to do, in no namespace and on no Lease.

Cases count requests in their own namespace alone, where Leases do not count: several cases share the
operator, so elsewhere nobody can say for whom it works.
"""

from __future__ import annotations

from collections import Counter

from conformance.history.history import History
from conformance.history.records import Write
from conformance.judge.authors import actor_of_user
from conformance.judge.case import Case, CasePoint
from conformance.judge.findings import CheckResult, finding
from conformance.judge.wording import count, seconds
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE
LEASES = "leases"


def check(case: Case) -> CheckResult:
    """The operator's mutating requests in the hold window at the end of the run."""
    point = case.points[-1] if case.points else None
    # Without a hold the graphs never went, so the operator may well be at work.
    if point is None or not point.checkpoint.hold or not case.history.header.audited:
        return CheckResult(checker=_NAME)
    writes = operators_writes(case.history, point.hold.start, point.hold.end)
    storming = too_many(writes, allowed=case.bounds.write_rate * point.hold.length)
    findings = (_storm(case, point, writes),) if storming else ()
    return CheckResult(checker=_NAME, findings=findings, looked_at=1)


def operators_writes(history: History, start: float, end: float) -> list[Write]:
    """The operator's mutating requests answered with `start` < time <= `end`, wherever they went;
    Events are sent late, at a rate of their own, and do not count."""
    return [
        write
        for write in history.writes
        if start < write.at <= end
        and write.resource != "events"
        and actor_of_user(history.header, write.user) is Actor.OPERATOR
    ]


def too_many(writes: list[Write], *, allowed: float) -> bool:
    """True for more than `allowed` requests, or for as many to one and the same Lease: an operator
    renews each of its Leases at a pace of its own."""
    return bool(_counts(writes, allowed))


def _counts(writes: list[Write], allowed: float) -> Counter[str]:
    """What there is too much of: request → how often."""
    others = Counter(_text(write) for write in writes if write.resource != LEASES)
    leases = Counter(_text(write) for write in writes if write.resource == LEASES)
    found = Counter({text: times for text, times in leases.items() if times > allowed})
    return found + others if others.total() > allowed else found


def _text(write: Write) -> str:
    where = f" in namespace {write.namespace}" if write.namespace else ""
    return f"{write.verb} {write.resource}/{write.name}{where}"


def _storm(case: Case, point: CasePoint, writes: list[Write]) -> Finding:
    rate, hold = case.bounds.write_rate, point.hold
    counts = _counts(writes, rate * hold.length)
    most, times = counts.most_common(1)[0]
    return finding(
        _NAME, Verdict.VIOLATES, most.split()[1],
        f"The operator sent {count(counts.total(), 'mutating request')} in the last "
        f"{seconds(hold.length)} of the run, after every graph was gone, where {rate:g} a second are "
        f"allowed; {times} of them were {most}",
        first_at=hold.start, last_at=hold.end, requests=dict(counts),
    )  # fmt: skip
