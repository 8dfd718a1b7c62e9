"""The stretch of a history that a judgement is about: which checkpoint, from when, until when."""

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

    def covers(self, at: float, *, slack: float = 0.0) -> bool:
        """True if the time is in this stretch, or up to `slack` seconds later."""
        return self.start <= at <= self.end + slack


def excerpt_of(history: History, finding: Finding | None = None) -> Excerpt:
    """What a finding is about: the checkpoint that judges its step, else the one at whose time it was
    last seen, else the last judged one."""
    checkpoint = _checkpoint(history, finding)
    steps = tuple(history.steps_of(checkpoint)) if checkpoint else tuple(history.steps)
    times = [event.at for event in history.events]
    start = min((step.sent_at for step in steps), default=min(times, default=0.0))
    zero = checkpoint.since if checkpoint else max((s.answered_at for s in steps), default=start)
    end = checkpoint.at if checkpoint else max([*times, zero])
    earlier = history.checkpoint_before(checkpoint) if checkpoint else None
    inside = namespaces(history)

    def state(at: Checkpoint | None, time: float) -> State:
        whole = history.at_checkpoint(at) if at else history.at_time(time)
        objects = (obj for obj in whole if obj.namespace in inside)
        return State(objects, revision=whole.revision, at=whole.at)

    return Excerpt(
        checkpoint=checkpoint,
        steps=steps,
        start=start,
        end=end,
        zero=zero,
        before=state(earlier, start),
        after=state(checkpoint, end),
    )


def namespaces(history: History) -> set[str]:
    """The namespaces that the case worked in."""
    return {history.namespace, *(step.namespace for step in history.steps if step.namespace)}


def _checkpoint(history: History, finding: Finding | None) -> Checkpoint | None:
    found = None
    if finding is not None and finding.step:
        found = checkpoint_of(history, finding.step)
    elif finding is not None and finding.last_at is not None:
        found = next((one for one in history.checkpoints if finding.last_at <= one.at), None)
    judged = [one for one in history.checkpoints if one.judged] or history.checkpoints
    return found or next(reversed(judged), None)


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


def shortened(text: str, width: int) -> str:
    """At most `width` characters of the text, the last one `…` if there were more."""
    return text if len(text) <= width else text[: width - 1] + "…"
