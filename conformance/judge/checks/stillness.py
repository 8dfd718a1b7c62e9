"""Steps that must move nothing: no-op, annotation only, idling. Part of `quiescence`."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.history import History
from conformance.history.records import Checkpoint, Step
from conformance.judge.checks.words import by, named, seconds, subject
from conformance.judge.state.changes import Act, Part
from conformance.judge.state.writes import is_operators_kind, log_of
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE
_MOVING = {ChangeKind.DELETE, ChangeKind.OPERATOR, ChangeKind.DEPLOY, ChangeKind.ILLEGAL}


def owner_of(obj: Obj) -> str:
    """` (controlled by Kind name)`, or nothing."""
    reference = obj.controller
    return f" (controlled by {reference.get('kind')} {reference.get('name')})" if reference else ""


def still_steps(history: History, checkpoint: Checkpoint) -> Iterator[Finding]:
    """Moved generations and rewritten children after steps that change nothing."""
    steps = history.steps_of(checkpoint)
    for step in steps:
        idle = step.code == 0 and ChangeKind.NO_OP in step.kinds
        still = not step.moves_generation and not set(step.kinds) & _MOVING
        if not still or not (step.accepted or idle):
            continue
        later = [other.sent_at for other in steps if other.sent_at > step.sent_at]
        end = min([*later, checkpoint.at])
        if step.accepted and step.moved:
            yield _generation(step)
        yield from _rewritten(history, step, end)


def _generation(step: Step) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES,
        subject=f"{step.target_kind}/{step.target}",
        message=f"{step.name} changed nothing of the spec of {step.target}, but moved its "
        f"generation from {step.generation_before} to {step.generation_after}.",
        graph=step.target,
        step=step.name,
        first_at=step.answered_at,
    )


def _rewritten(history: History, step: Step, end: float) -> Iterator[Finding]:
    """Specs that the operator wrote, and children it made or deleted, after such a step."""
    log = log_of(history)
    for change in log.changes(step.sent_at, end):
        if change.act is Act.GONE or not is_operators_kind(change.obj):
            continue
        if change.act is Act.CHANGED and Part.SPEC not in change.parts:
            continue
        writer = log.writer(change)
        if writer not in (Actor.OPERATOR, Actor.UNKNOWN):
            continue
        verb = "changed the spec of" if change.act is Act.CHANGED else str(change.act)
        yield Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN,
            subject=subject(change.obj),
            message=f"{by(writer).capitalize()} {verb} {named(change.obj)}{owner_of(change.obj)} "
            f"{seconds(change.at - step.sent_at)} after {step.name}, which changes nothing.",
            graph=step.target,
            step=step.name,
            first_at=change.at,
            evidence={"change": str(change)},
        )
