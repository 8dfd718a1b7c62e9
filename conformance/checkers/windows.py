"""Stretches of a history that a claim is about, and what makes a claim about them unprovable."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.history.history import History
from conformance.history.records import Gap, Moment, MomentEnd, Step
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


def judged_moments(history: History) -> list[Moment]:
    """The verdict moments that count; arranging ones do not."""
    return [moment for moment in history.moments if moment.judged]


def hold_window(history: History, moment: Moment) -> Window:
    """The hold window that ends at the moment. Where the driver gave none, the bound's."""
    hold = moment.hold or history.bounds.hold
    return window(history, moment.at - hold, moment.at)


def work_window(history: History, moment: Moment) -> Window:
    """From the sending of the moment's first step to the moment; without steps the hold window."""
    steps = history.steps_of(moment)
    if not steps:
        return hold_window(history, moment)
    return window(history, steps[0].sent_at, moment.at)


def gap_in(history: History, within: Window) -> Gap | None:
    """The first gap that touches the window, by its time or by the revisions it covers."""
    for gap in history.gaps:
        in_time = within.start <= gap.at <= within.end
        overlaps = gap.from_revision < within.until_revision
        in_revisions = gap.to_revision > within.after_revision and overlaps
        if in_time or in_revisions:
            return gap
    return None


def moment_of(history: History, step: Step) -> Moment | None:
    """The moment that judges a step."""
    return next((m for m in history.moments if step.name in m.steps), None)


def doubts(
    history: History, checker: CheckerName, moment: Moment, within: Window, *, claim: str
) -> list[Finding]:
    """Why `claim` ("nothing was written") cannot be proven in the window: a gap in the record, a
    list that disagreed with it, or an interrupted wait. Empty if it can."""
    reasons = []
    if moment.end is MomentEnd.INTERRUPTED:
        reasons.append("the wait was interrupted, because the platform or the operator failed")
    gap = gap_in(history, within)
    if gap is not None:
        what = gap.kind or "every kind"
        reasons.append(f"the record has a gap for {what} ({gap.reason})")
    for kind, difference in moment.disagreed.items():
        reasons.append(f"the record of {kind} disagreed with a list at the end ({difference})")
    return [
        Finding(
            checker=checker,
            verdict=Verdict.UNKNOWN,
            subject=moment.name,
            message=f"It cannot be told whether {claim} until {moment.name}: {reason}.",
            first_at=within.start,
            last_at=within.end,
        )
        for reason in reasons
    ]
