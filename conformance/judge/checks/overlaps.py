"""How long what coexisted did so: exact by revision, with the arrival times beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from conformance.history.history import History
from conformance.history.records import Event, EventType
from conformance.judge.state.base import Sight, Wanted
from conformance.judge.state.coexistence import Doubling, Together, doublings
from conformance.judge.state.intent import intent
from conformance.judge.state.view import View
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj, State

_KINDS = frozenset({GRAPH_KIND, COMPONENT_KIND, *WORKLOADS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A stretch in which one service had two of what it may have one of.

    `from_revision` is the write that began it, `to_revision` the one that ended it (None: it still
    lasts at the end of the history); times are the arrivals of those events. `row` and `state` are
    of its beginning.
    """

    graph: str
    service: str
    what: Doubling
    from_revision: int
    from_at: float
    row: Together
    state: State
    to_revision: int | None = None
    to_at: float | None = None

    def end_or(self, at: float) -> float:
        """When it ended, or `at` if it never did."""
        return at if self.to_at is None else self.to_at


def overlaps(history: History, others: frozenset[str]) -> list[Overlap]:
    """Every stretch of coexistence in the history, judged by each graph's own spec at that time."""
    running: dict[tuple[str, str, Doubling], Overlap] = {}
    ended: list[Overlap] = []
    for event, view in _views(history, others):
        now = {
            (row.part.graph.name, row.part.name, row.what): row
            for row in doublings(view)
            if not row.shrinking
        }
        for key in list(running):
            if key not in now:
                overlap = running.pop(key)
                ended.append(replace(overlap, to_revision=event.revision, to_at=event.at))
        for key, row in now.items():
            if key not in running:
                running[key] = Overlap(
                    graph=key[0], service=key[1], what=key[2], from_revision=event.revision,
                    from_at=event.at, row=row, state=view.state,
                )  # fmt: skip
    return sorted([*ended, *running.values()], key=lambda overlap: overlap.from_revision)


def _views(history: History, others: frozenset[str]) -> Iterator[tuple[Event, View]]:
    objects: dict[str, Obj] = {}
    graphs: dict[tuple[str, int], Graph | None] = {}
    for event in history.events:
        obj = event.obj
        if obj.kind not in _KINDS or obj.namespace != history.namespace:
            continue
        if event.type is EventType.DELETED:
            objects.pop(obj.uid, None)
        else:
            objects[obj.uid] = obj
        state = State(objects.values(), revision=event.revision, at=event.at)
        wanted = Wanted(
            namespace=history.namespace,
            graphs=_asked(state.of_kind(GRAPH_KIND), others, graphs),
            components=_asked(
                (o for o in state.of_kind(COMPONENT_KIND) if not o.owners), others, graphs
            ),
            profile=history.profile,
            others=others,
        )
        yield event, View(Sight(state=state, wanted=wanted))


def _asked(
    roots: Iterator[Obj] | list[Obj],
    others: frozenset[str],
    known: dict[tuple[str, int], Graph | None],
) -> tuple[Graph, ...]:
    found = []
    for root in roots:
        key = (root.uid, root.generation)
        if root.uid in others:
            continue
        if key not in known:
            known[key] = intent(root)
        graph = known[key]
        if graph is not None:
            found.append(graph)
    return tuple(found)
