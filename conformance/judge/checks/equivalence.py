"""Equivalence: what transitions reach equals a fresh deploy of the same graph; A→B→A is A. What may
differ stands in `compare/masks.py`."""

from collections.abc import Iterator
from typing import Any

from conformance.history.records import Fresh, Step
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
    findings = [one for fresh in case.history.fresh for one in _with_fresh(case, fresh)]
    looked_at = len(case.history.fresh)
    pair = _return(case)
    if pair is not None:
        first, last = pair
        looked_at += len(last.graphs)
        between = (step.name for step in _steps(first, last))
        since = f"what it was before {join(between, most=4)}"
        for graph in last.graphs:
            findings += _compare(last, graph, _ours(first, graph), since)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _settled(point: CasePoint) -> bool:
    return point.held and not point.checkpoint.blocked


def _steps(first: CasePoint, last: CasePoint) -> list[Step]:
    return [step for step in last.case.history.steps if first.at <= step.sent_at < last.at]


def _return(case: Case) -> tuple[CasePoint, CasePoint] | None:
    """The last judged checkpoint that held, and the first one that had the same graphs, if a step went
    away from them (or might have) in between."""
    last = next((point for point in reversed(case.judged) if _settled(point)), None)
    if last is None or not last.graphs:
        return None
    now = last.checkpoint
    for first in case.points:
        then, steps = first.checkpoint, _steps(first, last)
        same = (then.graphs, then.components) == (now.graphs, now.components)
        acted = any(took(step) or ChangeKind.OPERATOR in step.kinds for step in steps)
        if first.at < last.at and same and _settled(first) and acted:
            return first, last
    return None


def _unknown(graph: str, message: str, at: float | None = None) -> Finding:
    return finding(_NAME, Verdict.UNKNOWN, graph, message, graph=graph, last_at=at)


def _with_fresh(case: Case, fresh: Fresh) -> Iterator[Finding]:
    name, fingerprint = fresh.graph.name, fresh.graph.fingerprint()
    alike = (
        (point, graph)
        for point in reversed(case.judged)
        for graph in point.graphs
        if graph.fingerprint() == fingerprint and _settled(point)
    )
    point, graph = next(alike, (None, fresh.graph))
    if fresh.problem:
        yield _unknown(name, f"No fresh deploy of {name} to compare with was had: {fresh.problem}")
    elif point is None:
        text = f"The case has a fresh deploy of {name} to compare with, but no judged checkpoint at"
        yield _unknown(name, f"{text} which that graph was reached and held")
    elif graph.name != name:
        text = f"The fresh deploy is named {name} and the graph {graph.name}, so names derived from"
        yield _unknown(graph.name, f"{text} them cannot be compared")
    else:
        state = State(Obj(raw) for raw in fresh.objects)
        theirs = _canonical(point, graph, state, fresh.namespace)
        yield from _compare(point, graph, theirs, "a fresh deploy of the same graph")


def _ours(point: CasePoint, graph: Graph) -> Canonical:
    """The graph's objects without what others put there, of which no fresh deploy knows."""
    case = point.case
    own = State(obj for obj in point.state if obj.uid not in case.foreign)
    return _canonical(point, graph, own, case.namespace)


def _canonical(point: CasePoint, graph: Graph, state: State, namespace: str) -> Canonical:
    return canonical(
        state, graph=graph.name, namespace=namespace, profile=point.case.profile,
        component=graph in point.checkpoint.components,
    )  # fmt: skip


def _compare(point: CasePoint, graph: Graph, theirs: Canonical, since: str) -> Iterator[Finding]:
    ours = _ours(point, graph)
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
    number = len(unlike.left)
    if number != len(unlike.right):
        ours, theirs = (join(names, most=4) or "none" for names in (unlike.left, unlike.right))
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
