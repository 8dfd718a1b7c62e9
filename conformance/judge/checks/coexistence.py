"""Coexistence: two kinds of workload, or two generations, of one service.

At rest never. Until the deadline the declared overlap policy decides, and an allowed overlap is
reported with its exact length. Past it only a rollout that the status reports, within its declared
bound, excuses two generations, and then nothing is proven.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.history import History
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import blind_spots
from conformance.judge.checks.deeds import deed
from conformance.judge.checks.looks import Look, looks, others_of, relevant
from conformance.judge.checks.overlaps import Overlap, overlaps
from conformance.judge.checks.sentences import elapsed, origin
from conformance.judge.state.coexistence import Doubling, Together, doublings
from conformance.judge.state.words import call, listed, subject
from conformance.model.profile import Rollout
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

NAME = CheckerName.COEXISTENCE


def check(history: History) -> CheckResult:
    """What coexisted at a checkpoint, in a rest after one, and on the way there."""
    seen = looks(history)
    findings = [f for look in seen for f in _at_checkpoint(look)]
    reported = {(finding.step, finding.graph, finding.evidence["service"]) for finding in findings}
    for overlap in overlaps(history, others_of(history)):
        findings += _in_time(overlap, history, seen, reported)
    return CheckResult(
        checker=NAME,
        findings=(*findings, *blind_spots(history, seen, NAME)),
        looked_at=len(seen),
    )


def _at_checkpoint(look: Look) -> Iterable[Finding]:
    for row in doublings(look.view):
        rollout = _rollout(look, row)
        still = f"{listed(map(call, row.stale))}{_of_service(look, row)} still {_exist(row.stale)}"
        told = origin(look.history, look.view.state, (*row.stale, *row.kept))
        message = f"{still} {elapsed(look, row.part.name)}; {told}"
        if rollout is not None:
            message += f"; {'.'.join(rollout.path)} says that a rollout is in progress"
        yield Finding(
            checker=NAME,
            verdict=Verdict.VIOLATES if rollout is None else Verdict.UNKNOWN,
            subject=subject(row.stale[0]),
            message=message,
            graph=row.part.graph.name,
            step=look.checkpoint.steps[-1] if look.checkpoint.steps else "",
            first_at=_began(look.history, (*row.stale, *row.kept)),
            last_at=look.checkpoint.at,
            evidence=_evidence(row),
        )


def _of_service(look: Look, row: Together) -> str:
    """Named unless the change names it already."""
    step = relevant(look.steps, row.part.name)
    told = step is not None and row.part.name in deed(step)
    return "" if told else f" of service {row.part.name}"


def _exist(objects: tuple[Obj, ...]) -> str:
    return "exists" if len(objects) == 1 else "exist"


def _began(history: History, objects: tuple[Obj, ...]) -> float | None:
    """When the last of them came to be, which is when they began to coexist."""
    created = [history.lives[obj.uid].created_at for obj in objects if obj.uid in history.lives]
    known = [at for at in created if at is not None]
    return max(known, default=None)


def _rollout(look: Look, row: Together) -> Rollout | None:
    """The rollout that the graph's status reports just now and that excuses two generations."""
    if row.what is Doubling.KINDS or look.held or row.part.root is None:
        return None
    root = row.part.root
    for rollout in look.history.profile.rollouts:
        if root.at(*rollout.path) not in rollout.values:
            continue
        since = _reported_since(look.history, root, rollout, look.checkpoint.revision)
        if look.checkpoint.at - since <= rollout.bound:
            return rollout
    return None


def _reported_since(history: History, root: Obj, rollout: Rollout, until: int) -> float:
    since = history.header.started_at
    reporting = False
    for event in history.lives[root.uid].events:
        if event.revision > until:
            break
        now = event.obj.at(*rollout.path) in rollout.values
        if now and not reporting:
            since = event.at
        reporting = now
    return since


def _in_time(
    overlap: Overlap, history: History, seen: list[Look], reported: set[tuple[str, str, str]]
) -> list[Finding]:
    findings = []
    last = history.events[-1].at
    for look in seen:
        step = look.checkpoint.steps[-1] if look.checkpoint.steps else ""
        if (step, overlap.graph, overlap.service) in reported:
            continue
        # Revisions decide where there is one order; the rest begins with what had arrived by then.
        if look.held and look.checkpoint.reached_at is not None:
            begin, end = look.checkpoint.reached_at, look.rests_until
            within = overlap.from_at < end and overlap.end_or(last + 1) > begin
            if within and _lasts(overlap, begin):
                findings.append(_at_rest(overlap, look, begin, last))
                continue
        if look.begins <= overlap.from_at <= look.checkpoint.at:
            findings.append(_on_the_way(overlap, look, last))
    return findings


def _lasts(overlap: Overlap, begin: float) -> bool:
    """True if it began in the rest, or lasted into it: an end that arrived an instant after the
    driver looked is the end of the transition, not a part of the rest."""
    return overlap.from_at > begin or overlap.to_at is None or overlap.to_at - begin > 0.05


def _length(overlap: Overlap, last: float) -> str:
    seconds = max(0.0, overlap.end_or(last) - overlap.from_at)
    end = overlap.to_revision
    revisions = f"revisions {overlap.from_revision} to {end if end is not None else 'the end'}"
    return f"{seconds:.2f} s ({revisions})"


def _at_rest(overlap: Overlap, look: Look, begin: float, last: float) -> Finding:
    row = overlap.row
    told = origin(look.history, overlap.state, (*row.stale, *row.kept))
    message = (
        f"{listed(map(call, row.stale))} of service {overlap.service} existed beside "
        f"{listed(map(call, row.kept))} for {_length(overlap, last)} at rest, "
        f"{max(0.0, overlap.from_at - begin):.1f} s after the state had been reached; {told}"
    )
    return _finding(overlap, look, Verdict.VIOLATES, message, last)


def _on_the_way(overlap: Overlap, look: Look, last: float) -> Finding:
    row, policy = overlap.row, look.history.profile.overlap
    step = relevant(look.steps, overlap.service)
    after = f" after {deed(step)}" if step else ""
    message = (
        f"{listed(map(call, row.stale))} of service {overlap.service} existed beside "
        f"{listed(map(call, row.kept))} for {_length(overlap, last)}{after}"
    )
    if policy.allowed:
        message += f"; the profile allows it until the deadline ({policy.reason})"
        return _finding(overlap, look, Verdict.CONFORMS, message, last)
    told = origin(look.history, overlap.state, (*row.stale, *row.kept))
    message += f", and the profile promises no overlap; {told}"
    return _finding(overlap, look, Verdict.VIOLATES, message, last)


def _finding(overlap: Overlap, look: Look, verdict: Verdict, message: str, last: float) -> Finding:
    seconds = overlap.end_or(last) - overlap.from_at
    header, tolerance = look.history.header, look.history.bounds.out_of_order
    if verdict is Verdict.VIOLATES and not header.total_order and seconds < tolerance:
        # Without one order of all kinds, what arrived in this order need not have happened in it.
        verdict = Verdict.UNKNOWN
    return Finding(
        checker=NAME,
        verdict=verdict,
        subject=subject(overlap.row.stale[0]),
        message=message,
        graph=overlap.graph,
        step=look.checkpoint.steps[-1] if look.checkpoint.steps else "",
        first_at=overlap.from_at,
        last_at=overlap.end_or(last),
        evidence={
            **_evidence(overlap.row),
            "from_revision": overlap.from_revision,
            "to_revision": overlap.to_revision,
            "seconds": round(seconds, 3),
        },
    )


def _evidence(row: Together) -> dict[str, object]:
    return {
        "service": row.part.name,
        "what": str(row.what),
        "stale": [subject(obj) for obj in row.stale],
        "kept": [subject(obj) for obj in row.kept],
    }
