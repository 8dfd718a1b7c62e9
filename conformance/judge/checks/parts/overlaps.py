"""How long what coexisted did so: exact by revision, with the arrival times beside it.
Part of `coexistence`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from conformance.history.records import Event, EventType
from conformance.judge.case import Case
from conformance.judge.intent import intent
from conformance.judge.snapshot import Snapshot
from conformance.judge.state.coexistence import Doubling, Together, doublings
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import workload_kind
from conformance.model.state import Obj, State


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


def overlaps(case: Case) -> list[Overlap]:
    """Every stretch of coexistence in the history, judged by each graph's own spec at that time."""
    running: dict[tuple[str, str, Doubling], Overlap] = {}
    ended: list[Overlap] = []
    for event, snapshot in _snapshots(case):
        now = {
            (row.service.graph.name, row.service.name, row.what): row
            for row in doublings(snapshot)
            if not row.shrinking
        }
        for key in running.keys() - now.keys():
            overlap = running.pop(key)
            ended.append(replace(overlap, to_revision=event.revision, to_at=event.at))
        for key in now.keys() - running.keys():
            running[key] = Overlap(
                graph=key[0], service=key[1], what=key[2], from_revision=event.revision,
                from_at=event.at, row=now[key], state=snapshot.state,
            )  # fmt: skip
    return sorted([*ended, *running.values()], key=lambda o: (o.from_revision, o.graph, o.service))


def _snapshots(case: Case) -> Iterator[tuple[Event, Snapshot]]:
    """After each event of a graph, component or workload: what there was of these."""
    objects: dict[str, Obj] = {}
    intents: dict[tuple[str, int], Graph | None] = {}
    for event in case.history.events:
        obj = event.obj
        concerns = obj.kind in (GRAPH_KIND, COMPONENT_KIND) or workload_kind(obj) is not None
        if not concerns or obj.namespace != case.namespace:
            continue
        if event.type is EventType.DELETED:
            objects.pop(obj.uid, None)
        else:
            objects[obj.uid] = obj
        state = State(objects.values(), revision=event.revision, at=event.at)
        bare = (one for one in state.of_kind(COMPONENT_KIND) if not one.owners)
        yield (
            event,
            case.snapshot(
                state,
                _asked(state.of_kind(GRAPH_KIND), case.others, intents),
                _asked(bare, case.others, intents),
            ),
        )


def _asked(
    roots: Iterable[Obj],
    others: frozenset[str],
    known: dict[tuple[str, int], Graph | None],
) -> tuple[Graph, ...]:
    """What these graphs ask for, each generation read once."""
    found = []
    for root in roots:
        key = (root.uid, root.generation)
        if key not in known:
            known[key] = intent(root)
        graph = known[key]
        if graph is not None and root.uid not in others:
            found.append(graph)
    return tuple(found)
