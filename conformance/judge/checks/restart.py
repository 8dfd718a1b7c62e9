"""Restart: an operator that was stopped, killed or started again ends in the same state, and rolls
nothing that it need not.

A restart alone, at rest, rewrites no child at all. Together with a change, the services that the
change does not touch keep their pods. That the state is right is judged by size, coexistence
and equivalence as always; here the operator must have come back in time to be judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    OperatorEvent,
    OperatorEventKind,
    Step,
)
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.budget import touched
from conformance.judge.checks.family import Place, family_of, foreign_uids
from conformance.judge.checks.promises import took
from conformance.judge.checks.windows import Window, doubts, judged_checkpoints, window
from conformance.judge.checks.words import by, listing, named, origin, plural, seconds, subject
from conformance.judge.state.changes import Act, Change, Part, content
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.RESTART
_ENDED = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED)
_BACK = (OperatorEventKind.STARTED, OperatorEventKind.READY)


def check(history: History) -> CheckResult:
    """Judge every checkpoint before which the suite stopped, killed or started the operator."""
    findings: list[Finding] = []
    looked_at = 0
    for checkpoint in judged_checkpoints(history):
        start = _began(history, checkpoint)
        if start is None:
            continue
        looked_at += 1
        within = window(history, start, checkpoint.at)
        seen = [*_back(history, checkpoint, start), *_unheld(checkpoint, start)]
        seen += _rolled(history, checkpoint, within)
        if not _changes(history, checkpoint):
            seen += _rewritten(history, checkpoint, within)
        if not any(finding.gates for finding in seen):
            seen += doubts(
                history, _NAME, checkpoint, within, claim="the restarted operator rolled nothing"
            )
        findings += seen
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _began(history: History, checkpoint: Checkpoint) -> float | None:
    """When the restart thjust now judges began; None if there was none."""
    before = history.checkpoint_before(checkpoint)
    since = before.at if before else history.header.started_at
    times = [s.sent_at for s in history.steps_of(checkpoint) if ChangeKind.OPERATOR in s.kinds]
    times += [e.at for e in _ends(history) if since < e.at <= checkpoint.at]
    return min(times, default=None)


def _ends(history: History) -> list[OperatorEvent]:
    return [event for event in history.operator_events if event.kind in _ENDED]


def _changes(history: History, checkpoint: Checkpoint) -> list[Step]:
    """Accepted steps beside the restart that change something."""
    return [
        step
        for step in history.steps_of(checkpoint)
        if took(step) and (step.moves_generation or ChangeKind.DELETE in step.kinds)
    ]


def _finding(
    checkpoint: Checkpoint, verdict: Verdict, message: str, about: str, start: float
) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=verdict,
        subject=about,
        message=message,
        step=checkpoint.steps[0] if checkpoint.steps else "",
        first_at=start,
        last_at=checkpoint.at,
    )


# Whether there is anything to judge -----------------------------------------------------------


def _back(history: History, checkpoint: Checkpoint, start: float) -> Iterator[Finding]:
    ended = [e.at for e in _ends(history) if start - 1.0 <= e.at <= checkpoint.at]
    back = [
        e.at
        for e in history.operator_events
        if e.kind in _BACK and start - 1.0 <= e.at <= checkpoint.at
    ]
    about = f"operator/{history.header.operator}"
    if not ended and not back:
        text = "was to be restarted, but the history has no sign that it ended or started"
    elif ended and (not back or max(back) < max(ended)):
        text = "was ended by the suite and has not been started again"
    else:
        return
    yield _finding(
        checkpoint, Verdict.UNKNOWN, f"The operator {text} until {checkpoint.name}.", about, start
    )


def _unheld(checkpoint: Checkpoint, start: float) -> Iterator[Finding]:
    if checkpoint.end is CheckpointEnd.DEADLINE and checkpoint.reached_at is None:
        yield _finding(
            checkpoint,
            Verdict.UNKNOWN,
            f"The state after the restart did not match until {checkpoint.name}, so what the operator "
            "rolls for it is not known; the mismatch is reported by its own checker.",
            checkpoint.name,
            start,
        )


# What it rolled -------------------------------------------------------------------------------


def _rolled(history: History, checkpoint: Checkpoint, within: Window) -> Iterator[Finding]:
    """Pods of services that no step touched and that are not the same pods any more."""
    family = family_of(history)
    changing = touched(_changes(history, checkpoint))
    base, now = history.at(within.after_revision), history.at_checkpoint(checkpoint)
    lost: dict[Place, list[Obj]] = {}
    for pod in base.of_kind("Pod"):
        place = family.place(pod.uid) if pod.namespace == history.namespace else None
        if place is None or place in changing or pod.deleting:
            continue
        present = now.get(pod.uid)
        if present is None or present.deleting:
            lost.setdefault(place, []).append(pod)
    for place, pods in lost.items():
        causes = _causes(history, pods, within)
        why = "; nothing above them was written, so this is the platform's doing"
        if causes:
            change, writer = causes[0]
            late = seconds(change.at - within.start)
            why = f"; {by(writer)} wrote {change} {late} after it"
        yield _finding(
            checkpoint,
            Verdict.VIOLATES if causes else Verdict.UNKNOWN,
            f"{plural(len(pods), 'pod')} of service {place.service} of {place.graph} did not "
            f"outlive the operator's restart, which does not touch that service: "
            f"{listing(pod.name for pod in pods)}{why}.",
            place.service,
            within.start,
        )


def _causes(history: History, pods: list[Obj], within: Window) -> list[tuple[Change, Actor]]:
    log, family = log_of(history), family_of(history)
    chain = {o.uid: o for pod in pods for o in family.chain(pod.uid)}
    found = []
    for change in log.changes(within.start, within.end):
        if change.obj.uid not in chain or not change.weighs:
            continue
        writer = log.writer(change)
        unclear = writer is Actor.UNKNOWN and change.obj.kind not in PLATFORM_KINDS
        if writer is Actor.OPERATOR or unclear:
            found.append((change, writer))
    return found


def _rewritten(history: History, checkpoint: Checkpoint, within: Window) -> Iterator[Finding]:
    """After a restart at rest: no child is made, deleted or given another spec. A change of labels
    or annotations alone is reported; it is what a new version may do once (fault F93)."""
    log = log_of(history)
    base = history.at(within.after_revision)
    for change in log.changes(within.start, within.end):
        obj = change.obj
        ours = obj.kind not in PLATFORM_KINDS and obj.kind != "Event"
        if not ours or not change.weighs or obj.uid in foreign_uids(history):
            continue
        writer = log.writer(change)
        if writer not in (Actor.OPERATOR, Actor.UNKNOWN):
            continue
        spec = Part.SPEC in change.parts or change.act is not Act.CHANGED
        if writer is Actor.UNKNOWN and not (spec and _of_graph(obj)):
            continue
        verdict = Verdict.CONFORMS
        if spec:
            verdict = Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN
        verb = "changed" if change.act is Act.CHANGED else str(change.act)
        parts = listing(p for p in change.parts if p is not Part.STATUS)
        what = f"the {parts} of " if change.act is Act.CHANGED else ""
        still = "" if spec else "; no spec was written, so this does not gate"
        yield Finding(
            checker=_NAME,
            verdict=verdict,
            subject=subject(obj),
            message=f"{by(writer).capitalize()} {verb} {what}{named(obj)} "
            f"{seconds(change.at - within.start)} after the restart began, though nothing had "
            f"changed; it is {origin(history, base, obj)}{still}.",
            step=checkpoint.steps[0] if checkpoint.steps else "",
            first_at=change.at,
            evidence={
                "change": str(change),
                "before": dict(content(change.before)) if change.before else None,
                "after": dict(content(obj)),
            },
        )


def _of_graph(obj: Obj) -> bool:
    owners = {owner.get("kind") for owner in obj.owners}
    return obj.kind in (GRAPH_KIND, COMPONENT_KIND) or bool(owners & {GRAPH_KIND, COMPONENT_KIND})
