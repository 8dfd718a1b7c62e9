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

    row: Together
    state: State
    from_revision: int
    from_at: float
    to_revision: int | None = None
    to_at: float

    @property
    def seconds(self) -> float:
        return self.to_at - self.from_at

    @property
    def length(self) -> str:
        """`1.20 s (revisions 40 to 44)`."""
        end = "the end" if self.to_revision is None else self.to_revision
        return f"{max(0.0, self.seconds):.2f} s (revisions {self.from_revision} to {end})"


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
            ended.append(replace(running.pop(key), to_revision=event.revision, to_at=event.at))
        for key in now.keys() - running.keys():
            running[key] = Overlap(
                row=now[key], state=snapshot.state, from_revision=event.revision, from_at=event.at,
                to_at=case.history.events[-1].at,
            )  # fmt: skip
    return sorted([*ended, *running.values()], key=_order)


def _order(overlap: Overlap) -> tuple[int, str, str]:
    service = overlap.row.service
    return overlap.from_revision, service.graph.name, service.name


def _snapshots(case: Case) -> Iterator[tuple[Event, Snapshot]]:
    """After each event of a graph, component or workload: what there was of these."""
    objects: dict[str, Obj] = {}
    known: dict[tuple[str, int], Graph | None] = {}

    def asked(roots: Iterable[Obj]) -> tuple[Graph, ...]:
        """What these ask for, each generation read once."""
        own = [root for root in roots if root.uid not in case.others]
        for root in own:
            if (root.uid, root.generation) not in known:
                known[root.uid, root.generation] = intent(root)
        graphs = (known[root.uid, root.generation] for root in own)
        return tuple(graph for graph in graphs if graph is not None)

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
        yield event, case.snapshot(state, asked(state.of_kind(GRAPH_KIND)), asked(bare))
