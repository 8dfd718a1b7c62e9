"""A state with what is wanted of it, sorted once: each service with the objects that there are of
it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from conformance.model.children import LwsLayout
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph, Service
from conformance.model.kinds import WORKLOADS, of_platform, ownerless, workload_kind
from conformance.model.ownership import Attribution, attribute, owner_chain
from conformance.model.profile import Profile
from conformance.model.state import Obj, State

_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What must exist at a checkpoint. A bare component is a one-service Graph under the component's
    name. `others` are uids of objects that are not the operator's: what the suite put beside
    the graphs (foreign objects, prerequisites). They and what is below them are left out."""

    namespace: str
    graphs: tuple[Graph, ...]
    components: tuple[Graph, ...]
    profile: Profile
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSnapshot:
    """One service of a wanted graph (or of a bare component) with what there is of it.

    `root` is the live DGD or bare DCD. `pods` are those below the workloads, dying ones included;
    `outside` are living pods of the service below no workload of it; `gangs` and `endpoints`
    (objects of kind Service) are the operator's own, not those that an LWS makes.
    """

    graph: Graph
    service: Service
    root: Obj | None
    bare: bool
    profile: Profile
    components: tuple[Obj, ...] = ()
    workloads: tuple[Obj, ...] = ()
    pods: tuple[Obj, ...] = ()
    outside: tuple[Obj, ...] = ()
    gangs: tuple[Obj, ...] = ()
    endpoints: tuple[Obj, ...] = ()

    @property
    def name(self) -> str:
        return self.service.name

    @property
    def place(self) -> tuple[str, str]:
        """The names of its graph (or bare component) and its own."""
        return self.graph.name, self.name

    @property
    def live_pods(self) -> tuple[Obj, ...]:
        """Pods that are not being deleted."""
        return tuple(pod for pod in self.pods if not pod.deleting)

    @property
    def wanted_kind(self) -> str:
        """The kind of workload that the service must be."""
        shape = self.profile.multinode if self.service.multinode else self.profile.single_node
        return shape.kind

    @property
    def wanted_count(self) -> int:
        """How many workloads the service must be spread over."""
        per_replica = self.profile.multinode.layout is LwsLayout.PER_REPLICA
        return self.service.groups if self.service.multinode and per_replica else 1

    @property
    def most_workloads(self) -> int:
        """How many there may be at most: at zero replicas one empty workload is as right as none."""
        return max(1, self.wanted_count)

    @property
    def right(self) -> list[Obj]:
        """Workloads of the wanted kind."""
        return [workload for workload in self.workloads if workload.kind == self.wanted_kind]

    @property
    def wrong(self) -> list[Obj]:
        """Workloads of any other kind."""
        return [workload for workload in self.workloads if workload.kind != self.wanted_kind]


class Snapshot:
    """A state with owners walked and objects given to the services that they belong to."""

    def __init__(self, state: State, wanted: Wanted) -> None:
        self.state = state
        self.wanted = wanted
        self.profile = wanted.profile
        self._chains: dict[str, list[Obj]] = {}
        self.objects = [
            obj for obj in state if obj.namespace == wanted.namespace and not self._of_others(obj)
        ]

    def chain(self, obj: Obj) -> list[Obj]:
        """The living owners of the object, nearest first."""
        if obj.uid not in self._chains:
            self._chains[obj.uid] = owner_chain(self.state, obj)
        return self._chains[obj.uid]

    def below(self, obj: Obj, owners: Iterable[Obj]) -> bool:
        """True if one of these is above the object."""
        uids = {owner.uid for owner in owners}
        return any(owner.uid in uids for owner in self.chain(obj))

    def is_workload(self, obj: Obj) -> bool:
        """True for an object of a kind that runs a service's pods."""
        return workload_kind(obj) is not None and self.runs_services(obj.kind)

    def runs_services(self, kind: str) -> bool:
        """True for a kind that runs services' pods. One that operators use for helpers, too, does so
        only if the profile names it."""
        row = WORKLOADS.get(kind)
        named = (self.profile.single_node.kind, self.profile.multinode.kind)
        return row is not None and (kind in named or not row.when_declared)

    def _of_others(self, obj: Obj) -> bool:
        others = self.wanted.others
        if obj.uid in others:
            return True
        above = [owner for owner in self.chain(obj) if owner.uid in others]
        # Others' graphs have workloads, and nothing else of others' has: a workload below one was
        # put there, say below the namespace's own ServiceAccount, and stays to be judged.
        makers = any(o.kind in (GRAPH_KIND, COMPONENT_KIND) or _makes(o, obj) for o in above)
        return bool(above) and (makers or not self.is_workload(obj))

    @cached_property
    def roots(self) -> dict[str, Obj]:
        """uid → live DGD or bare DCD that is wanted."""
        return {root.uid: root for _, root, _ in self.wanted_roots if root is not None}

    @cached_property
    def wanted_roots(self) -> list[tuple[Graph, Obj | None, bool]]:
        """Each wanted graph and bare component, its live object, and whether it is a component."""
        return [
            (graph, self.state.named(kind, graph.name, self.wanted.namespace), bare)
            for kind, graphs, bare in (
                (GRAPH_KIND, self.wanted.graphs, False),
                (COMPONENT_KIND, self.wanted.components, True),
            )
            for graph in graphs
        ]

    @cached_property
    def places(self) -> dict[str, Attribution]:
        """uid → where each object belongs."""
        return {obj.uid: attribute(self.state, obj, self.profile) for obj in self.objects}

    def root_of(self, obj: Obj) -> Obj | None:
        """The wanted graph or bare component that the object is under, by owner or by label. One
        whose owner is gone, or that is below such a one, is of an earlier graph of the name,
        whatever its labels say."""
        place = self.places[obj.uid]
        top = [obj, *self.chain(obj)][-1]
        if place.by == "label" and top.owners:
            return None
        return self.roots.get(place.graph_uid) or self.roots.get(place.component_uid)

    def by_operator(self, obj: Obj) -> bool:
        """True unless a workload, or what the platform makes below one, is above the object.

        What else an operator puts in between hides nothing. Nor does a workload above a workload,
        unless its kind makes such workloads.
        """
        chain = self.chain(obj)
        if self.is_workload(obj):
            return not any(_makes(owner, obj) for owner in chain)
        return not any(self.is_workload(owner) or of_platform(owner) for owner in chain)

    def needs_no_owner(self, obj: Obj) -> bool:
        """True for what the profile lets outlive its graph, and for what is ownerless by nature."""
        by_nature = ownerless(obj.kind, obj.name) is not None
        return by_nature or self.profile.retains(obj.kind, obj.name)

    @cached_property
    def services(self) -> list[ServiceSnapshot]:
        """Every service of every wanted graph and bare component."""
        members: dict[tuple[str, str | None], list[Obj]] = defaultdict(list)
        for obj in self.objects:
            root = self.root_of(obj)
            if root is not None:
                members[root.uid, self._service_name(obj, root)].append(obj)
        return [
            self._service(
                graph, service, root, bare, members[root.uid if root else "", service.name]
            )
            for graph, root, bare in self.wanted_roots
            for service in graph.services
        ]

    @property
    def present(self) -> list[ServiceSnapshot]:
        """The services whose graph exists."""
        return [service for service in self.services if service.root is not None]

    @cached_property
    def strays(self) -> list[Obj]:
        """Objects under a wanted graph whose service it does not (or no longer) have; the topmost
        of each tree only."""
        lost = {}
        for obj in self.objects:
            root = self.root_of(obj)
            if root is None or obj.uid == root.uid or self._service_name(obj, root) is not None:
                continue
            named = bool(self.places[obj.uid].service) or obj.kind == COMPONENT_KIND
            if named or (self.is_workload(obj) and self.by_operator(obj)):
                lost[obj.uid] = obj
        return [obj for obj in lost.values() if not self.below(obj, lost.values())]

    def _service_name(self, obj: Obj, root: Obj) -> str | None:
        graph = next(graph for graph, live, _ in self.wanted_roots if live is root)
        if root.kind == COMPONENT_KIND:
            return graph.services[0].name
        name = self.places[obj.uid].service
        # Operators lower the case in names of children; the label keeps it, but not in every build.
        folded = [s.name for s in graph.services if s.name.lower() == name.lower()]
        if name in folded:
            return name
        return folded[0] if len(folded) == 1 else None

    def _service(
        self, graph: Graph, service: Service, root: Obj | None, bare: bool, own: list[Obj]
    ) -> ServiceSnapshot:
        workloads = [obj for obj in own if self.is_workload(obj) and self.by_operator(obj)]
        pods = [obj for obj in own if obj.kind == "Pod"]
        inside = [pod for pod in pods if self.below(pod, workloads)]
        endpoints = [obj for obj in own if obj.kind == "Service" and not obj.group]
        gangs = [obj for obj in own if obj.kind == self.profile.multinode.gang_kind]
        return ServiceSnapshot(
            graph=graph,
            service=service,
            root=root,
            bare=bare,
            profile=self.profile,
            components=tuple(obj for obj in own if obj.kind == COMPONENT_KIND),
            workloads=tuple(workloads),
            pods=tuple(inside),
            outside=tuple(p for p in pods if p not in inside and self._goes_on(p)),
            gangs=tuple(obj for obj in gangs if not self._of_groups(obj)),
            endpoints=tuple(obj for obj in endpoints if self.by_operator(obj)),
        )

    def _of_groups(self, gang: Obj) -> bool:
        """True for a gang object below a workload of groups, which its controller makes."""
        rows = (workload_kind(owner) for owner in self.chain(gang))
        return any(row is not None and row.multinode for row in rows)

    def _goes_on(self, pod: Obj) -> bool:
        """True for a living pod that does not end by itself, as a Job's do."""
        finished = pod.deleting or pod.status.get("phase") in _FINISHED
        return not finished and not any(owner.kind == "Job" for owner in self.chain(pod))


def _makes(owner: Obj, obj: Obj) -> bool:
    row = workload_kind(owner)
    return row is not None and obj.kind in row.makes
