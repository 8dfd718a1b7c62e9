"""Equivalence: what transitions reach equals a fresh deploy of the same graph; A→B→A is A.

Compared is the last judged checkpoint that was held. What may differ stands in `compare/masks.py`, as
data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.history.records import Fresh
from conformance.judge.case import Case, CasePoint
from conformance.judge.compare.canonical import Canonical, Unlike, canonical, differences
from conformance.judge.findings import CheckResult, finding
from conformance.judge.steps import took
from conformance.judge.wording import count, join
from conformance.model.graph import Graph
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.EQUIVALENCE


def check(case: Case) -> CheckResult:
    """Compare with fresh deploys, and with the first checkpoint that had the same graphs."""
    findings: list[Finding] = []
    looked_at = 0
    for fresh in case.history.fresh:
        looked_at += 1
        findings += _with_fresh(case, fresh)
    pair = _return(case)
    if pair is not None:
        first, last = pair
        for graph, component in _graphs(last):
            looked_at += 1
            findings += _with_first(case, first, last, graph, component=component)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _settled(point: CasePoint) -> bool:
    return point.held and not point.checkpoint.blocked


def _graphs(point: CasePoint) -> Iterator[tuple[Graph, bool]]:
    yield from ((graph, False) for graph in point.checkpoint.graphs)
    yield from ((graph, True) for graph in point.checkpoint.components)


def _unknown(graph: str, message: str, at: float | None = None) -> Finding:
    return finding(_NAME, Verdict.UNKNOWN, graph, message, graph=graph, last_at=at)


# A fresh deploy -------------------------------------------------------------------------------


def _with_fresh(case: Case, fresh: Fresh) -> Iterator[Finding]:
    name = fresh.graph.name
    if fresh.problem:
        yield _unknown(name, f"No fresh deploy of {name} to compare with was had: {fresh.problem}")
        return
    for point in reversed(case.judged):
        for graph, component in _graphs(point):
            if graph.fingerprint() == fresh.graph.fingerprint() and _settled(point):
                yield from _compare_fresh(case, point, graph, fresh, component=component)
                return
    text = (
        f"The case has a fresh deploy of {name} to compare with, but no judged checkpoint at which"
    )
    yield _unknown(name, f"{text} that graph was reached and held")


def _compare_fresh(
    case: Case, point: CasePoint, graph: Graph, fresh: Fresh, *, component: bool
) -> Iterator[Finding]:
    if graph.name != fresh.graph.name:
        text = f"The fresh deploy is named {fresh.graph.name} and the graph {graph.name}, so names"
        yield _unknown(graph.name, f"{text} derived from them cannot be compared")
        return
    theirs = canonical(
        State(Obj(raw) for raw in fresh.objects),
        graph=graph.name, namespace=fresh.namespace, profile=case.profile, component=component,
    )  # fmt: skip
    ours = _ours(case, point, graph, component=component)
    yield from _compare(ours, theirs, graph, point, since="a fresh deploy of the same graph")


# There and back -------------------------------------------------------------------------------


def _return(case: Case) -> tuple[CasePoint, CasePoint] | None:
    """The last judged checkpoint that held, and the first one that had the same graphs, if a step went
    away from them (or might have) in between."""
    last = next((point for point in reversed(case.judged) if _settled(point)), None)
    if last is None or not last.graphs:
        return None
    wanted = list(_graphs(last))
    for first in case.points:
        if first.at >= last.at:
            return None
        between = (s for s in case.history.steps if first.at <= s.sent_at < last.at)
        acted = any(took(step) or ChangeKind.OPERATOR in step.kinds for step in between)
        if list(_graphs(first)) == wanted and _settled(first) and acted:
            return first, last
    return None


def _with_first(
    case: Case, first: CasePoint, last: CasePoint, graph: Graph, *, component: bool
) -> Iterator[Finding]:
    now = _ours(case, last, graph, component=component)
    then = _ours(case, first, graph, component=component)
    steps = [step.name for step in case.history.steps if first.at <= step.sent_at < last.at]
    since = f"what it was before {join(steps, most=4)}"
    yield from _compare(now, then, graph, last, since=since)


# Comparing ------------------------------------------------------------------------------------


def _ours(case: Case, point: CasePoint, graph: Graph, *, component: bool) -> Canonical:
    """The graph's objects without what others put there, of which no fresh deploy knows."""
    return canonical(
        State(obj for obj in point.state if obj.uid not in case.foreign),
        graph=graph.name, namespace=case.namespace, profile=case.profile, component=component,
    )  # fmt: skip


def _compare(
    ours: Canonical, theirs: Canonical, graph: Graph, point: CasePoint, *, since: str
) -> Iterator[Finding]:
    if not ours.objects or not theirs.objects:
        side = "now" if not ours.objects else "in what it is compared with"
        text = f"No object of {graph.name} was recorded {side}, so nothing was compared at"
        yield _unknown(graph.name, f"{text} {point.name}", point.at)
        return
    for unlike in differences(ours, theirs):
        yield finding(
            _NAME, Verdict.VIOLATES, f"{unlike.kind}/{(unlike.left or unlike.right)[0]}",
            _sentence(unlike, since),
            graph=graph.name, last_at=point.at,
            fields={path: list(values) for path, values in unlike.fields.items()},
            ours=unlike.left, other=unlike.right,
        )  # fmt: skip


def _sentence(unlike: Unlike, since: str) -> str:
    if len(unlike.left) != len(unlike.right):
        ours, theirs = (join(names, most=4) or "none" for names in (unlike.left, unlike.right))
        number = len(unlike.left)
        verb = "is" if number == 1 else "are"
        return (
            f"There {verb} {count(number, unlike.kind)} where {since} has {len(unlike.right)}: "
            f"{ours} here, {theirs} there"
        )
    texts = (
        f"{path} ({_value(left)} here, {_value(right)} there)"
        for path, (left, right) in unlike.fields.items()
    )
    return f"{unlike.kind} {unlike.left[0]} differs from {since} in {join(texts)}"


def _value(value: Any) -> str:
    return "absent" if value is None else repr(value)
