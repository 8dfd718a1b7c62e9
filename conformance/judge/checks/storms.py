"""Storms: once every graph is gone the operator has nothing to do, in no namespace and on no Lease.

Cases count requests in their own namespace alone, where Leases do not count: several cases share the
operator, so elsewhere nobody can say for whom it works.
"""

from __future__ import annotations

from collections import Counter

from conformance.history.history import History
from conformance.history.records import Checkpoint, Write
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.words import seconds
from conformance.judge.state.writes import actor_of_user
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

NAME = CheckerName.QUIESCENCE
LEASES = "leases"


def check(history: History) -> CheckResult:
    """The operator's mutating requests in the hold window at the end of the run."""
    checkpoint = history.checkpoints[-1] if history.checkpoints else None
    # Without a hold the graphs never went, so the operator may well be at work.
    if checkpoint is None or not checkpoint.hold or not history.header.audited:
        return CheckResult(checker=NAME)
    writes = operators_writes(history, checkpoint.at - checkpoint.hold, checkpoint.at)
    findings = []
    if too_many(writes, allowed=history.bounds.write_rate * checkpoint.hold):
        findings.append(_storm(history, checkpoint, writes))
    return CheckResult(checker=NAME, findings=tuple(findings), looked_at=1)


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
    found = Counter({text: count for text, count in leases.items() if count > allowed})
    return found + others if others.total() > allowed else found


def _text(write: Write) -> str:
    where = f" in namespace {write.namespace}" if write.namespace else ""
    return f"{write.verb} {write.resource}/{write.name}{where}"


def _storm(history: History, checkpoint: Checkpoint, writes: list[Write]) -> Finding:
    rate = history.bounds.write_rate
    counts = _counts(writes, rate * checkpoint.hold)
    most, count = counts.most_common(1)[0]
    target = most.split()[1]
    return Finding(
        checker=NAME,
        verdict=Verdict.VIOLATES,
        subject=target,
        message=f"The operator sent {counts.total()} mutating requests in the last "
        f"{seconds(checkpoint.hold)} of the run, after every graph was gone, where {rate:g} a second "
        f"are allowed; {count} of them were {most}.",
        first_at=checkpoint.at - checkpoint.hold,
        last_at=checkpoint.at,
        evidence={"requests": dict(counts)},
    )
