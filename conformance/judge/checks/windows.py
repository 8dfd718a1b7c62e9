"""Stretches of a history that a claim is about, and what makes a claim about them unprovable."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Gap, Step
from conformance.model.verdict import CheckerName, Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time (epoch seconds, `start` < t <= `end`) with the revisions it covers."""

    start: float
    end: float
    after_revision: int
    until_revision: int


def window(history: History, start: float, end: float) -> Window:
    """The window between two times."""
    return Window(
        start=start,
        end=end,
        after_revision=history.revision_at(start),
        until_revision=history.revision_at(end),
    )


def judged_checkpoints(history: History) -> list[Checkpoint]:
    """The checkpoints that count; arranging ones do not."""
    return [checkpoint for checkpoint in history.checkpoints if checkpoint.judged]


def hold_window(history: History, checkpoint: Checkpoint) -> Window:
    """The hold window that ends at the checkpoint. Where the driver gave none, the bound's."""
    hold = checkpoint.hold or history.bounds.hold
    return window(history, checkpoint.at - hold, checkpoint.at)


def work_window(history: History, checkpoint: Checkpoint) -> Window:
    """From the checkpoint's first step to the checkpoint; without steps the hold window."""
    steps = history.steps_of(checkpoint)
    if not steps:
        return hold_window(history, checkpoint)
    return window(history, steps[0].sent_at, checkpoint.at)


def gap_in(history: History, within: Window) -> Gap | None:
    """The first gap that touches the window, by its time or by the revisions it covers."""
    for gap in history.gaps:
        in_time = within.start <= gap.at <= within.end
        overlaps = gap.from_revision < within.until_revision
        in_revisions = gap.to_revision > within.after_revision and overlaps
        if in_time or in_revisions:
            return gap
    return None


def checkpoint_of(history: History, step: Step) -> Checkpoint | None:
    """The checkpoint that judges a step."""
    return next((m for m in history.checkpoints if step.name in m.steps), None)


def doubts(
    history: History, checker: CheckerName, checkpoint: Checkpoint, within: Window, *, claim: str
) -> list[Finding]:
    """Why `claim` ("nothing was written") cannot be proven in the window: a gap in the record, a
    list that disagreed with it, or an interrupted wait. Empty if it can."""
    reasons = []
    if checkpoint.end is CheckpointEnd.INTERRUPTED:
        reasons.append("the wait was interrupted, because the platform or the operator failed")
    gap = gap_in(history, within)
    if gap is not None:
        what = gap.kind or "every kind"
        reasons.append(f"the record has a gap for {what} ({gap.reason})")
    for kind, difference in checkpoint.disagreed.items():
        reasons.append(f"the record of {kind} disagreed with a list at the end ({difference})")
    return [
        Finding(
            checker=checker,
            verdict=Verdict.UNKNOWN,
            subject=checkpoint.name,
            message=f"It cannot be told whether {claim} until {checkpoint.name}: {reason}.",
            first_at=within.start,
            last_at=within.end,
        )
        for reason in reasons
    ]
