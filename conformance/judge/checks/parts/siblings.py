"""Graphs that no step touches keep their children. Part of `foreign`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.causes import causes
from conformance.judge.changes import content
from conformance.judge.findings import finding
from conformance.judge.steps import changes_something, took
from conformance.judge.wording import count, noun, seconds
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import EVIDENCE_KINDS, Actor, of_platform
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FOREIGN


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A graph (or bare component) that stood beside a changed one up to a checkpoint."""

    point: CasePoint
    graph: Graph
    kind: str


def siblings(case: Case) -> list[Sibling]:
    """Graphs (and bare components) that were there at the checkpoint before, are meant to be the same
    still, and were no step's target, where some step did change something else."""
    found = []
    for point in case.judged:
        before = case.before(point)
        steps = [step for step in point.steps if took(step)]
        if before is None or not any(changes_something(step) for step in steps):
            continue
        # An edit of a component names the component; the graph it is part of is in `before`.
        names = {s.target for s in steps} | {g.name for s in steps for g in (s.before,) if g}
        old, new = before.checkpoint, point.checkpoint
        for kind, was, now in (
            (GRAPH_KIND, old.graphs, new.graphs),
            (COMPONENT_KIND, old.components, new.components),
        ):
            kept = (graph for graph in now if graph.name not in names and graph in was)
            found += [Sibling(point=point, graph=graph, kind=kind) for graph in kept]
    return found


def sibling(case: Case, row: Sibling) -> Iterator[Finding]:
    """What happened to the children of an untouched graph."""
    first = next(step for step in row.point.steps if took(step))
    window = case.window(first.sent_at, row.point.at)
    base = case.history.at(max(window.after_revision, first.revision_before))
    root = base.named(row.kind, row.graph.name, case.namespace)
    if root is None:
        yield finding(
            _NAME, Verdict.UNKNOWN, f"{row.kind}/{row.graph.name}",
            f"{row.kind} {row.graph.name} was not recorded before {first.name}, so it cannot be told "
            "whether its children stayed",
            graph=row.graph.name,
        )  # fmt: skip
        return
    below = case.lineage.below(root.uid)
    for obj in base:
        if obj.uid not in below or obj.kind in EVIDENCE_KINDS or obj.deleting:
            continue
        present = row.point.state.get(obj.uid)
        if present is None or present.deleting:
            yield _harmed(case, row.graph, obj, "is gone", first.name, window)
        elif not of_platform(obj) and content(present) != content(obj):
            yield _harmed(case, row.graph, obj, "has another spec", first.name, window)


def _harmed(case: Case, graph: Graph, obj: Obj, how: str, step: str, window: Window) -> Finding:
    """An untouched graph's child that changed. A platform's object below children that nobody wrote
    is the platform's affair, and proves nothing."""
    found = causes(case, [obj.uid], window)
    operators = [change for change, writer in found if writer is Actor.OPERATOR]
    why = "; nobody but the platform is known to have written it"
    if operators:
        late = seconds(operators[0].at - window.start)
        why = f"; the operator wrote {operators[0]} {late} after {step}"
    return finding(
        _NAME, Verdict.VIOLATES if operators else Verdict.UNKNOWN, obj,
        f"{noun(obj)} of graph {graph.name} {how}, although {step} does not touch that graph{why}",
        graph=graph.name, step=step,
        first_at=found[0][0].at if found else window.start, last_at=window.end,
        writes=count(len(found), "write"), uid=obj.uid,
    )  # fmt: skip
