"""How each step ended, from the history alone: reconciled, refused, blocked, or not to be told."""

from __future__ import annotations

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Step
from conformance.judge.checks.looks import Look, looks
from conformance.judge.state.match import mismatches
from conformance.model.answers import names_change, understand
from conformance.model.transition import ChangeKind
from conformance.model.verdict import Outcome

# Their object changes in ways that are not a spec edit: deletion itself moves the generation.
_MAY_MOVE = frozenset({ChangeKind.DELETE, ChangeKind.OPERATOR})


def outcomes(history: History) -> dict[str, Outcome]:
    """Name of each step → its outcome."""
    seen = {look.checkpoint.name: look for look in looks(history)}
    return {step.name: _outcome(step, history, seen) for step in history.steps}


def is_moot(step: Step, history: History) -> bool:
    """True if an earlier refusal left the target as this step asks, so that it asks for nothing."""
    asks_nothing = step.moves_generation and step.before is not None and step.before == step.after
    if step.component or not asks_nothing or ChangeKind.ILLEGAL in step.kinds or step.moved:
        return False
    return any(
        earlier.target == step.target and understand(earlier.code, earlier.answer).refused
        for earlier in history.steps
        if earlier.sent_at < step.sent_at
    )


def _outcome(step: Step, history: History, seen: dict[str, Look]) -> Outcome:
    if is_moot(step, history):
        return Outcome.NOT_APPLICABLE
    answered = _by_answer(step, history)
    if answered is not None:
        return answered
    checkpoint = checkpoint_of(step, history)
    if checkpoint is None or checkpoint.end is CheckpointEnd.INTERRUPTED:
        return Outcome.INCONCLUSIVE
    look = seen[checkpoint.name]
    if checkpoint.end is CheckpointEnd.DEADLINE or any(not row.soft for row in look.mismatches):
        return Outcome.FAILED
    if checkpoint.blocked and mismatches(look.view.sight):
        return Outcome.BLOCKED
    return Outcome.RECONCILED


def _by_answer(step: Step, history: History) -> Outcome | None:
    """What the API's answer alone decides; None if the checkpoint must tell."""
    if not step.request and not step.code:
        # The operator was stopped or started, or nothing was done on purpose: there is no answer. A
        # step that was meant to be sent and has neither is not understood.
        sends = step.moves_generation and ChangeKind.OPERATOR not in step.kinds
        return Outcome.INCONCLUSIVE if sends else None
    answer = understand(step.code, step.answer)
    if answer.refused:
        named = names_change(
            answer,
            kinds=step.kinds,
            services=step.services,
            words=history.profile.refusal_words,
        )
        return Outcome.REFUSED if named else Outcome.FAILED
    if not answer.accepted:
        return Outcome.INCONCLUSIVE
    if step.moves_generation and not step.moved and step.before is not None:
        return Outcome.INCONCLUSIVE
    if not step.moves_generation and step.moved and not set(step.kinds) & _MAY_MOVE:
        return Outcome.FAILED
    return None


def checkpoint_of(step: Step, history: History) -> Checkpoint | None:
    """The checkpoint that judges the step."""
    return next(
        (checkpoint for checkpoint in history.checkpoints if step.name in checkpoint.steps), None
    )
