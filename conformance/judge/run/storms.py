"""Storms: once every graph is gone the operator has nothing to do, in no namespace and on no Lease.
Cases count requests in their own namespace alone: elsewhere nobody can say for whom the operator
works."""

from collections import Counter

from conformance.history.history import History
from conformance.judge.authors import actor_of_user
from conformance.judge.case import Case
from conformance.judge.findings import CheckResult, finding
from conformance.judge.wording import count, seconds
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Verdict

_NAME = CheckerName.QUIESCENCE
LEASES = "leases"


def check(case: Case) -> CheckResult:
    """The operator's mutating requests in the hold window at the end of the run."""
    point = case.points[-1] if case.points else None
    # Without a hold the graphs never went, so the operator may well be at work.
    if point is None or not point.checkpoint.hold or not case.history.header.audited:
        return CheckResult(checker=_NAME)
    hold, rate = point.hold, case.bounds.write_rate
    counts = too_many(case.history, hold.start, hold.end, allowed=rate * hold.length)
    if not counts:
        return CheckResult(checker=_NAME, looked_at=1)
    most, times = counts.most_common(1)[0]
    text = (
        f"The operator sent {count(counts.total(), 'mutating request')} in the last "
        f"{seconds(hold.length)} of the run, after every graph was gone, where {rate:g} a second are "
        f"allowed; {times} of them were {most}"
    )
    storm = finding(
        _NAME, Verdict.VIOLATES, most.split()[1], text,
        first_at=hold.start, last_at=hold.end, requests=dict(counts),
    )  # fmt: skip
    return CheckResult(checker=_NAME, findings=(storm,), looked_at=1)


def too_many(history: History, start: float, end: float, *, allowed: float) -> Counter[str]:
    """What there is too much of among the operator's mutating requests, answered with `start` <
    time <= `end`, wherever they went: request → how often. More than `allowed` in all are, or as
    many to one and the same Lease, each renewed at a pace of its own. Events are sent late and do
    not count."""
    others, leases = Counter[str](), Counter[str]()
    for write in history.writes:
        within = start < write.at <= end and write.resource != "events"
        if within and actor_of_user(history.header, write.user) is Actor.OPERATOR:
            where = f" in namespace {write.namespace}" if write.namespace else ""
            kind = leases if write.resource == LEASES else others
            kind[f"{write.verb} {write.resource}/{write.name}{where}"] += 1
    found = Counter({text: times for text, times in leases.items() if times > allowed})
    return found + others if others.total() > allowed else found
