"""What keeps a claim from being proven: gaps in the record, lists that disagree with it, interruptions,
and graphs of which nothing was recorded. All of it is `unknown`, never a pass."""

from __future__ import annotations

from conformance.history.records import Gap
from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.findings import finding
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.verdict import CheckerName, Finding, Verdict


def unknown(
    checker: CheckerName, about: str, message: str, point: CasePoint | None = None
) -> Finding:
    """A finding that says that something could not be told."""
    step = point.last_step if point is not None else ""
    at = point.at if point is not None else None
    return finding(checker, Verdict.UNKNOWN, about, message, step=step, last_at=at)


def missed(gap: Gap) -> str:
    """`the record has a gap for Pod (the watch expired)`."""
    return f"the record has a gap for {gap.kind or 'every kind'} ({gap.reason})"


def doubts(
    case: Case, checker: CheckerName, point: CasePoint, window: Window, *, claim: str
) -> list[Finding]:
    """Why `claim` ("nothing was written") cannot be proven in the window: a gap in the record, a
    list that disagreed with it, or an interrupted wait. Empty if it can."""
    reasons = []
    if point.interrupted:
        reasons.append("the wait was interrupted, because the platform or the operator failed")
    gap = case.gap_in(window)
    if gap is not None:
        reasons.append(missed(gap))
    for kind, difference in point.checkpoint.disagreed.items():
        reasons.append(f"the record of {kind} disagreed with a list at the end ({difference})")
    return [
        finding(
            checker, Verdict.UNKNOWN, point.name,
            f"It cannot be told whether {claim} until {point.name}: {reason}",
            first_at=window.start, last_at=window.end,
        )
        for reason in reasons
    ]  # fmt: skip


def blind_spots(case: Case, checker: CheckerName) -> list[Finding]:
    """UNKNOWN findings for what a checker of states could not see: nothing recorded, or a gap."""
    if not case.seen:
        return [unknown(checker, "history", "no checkpoint was reached, so nothing is proven")]
    found = []
    for point in case.seen:
        missing = _unrecorded(point)
        if missing:
            text = f"nothing of {missing} was recorded until {point.name}: nothing is proven"
            found.append(unknown(checker, "history", text, point))
        gap = case.gap_in(point.way)
        if gap is not None:
            text = f"{missed(gap)} before {point.name}, so changes may have been missed"
            found.append(unknown(checker, "history", text, point))
    return found


def _unrecorded(point: CasePoint) -> str:
    """The first wanted graph or component of which the recorder never saw anything."""
    history = point.case.history
    seen = {
        (life.last.kind, life.last.name)
        for life in history.lives.values()
        if life.last.namespace == history.namespace
    }
    for kind, graphs in (
        (GRAPH_KIND, point.checkpoint.graphs),
        (COMPONENT_KIND, point.checkpoint.components),
    ):
        for graph in graphs:
            if (kind, graph.name) not in seen:
                return f"{kind} {graph.name}"
    return ""
