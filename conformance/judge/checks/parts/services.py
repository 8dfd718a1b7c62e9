"""Services of graphs: what each asks for, what steps do to it, and its pods through these steps."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from conformance.history.records import Event, EventType, Step
from conformance.judge.case import CasePoint
from conformance.judge.changes import Change
from conformance.judge.lineage import Place
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import seconds
from conformance.model.graph import Graph, Service
from conformance.model.kinds import WORKLOADS, takes_requests
from conformance.model.state import Obj

Wish = tuple[int, int, str]
"""What of a service must show on its workloads: number of nodes, of replicas, image."""


def wish(service: Service) -> Wish:
    """What the service asks for."""
    return service.size, service.groups, service.image


def service_of(graph: Graph | None, name: str) -> Service | None:
    """The graph's service of that name, written in whatever case."""
    services = graph.services if graph is not None else ()
    return next((one for one in services if one.name.lower() == name.lower()), None)


class Touch(enum.StrEnum):
    """What a step does to one service."""

    SHAPE = "multinode or node count"
    TEMPLATE = "pod template"
    REPLICAS = "replicas"
    ADDED = "added"
    REMOVED = "removed"
    COMPONENT = "component edited"


def touched(steps: Iterable[Step]) -> dict[Place, set[Touch]]:
    """What these steps do to which services; services that are not in it are not touched."""
    found: dict[Place, set[Touch]] = defaultdict(set)
    for step in steps:
        graph = step.after or step.before
        if graph is not None:
            for name, touches in _of_step(step).items():
                found[Place(graph.name, name.lower())] |= touches
    return {place: touches for place, touches in found.items() if touches}


def _of_step(step: Step) -> dict[str, set[Touch]]:
    before, after = (
        {one.name: one for one in graph.services} if graph else {}
        for graph in (step.before, step.after)
    )
    names = before.keys() | after.keys()
    found = {name: _between(before.get(name), after.get(name)) for name in names}
    if step.component and step.before == step.after:
        # An edit of the operator's own object: what it does to the service is undone, if slowly.
        for name in step.services:
            found.setdefault(name, set()).add(Touch.COMPONENT)
    if step.before and step.after and step.before.backend != step.after.backend:
        for touches in found.values():
            touches.add(Touch.TEMPLATE)
    return found


def _between(old: Service | None, new: Service | None) -> set[Touch]:
    if new is None:
        return {Touch.REMOVED}
    if old is None:
        return {Touch.ADDED}
    differs = {
        Touch.SHAPE: old.size != new.size,
        Touch.REPLICAS: old.groups != new.groups,
        Touch.TEMPLATE: old != new.replace(replicas=old.replicas, node_count=old.node_count),
    }
    return {touch for touch in differs if differs[touch]}


class Dip(NamedTuple):
    """A stretch with fewer ready pods than some floor. Times are epoch seconds."""

    start: float
    end: float
    lowest: int

    @property
    def length(self) -> float:
        return self.end - self.start


class Watched:
    """One service from the first of the steps on. `pods` are its pods at `base`, the revision just
    before, by uid; `counts` are (time, ready routable pods)."""

    def __init__(
        self, point: CasePoint, steps: Sequence[Step], place: Place, *, base: int,
        pods: Mapping[str, Obj],
    ) -> None:  # fmt: skip
        self.point = point
        self.case = point.case
        self.steps = steps
        self.first = steps[0]
        self.place = place
        self._base = base
        self._pods = pods
        self._ready = {uid for uid, pod in pods.items() if pod.ready and takes_requests(pod)}
        self.ready_before = len(self._ready)
        self.counts = [(self.first.sent_at, self.ready_before)]
        self.lost: list[Event] = []
        """Events by which a pod that was ready at `base` was deleted or stopped being ready."""

    def follow(self, event: Event) -> None:
        """Take in what happened to one of the service's pods."""
        pod = event.obj
        here = event.type is not EventType.DELETED and pod.ready
        if here and takes_requests(pod):
            self._ready.add(pod.uid)
        else:
            self._ready.discard(pod.uid)
        if len(self._ready) != self.ready:
            self.counts.append((event.at, len(self._ready)))
        first = self._pods.get(pod.uid)
        known = any(lost.obj.uid == pod.uid for lost in self.lost)
        if first is not None and first.ready and not here and not known:
            self.lost.append(event)

    def dips(self, floor: int) -> list[Dip]:
        """Where fewer than `floor` pods were ready until the checkpoint."""
        found: list[Dip] = []
        since, lowest = None, floor
        for at, count in [*self.counts, (self.point.at, floor)]:
            if count < floor:
                since = at if since is None else since
                lowest = min(lowest, count)
            elif since is not None:
                found.append(Dip(since, at, lowest))
                since, lowest = None, floor
        return found

    @property
    def ready(self) -> int:
        """Ready routable pods at the end."""
        return self.counts[-1][1]

    @property
    def name(self) -> str:
        """In the graph's own spelling."""
        named = self.services(graph for point in self.case.points for graph in point.graphs)
        return named[0].name if named else self.place.service

    @property
    def what(self) -> str:
        """`Worker of agg`."""
        return f"{self.name} of {self.place.graph}"

    @property
    def meant(self) -> list[Service]:
        """The service before and after each step, in order."""
        return self.services(graph for step in self.steps for graph in (step.before, step.after))

    def services(self, graphs: Iterable[Graph | None]) -> list[Service]:
        """The service in those of the graphs that have it."""
        named = (graph for graph in graphs if graph is not None and graph.name == self.place.graph)
        found = (service_of(graph, self.place.service) for graph in named)
        return [service for service in found if service is not None]

    @property
    def before(self) -> Snapshot:
        """Everything just before the first step."""
        return self.case.snapshot(self.case.history.at(self._base), ())

    @property
    def workloads(self) -> list[Obj]:
        """The workloads of the service just before the first step."""
        snapshot, lineage = self.before, self.case.lineage
        return [
            obj
            for obj in snapshot.state.of_kind(*WORKLOADS)
            if obj.namespace == self.case.namespace
            and snapshot.is_workload(obj)
            and snapshot.by_operator(obj)
            and lineage.place(obj.uid) == self.place
        ]

    @property
    def changes(self) -> list[tuple[Change, bool]]:
        """What changed from the first step until the last loss, and whether above a lost pod."""
        lost = (event.obj.uid for event in self.lost)
        above = {owner.uid for uid in lost for owner in self.case.lineage.above(uid)}
        changes = self.case.log.changes(self.first.sent_at, self.lost[-1].at)
        return [(change, change.obj.uid in above) for change in changes]

    def after_step(self, at: float) -> str:
        """`2.1 s after image-v2`."""
        return f"{seconds(at - self.first.sent_at)} after {self.first.name}"


def watch(point: CasePoint, steps: Sequence[Step]) -> list[Watched]:
    """Every service that had pods before the first step, followed up to the checkpoint."""
    case = point.case
    base = max(case.history.revision_at(steps[0].sent_at), steps[0].revision_before)
    pods: dict[Place, dict[str, Obj]] = defaultdict(dict)
    for pod in case.history.at(base).of_kind("Pod"):
        place = case.place_of(pod)
        if place is not None:
            pods[place][pod.uid] = pod
    watched = {
        place: Watched(point, steps, place, base=base, pods=own) for place, own in pods.items()
    }
    for event in case.history.events:
        late = event.revision > point.checkpoint.revision or event.at > point.at
        if event.obj.kind == "Pod" and event.revision > base and not late:
            place = case.place_of(event.obj)
            if place in watched:
                watched[place].follow(event)
    return list(watched.values())
