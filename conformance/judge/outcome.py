"""How each step ended, from the history alone: reconciled, refused, blocked, or not to be told."""

from __future__ import annotations

from conformance.history.records import CheckpointEnd, Step
from conformance.judge.case import Case
from conformance.judge.state.match import mismatches
from conformance.judge.steps import answer_of
from conformance.model.answers import names_change
from conformance.model.transition import ChangeKind
from conformance.model.verdict import Outcome

# Their object changes in ways that are not a spec edit: deletion itself moves the generation.
_MAY_MOVE = frozenset({ChangeKind.DELETE, ChangeKind.OPERATOR})


def outcomes(case: Case) -> dict[str, Outcome]:
    """Name of each step → its outcome."""
    return {step.name: _outcome(step, case) for step in case.history.steps}


def is_superseded(step: Step, case: Case) -> bool:
    """True if an earlier refusal left the target as this step asks, so that it asks for nothing."""
    asks_nothing = step.moves_generation and step.before is not None and step.before == step.after
    if step.component or not asks_nothing or ChangeKind.ILLEGAL in step.kinds or step.moved:
        return False
    return any(
        earlier.target == step.target and answer_of(earlier).refused
        for earlier in case.history.steps
        if earlier.sent_at < step.sent_at
    )


def _outcome(step: Step, case: Case) -> Outcome:
    if is_superseded(step, case):
        return Outcome.NOT_APPLICABLE
    answered = _by_answer(step, case)
    if answered is not None:
        return answered
    point = case.point_of(step)
    if point is None or point.interrupted:
        return Outcome.INCONCLUSIVE
    missed = point.checkpoint.end is CheckpointEnd.DEADLINE
    if missed or any(not row.soft for row in point.mismatches):
        return Outcome.FAILED
    if point.checkpoint.blocked and mismatches(point.snapshot):
        return Outcome.BLOCKED
    return Outcome.RECONCILED


def _by_answer(step: Step, case: Case) -> Outcome | None:
    """What the API's answer alone decides; None if the checkpoint must tell."""
    if not step.request and not step.code:
        # The operator was stopped or started, or nothing was done on purpose: there is no answer. A
        # step that was meant to be sent and has neither is not understood.
        sends = step.moves_generation and ChangeKind.OPERATOR not in step.kinds
        return Outcome.INCONCLUSIVE if sends else None
    answer = answer_of(step)
    if answer.refused:
        words = case.profile.refusal_words
        named = names_change(answer, kinds=step.kinds, services=step.services, words=words)
        return Outcome.REFUSED if named else Outcome.FAILED
    if not answer.accepted:
        return Outcome.INCONCLUSIVE
    if step.moves_generation and not step.moved and step.before is not None:
        return Outcome.INCONCLUSIVE
    if not step.moves_generation and step.moved and not set(step.kinds) & _MAY_MOVE:
        return Outcome.FAILED
    return None
