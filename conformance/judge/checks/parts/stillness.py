"""Steps that must move nothing: no-op, annotation only, idling. Part of `quiescence`."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.records import Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act
from conformance.judge.findings import blame, finding
from conformance.judge.wording import by, noun, seconds
from conformance.judge.writers import of_graph
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


def still_steps(case: Case, point: CasePoint) -> Iterator[Finding]:
    """Moved generations and rewritten children after steps that change nothing."""
    for step in point.steps:
        idle = step.code == 0 and ChangeKind.NO_OP in step.kinds
        still = not step.moves_generation and not set(step.kinds) & _MOVING
        if not still or not (step.accepted or idle):
            continue
        later = [other.sent_at for other in point.steps if other.sent_at > step.sent_at]
        if step.accepted and step.moved:
            yield finding(
                _NAME, Verdict.VIOLATES, f"{step.target_kind}/{step.target}",
                f"{step.name} changed nothing of the spec of {step.target}, but moved its generation "
                f"from {step.generation_before} to {step.generation_after}",
                graph=step.target, step=step.name, first_at=step.answered_at,
            )  # fmt: skip
        yield from _rewritten(case, step, min([*later, point.at]))


def _rewritten(case: Case, step: Step, end: float) -> Iterator[Finding]:
    """Specs that the operator wrote, and children it made or deleted, after such a step."""
    for change in case.log.changes(step.sent_at, end):
        if not change.moves or not of_graph(change.obj):
            continue
        writer = case.log.writer(change)
        if writer not in (Actor.OPERATOR, Actor.UNKNOWN):
            continue
        verb = "changed the spec of" if change.act is Act.CHANGED else str(change.act)
        yield finding(
            _NAME, blame(writer), change.obj,
            f"{by(writer).capitalize()} {verb} {noun(change.obj)}{owner_of(change.obj)} "
            f"{seconds(change.at - step.sent_at)} after {step.name}, which changes nothing",
            graph=step.target, step=step.name, first_at=change.at, change=str(change),
        )  # fmt: skip
