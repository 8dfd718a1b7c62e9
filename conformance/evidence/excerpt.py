"""The stretch of a history that a judgement is about: which checkpoint, from when, until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.history.history import History
from conformance.history.records import Checkpoint, Step
from conformance.model.state import State
from conformance.model.verdict import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """One checkpoint with its steps. Times are seconds since the epoch.

    `zero` is the API's answer to the last step: the instant at which the deadline began. `checkpoint`
    is None if the case ended before any checkpoint.
    """

    checkpoint: Checkpoint | None
    steps: tuple[Step, ...]
    start: float
    end: float
    zero: float
    before: State
    after: State


def excerpt_of(history: History, finding: Finding | None = None) -> Excerpt:
    """What a finding is about: the checkpoint that judges its step, else the one at whose time it was
    last seen, else the last judged one."""
    checkpoint = _checkpoint(history, finding)
    steps = tuple(history.steps_of(checkpoint)) if checkpoint else tuple(history.steps)
    times = [event.at for event in history.events]
    first = min((step.sent_at for step in steps), default=min(times, default=0.0))
    zero = checkpoint.since if checkpoint else max((s.answered_at for s in steps), default=first)
    end = checkpoint.at if checkpoint else max([*times, zero])
    earlier = history.checkpoint_before(checkpoint) if checkpoint else None
    before = history.at_checkpoint(earlier) if earlier else history.at_time(first)
    after = history.at_checkpoint(checkpoint) if checkpoint else history.at_time(end)
    inside = namespaces(history)
    return Excerpt(
        checkpoint=checkpoint,
        steps=steps,
        start=first,
        end=end,
        zero=zero,
        before=_within(before, inside),
        after=_within(after, inside),
    )


def namespaces(history: History) -> set[str]:
    """The namespaces that the case worked in."""
    return {history.namespace, *(step.namespace for step in history.steps if step.namespace)}


def _within(state: State, names: Iterable[str]) -> State:
    objects = (obj for obj in state if obj.namespace in names)
    return State(objects, revision=state.revision, at=state.at)


def _checkpoint(history: History, finding: Finding | None) -> Checkpoint | None:
    checkpoints = history.checkpoints
    if finding is not None and finding.step:
        judging = checkpoint_of(history, finding.step)
        if judging is not None:
            return judging
    elif finding is not None and finding.last_at is not None:
        for checkpoint in checkpoints:
            if finding.last_at <= checkpoint.at:
                return checkpoint
    judged = [checkpoint for checkpoint in checkpoints if checkpoint.judged] or checkpoints
    return judged[-1] if judged else None


def checkpoint_of(history: History, step: str) -> Checkpoint | None:
    """The checkpoint that judges the step of that name."""
    return next((one for one in history.checkpoints if step in one.steps), None)


def matched_after(step: Step, checkpoint: Checkpoint | None) -> float | None:
    """Seconds from the API's answer until everything matched; None if it never did."""
    if checkpoint is None or checkpoint.reached_at is None:
        return None
    return max(0.0, checkpoint.reached_at - step.answered_at)


def offset(seconds: float) -> str:
    """A time relative to the API's answer, `+1.20 s`, in ten columns."""
    # A negative zero would be printed as -0.00.
    return f"{round(seconds, 2) + 0.0:+8.2f} s"
