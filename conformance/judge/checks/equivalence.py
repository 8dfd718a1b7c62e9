"""Equivalence: what transitions reach equals a fresh deploy of the same graph; A→B→A is A.

Compared is the last judged checkpoint that was held. What may differ stands in `masks`, as data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Fresh
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.canonical import Canonical, Unlike, canonical, differences
from conformance.judge.checks.family import foreign_uids
from conformance.judge.checks.promises import took
from conformance.judge.checks.words import listing, plural
from conformance.model.graph import Graph
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.EQUIVALENCE


def check(history: History) -> CheckResult:
    """Compare with fresh deploys, and with the first checkpoint that had the same graphs."""
    findings: list[Finding] = []
    looked_at = 0
    for fresh in history.fresh:
        looked_at += 1
        findings += _with_fresh(history, fresh)
    pair = _return(history)
    if pair is not None:
        first, last = pair
        for graph, component in _graphs(last):
            looked_at += 1
            findings += _with_first(history, first, last, graph, component=component)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _held(checkpoint: Checkpoint) -> bool:
    return checkpoint.end is CheckpointEnd.HELD and not checkpoint.blocked


def _graphs(checkpoint: Checkpoint) -> Iterator[tuple[Graph, bool]]:
    yield from ((graph, False) for graph in checkpoint.graphs)
    yield from ((graph, True) for graph in checkpoint.components)


def _unknown(graph: str, message: str, at: float | None = None) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.UNKNOWN,
        subject=graph,
        message=message,
        graph=graph,
        last_at=at,
    )


# A fresh deploy -------------------------------------------------------------------------------


def _with_fresh(history: History, fresh: Fresh) -> Iterator[Finding]:
    name = fresh.graph.name
    if fresh.problem:
        yield _unknown(name, f"No fresh deploy of {name} to compare with was had: {fresh.problem}.")
        return
    for checkpoint in reversed(history.checkpoints):
        for graph, component in _graphs(checkpoint):
            same = graph.fingerprint() == fresh.graph.fingerprint()
            if same and checkpoint.judged and _held(checkpoint):
                yield from _compare_fresh(history, checkpoint, graph, fresh, component=component)
                return
    yield _unknown(
        name,
        f"The case has a fresh deploy of {name} to compare with, but no judged checkpoint at which "
        "that graph was reached and held.",
    )


def _ours(history: History, checkpoint: Checkpoint) -> State:
    """The state without what others put there, of which no fresh deploy knows."""
    strangers = foreign_uids(history)
    return State(obj for obj in history.at_checkpoint(checkpoint) if obj.uid not in strangers)


def _compare_fresh(
    history: History, checkpoint: Checkpoint, graph: Graph, fresh: Fresh, *, component: bool
) -> Iterator[Finding]:
    theirs = _canonical(
        history,
        State(Obj(raw) for raw in fresh.objects),
        fresh.graph.name,
        namespace=fresh.namespace,
        component=component,
    )
    ours = _canonical(
        history,
        _ours(history, checkpoint),
        graph.name,
        namespace=history.namespace,
        component=component,
    )
    if graph.name != fresh.graph.name:
        yield _unknown(
            graph.name,
            f"The fresh deploy is named {fresh.graph.name} and the graph {graph.name}, so names "
            "derived from them cannot be compared.",
        )
        return
    yield from _compare(ours, theirs, graph, checkpoint, since="a fresh deploy of the same graph")


# There and back -------------------------------------------------------------------------------


def _return(history: History) -> tuple[Checkpoint, Checkpoint] | None:
    """The last judged checkpoint that held, and the first one that had the same graphs, if a step went
    away from them (or might have) in between."""
    judged = [
        checkpoint for checkpoint in history.checkpoints if checkpoint.judged and _held(checkpoint)
    ]
    if not judged:
        return None
    last = judged[-1]
    for first in history.checkpoints:
        if first.at >= last.at:
            return None
        same = (first.graphs, first.components) == (last.graphs, last.components)
        between = [s for s in history.steps if first.at <= s.sent_at < last.at]
        acted = any(took(step) or ChangeKind.OPERATOR in step.kinds for step in between)
        if same and _held(first) and acted and (last.graphs or last.components):
            return first, last
    return None


def _with_first(
    history: History, first: Checkpoint, last: Checkpoint, graph: Graph, *, component: bool
) -> Iterator[Finding]:
    sides = [
        _canonical(
            history,
            _ours(history, checkpoint),
            graph.name,
            namespace=history.namespace,
            component=component,
        )
        for checkpoint in (last, first)
    ]
    steps = [s.name for s in history.steps if first.at <= s.sent_at < last.at]
    since = f"what it was before {listing(steps)}"
    yield from _compare(sides[0], sides[1], graph, last, since=since)


# Comparing ------------------------------------------------------------------------------------


def _canonical(
    history: History, state: State, graph: str, *, namespace: str, component: bool
) -> Canonical:
    return canonical(
        state, graph=graph, namespace=namespace, profile=history.profile, component=component
    )


def _compare(
    ours: Canonical, theirs: Canonical, graph: Graph, checkpoint: Checkpoint, *, since: str
) -> Iterator[Finding]:
    if not ours.objects or not theirs.objects:
        side = "now" if not ours.objects else "in what it is compared with"
        yield _unknown(
            graph.name,
            f"No object of {graph.name} was recorded {side}, so nothing was compared at "
            f"{checkpoint.name}.",
            checkpoint.at,
        )
        return
    for unlike in differences(ours, theirs):
        yield Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES,
            subject=f"{unlike.kind}/{(unlike.left or unlike.right)[0]}",
            message=f"{_sentence(unlike, since)}.",
            graph=graph.name,
            last_at=checkpoint.at,
            evidence={"fields": _evidence(unlike), "ours": unlike.left, "other": unlike.right},
        )


def _sentence(unlike: Unlike, since: str) -> str:
    if len(unlike.left) != len(unlike.right):
        ours = listing(unlike.left) if unlike.left else "none"
        theirs = listing(unlike.right) if unlike.right else "none"
        count = plural(len(unlike.left), unlike.kind)
        other = f"{since} has {len(unlike.right)}"
        return f"There is {count} where {other}: {ours} here, {theirs} there"
    texts = [
        f"{path} ({_value(left)} here, {_value(right)} there)"
        for path, (left, right) in unlike.fields.items()
    ]
    return f"{unlike.kind} {unlike.left[0]} differs from {since} in {listing(texts, limit=3)}"


def _value(value: Any) -> str:
    return "absent" if value is None else repr(value)


def _evidence(unlike: Unlike) -> Mapping[str, list[Any]]:
    return {path: [left, right] for path, (left, right) in unlike.fields.items()}
