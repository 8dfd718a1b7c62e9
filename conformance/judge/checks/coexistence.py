"""Coexistence: two kinds of workload, or two generations, of one service.

At rest never. Until the deadline the declared overlap policy decides, and an allowed overlap is
reported with its exact length. Past it only a rollout that the status reports, within its declared
bound, excuses two generations, and then nothing is proven.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.judge.case import Case, CasePoint
from conformance.judge.checks.parts.overlaps import Overlap, overlaps
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, finding
from conformance.judge.sentences import elapsed, origin
from conformance.judge.state.coexistence import Doubling, Together, doublings
from conformance.judge.steps import describe, relevant
from conformance.judge.wording import nouns, subject
from conformance.model.bounds import REST_EDGE
from conformance.model.exemptions import Rollout
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.COEXISTENCE


def check(case: Case) -> CheckResult:
    """What coexisted at a checkpoint, in a rest after one, and on the way there."""
    findings = [one for point in case.seen for one in _at_checkpoint(point)]
    reported = {(one.step, one.graph, one.evidence["service"]) for one in findings}
    for overlap in overlaps(case):
        for point in case.seen:
            if (point.last_step, overlap.graph, overlap.service) not in reported:
                findings += _in_time(overlap, point)
    findings += blind_spots(case, _NAME)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(case.seen))


def _at_checkpoint(point: CasePoint) -> Iterable[Finding]:
    for row in doublings(point.snapshot):
        rollout = _rollout(point, row)
        still = "exists" if len(row.stale) == 1 else "exist"
        told = origin(point.case, point.state, row.objects)
        message = (
            f"{nouns(row.stale)}{_of_service(point, row)} still {still} "
            f"{elapsed(point, row.service.name)}; {told}"
        )
        if rollout is not None:
            message += f"; {'.'.join(rollout.path)} says that a rollout is in progress"
        yield finding(
            _NAME,
            Verdict.VIOLATES if rollout is None else Verdict.UNKNOWN,
            row.stale[0],
            message,
            graph=row.service.graph.name,
            step=point.last_step,
            first_at=_began(point.case, row.objects),
            last_at=point.at,
            **_evidence(row),
        )


def _of_service(point: CasePoint, row: Together) -> str:
    """Named unless the change names it already."""
    step = relevant(point.steps, row.service.name)
    told = step is not None and row.service.name in step.services
    return "" if told else f" of service {row.service.name}"


def _began(case: Case, objects: tuple[Obj, ...]) -> float | None:
    """When the last of them came to be, which is when they began to coexist."""
    lives = (case.history.lives.get(obj.uid) for obj in objects)
    created = [life.created_at for life in lives if life is not None]
    return max((at for at in created if at is not None), default=None)


def _rollout(point: CasePoint, row: Together) -> Rollout | None:
    """The rollout that the graph's status reports just now and that excuses two generations."""
    root = row.service.root
    if row.what is Doubling.KINDS or point.held or root is None:
        return None
    for rollout in point.case.profile.rollouts:
        if root.at(*rollout.path) not in rollout.values:
            continue
        since = _reported_since(point, root, rollout)
        if point.at - since <= rollout.bound:
            return rollout
    return None


def _reported_since(point: CasePoint, root: Obj, rollout: Rollout) -> float:
    history = point.case.history
    since = history.header.started_at
    reporting = False
    for event in history.lives[root.uid].events:
        if event.revision > point.checkpoint.revision:
            break
        now = event.obj.at(*rollout.path) in rollout.values
        if now and not reporting:
            since = event.at
        reporting = now
    return since


def _in_time(overlap: Overlap, point: CasePoint) -> Iterable[Finding]:
    """What an overlap means for a checkpoint: it fell into the rest there, or was on the way to it."""
    reached = point.checkpoint.reached_at
    if point.held and reached is not None:
        within = overlap.from_at < point.rests_until and _ended(overlap, point) > reached
        if within and _lasts(overlap, reached):
            return [_at_rest(overlap, point, reached)]
    if point.begins <= overlap.from_at <= point.at:
        return [_on_the_way(overlap, point)]
    return []


def _ended(overlap: Overlap, point: CasePoint) -> float:
    """When it ended; an overlap that lasts ends after everything else."""
    return overlap.end_or(max(point.case.history.events[-1].at, point.rests_until))


def _lasts(overlap: Overlap, reached: float) -> bool:
    """True if it began in the rest, or lasted into it: an end that arrived an instant after the
    driver looked is the end of the transition, not a part of the rest."""
    into = overlap.to_at is None or overlap.to_at - reached > REST_EDGE
    return overlap.from_at > reached or into


def _at_rest(overlap: Overlap, point: CasePoint, reached: float) -> Finding:
    row = overlap.row
    message = (
        f"{nouns(row.stale)} of service {overlap.service} existed beside {nouns(row.kept)} for "
        f"{_length(overlap, point)} at rest, {max(0.0, overlap.from_at - reached):.1f} s after the "
        f"state had been reached; {origin(point.case, overlap.state, row.objects)}"
    )
    return _finding(overlap, point, Verdict.VIOLATES, message)


def _on_the_way(overlap: Overlap, point: CasePoint) -> Finding:
    row, policy = overlap.row, point.case.profile.overlap
    step = relevant(point.steps, overlap.service)
    after = f" after {describe(step)}" if step else ""
    message = (
        f"{nouns(row.stale)} of service {overlap.service} existed beside {nouns(row.kept)} for "
        f"{_length(overlap, point)}{after}"
    )
    if policy.allowed:
        message += f"; the profile allows it until the deadline ({policy.reason})"
        return _finding(overlap, point, Verdict.CONFORMS, message)
    told = origin(point.case, overlap.state, row.objects)
    message += f", and the profile promises no overlap; {told}"
    return _finding(overlap, point, Verdict.VIOLATES, message)


def _seconds(overlap: Overlap, point: CasePoint) -> float:
    return overlap.end_or(point.case.history.events[-1].at) - overlap.from_at


def _length(overlap: Overlap, point: CasePoint) -> str:
    end = "the end" if overlap.to_revision is None else overlap.to_revision
    seconds = max(0.0, _seconds(overlap, point))
    return f"{seconds:.2f} s (revisions {overlap.from_revision} to {end})"


def _finding(overlap: Overlap, point: CasePoint, verdict: Verdict, message: str) -> Finding:
    case, seconds = point.case, _seconds(overlap, point)
    ordered = case.history.header.total_order
    if verdict is Verdict.VIOLATES and not ordered and seconds < case.bounds.out_of_order:
        # Without one order of all kinds, what arrived in this order need not have happened in it.
        verdict = Verdict.UNKNOWN
    return finding(
        _NAME,
        verdict,
        overlap.row.stale[0],
        message,
        graph=overlap.graph,
        step=point.last_step,
        first_at=overlap.from_at,
        last_at=overlap.end_or(case.history.events[-1].at),
        **_evidence(overlap.row),
        from_revision=overlap.from_revision,
        to_revision=overlap.to_revision,
        seconds=round(seconds, 3),
    )


def _evidence(row: Together) -> dict[str, object]:
    return {
        "service": row.service.name,
        "what": str(row.what),
        "stale": [subject(obj) for obj in row.stale],
        "kept": [subject(obj) for obj in row.kept],
    }
