"""A sight, sorted: each wanted service with the objects that the state holds of it.

Built once a look, so that every rule reads it without walking owners again.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from conformance.judge.state.base import Sight
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph, Service
from conformance.model.kinds import PLATFORM_KINDS, WORKLOADS, ownerless
from conformance.model.ownership import Attribution, attribute, owner_chain
from conformance.model.state import Obj, State

_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One service of a wanted graph (or of a bare component) with what there is of it.

    `root` is the live DGD or bare DCD, None if it does not exist. `pods` are those below the
    workloads by owner, dying ones included; `outside` are living pods of the service below no
    workload of it; `gangs` and `doors` (Services) are the operator's own, not those that an LWS makes.
    """

    graph: Graph
    service: Service
    root: Obj | None
    bare: bool
    components: tuple[Obj, ...] = ()
    workloads: tuple[Obj, ...] = ()
    pods: tuple[Obj, ...] = ()
    outside: tuple[Obj, ...] = ()
    gangs: tuple[Obj, ...] = ()
    doors: tuple[Obj, ...] = ()

    @property
    def name(self) -> str:
        """The service's name."""
        return self.service.name

    @property
    def live_pods(self) -> tuple[Obj, ...]:
        """Pods that are not being deleted."""
        return tuple(pod for pod in self.pods if not pod.deleting)

    def pods_of(self, workload: Obj, view: View) -> tuple[Obj, ...]:
        """The pods below one workload, dying ones included."""
        return tuple(p for p in self.pods if any(o.uid == workload.uid for o in view.chain(p)))


def is_workload(obj: Obj) -> bool:
    """True for the kinds that run a service's pods (Deployment, LeaderWorkerSet, ...)."""
    row = WORKLOADS.get(obj.kind)
    return row is not None and row.group == obj.group


def _composed(obj: Obj) -> bool:
    return is_workload(obj) and WORKLOADS[obj.kind].composed


class View:
    """A sight with owners walked and objects given to the services that they belong to."""

    def __init__(self, sight: Sight) -> None:
        self.sight = sight
        self.wanted = sight.wanted
        self.profile = sight.wanted.profile
        self.state: State = sight.state
        self._chains: dict[str, list[Obj]] = {}
        self.objects = [
            obj
            for obj in sight.state
            if obj.namespace == self.wanted.namespace and not self._of_others(obj)
        ]

    def chain(self, obj: Obj) -> list[Obj]:
        """The living owners of the object, nearest first."""
        found = self._chains.get(obj.uid)
        if found is None:
            found = self._chains[obj.uid] = owner_chain(self.state, obj)
        return found

    def _of_others(self, obj: Obj) -> bool:
        others = self.wanted.others
        if not others or obj.uid in others:
            return bool(others)
        above = [owner for owner in self.chain(obj) if owner.uid in others]
        # Others' graphs have workloads, and nothing else of others' has: a workload below one was
        # put there, say below the namespace's own ServiceAccount, and stays to be judged.
        makers = any(o.kind in (GRAPH_KIND, COMPONENT_KIND) or _composed(o) for o in above)
        return bool(above) and (makers or not is_workload(obj))

    @cached_property
    def roots(self) -> dict[str, Obj]:
        """uid → live DGD or bare DCD that is wanted."""
        found = {}
        for kind, graphs in (
            (GRAPH_KIND, self.wanted.graphs),
            (COMPONENT_KIND, self.wanted.components),
        ):
            for graph in graphs:
                root = self.state.named(kind, graph.name, self.wanted.namespace)
                if root is not None:
                    found[root.uid] = root
        return found

    @cached_property
    def places(self) -> dict[str, Attribution]:
        """uid → where each object belongs."""
        return {obj.uid: attribute(self.state, obj, self.profile) for obj in self.objects}

    def root_of(self, obj: Obj) -> Obj | None:
        """The wanted graph or bare component that the object is under, by owner or by label.

        What has an owner that is gone, or is below something that has one, is of an earlier graph:
        labels do not give it to a new one of the same name.
        """
        place = self.places[obj.uid]
        top = [obj, *self.chain(obj)][-1]
        if place.by == "label" and top.owners:
            return None
        return self.roots.get(place.graph_uid) or self.roots.get(place.component_uid)

    def by_operator(self, obj: Obj) -> bool:
        """True unless a workload, or what the platform makes below one, is above the object.

        What else an operator puts in between (a kind of its own, a ConfigMap) hides nothing. Nor
        does a workload above a workload, unless it is of a kind that is made of others.
        """
        chain = self.chain(obj)
        if is_workload(obj):
            return not any(map(_composed, chain))
        return not any(is_workload(owner) or owner.kind in PLATFORM_KINDS for owner in chain)

    def is_retained(self, obj: Obj) -> bool:
        """True if the profile lets the object outlive its graph."""
        return any(
            retained.kind == obj.kind and fnmatch.fnmatchcase(obj.name, retained.name)
            for retained in self.profile.retained
        )

    def needs_no_owner(self, obj: Obj) -> bool:
        """True for retained objects and for what is ownerless by nature."""
        return ownerless(obj.kind, obj.name) is not None or self.is_retained(obj)

    @cached_property
    def parts(self) -> list[Part]:
        """Every service of every wanted graph and bare component."""
        members: dict[tuple[str, str], list[Obj]] = defaultdict(list)
        for obj in self.objects:
            root = self.root_of(obj)
            name = self._service_name(obj, root) if root else None
            if root is not None and name is not None:
                members[root.uid, name].append(obj)
        found = []
        for bare, graphs in ((False, self.wanted.graphs), (True, self.wanted.components)):
            for graph in graphs:
                kind = COMPONENT_KIND if bare else GRAPH_KIND
                root = self.state.named(kind, graph.name, self.wanted.namespace)
                for service in graph.services:
                    own = members[root.uid, service.name] if root else []
                    found.append(self._part(graph, service, root, bare, own))
        return found

    @cached_property
    def strays(self) -> list[Obj]:
        """Objects under a wanted graph whose service it does not (or no longer) have; the topmost
        of each tree only."""
        lost = {}
        for obj in self.objects:
            root = self.root_of(obj)
            if root is None or obj.uid == root.uid or self._service_name(obj, root) is not None:
                continue
            named = bool(self.places[obj.uid].service)
            if named or obj.kind == COMPONENT_KIND or (is_workload(obj) and self.by_operator(obj)):
                lost[obj.uid] = obj
        return [o for o in lost.values() if not any(c.uid in lost for c in self.chain(o))]

    def _service_name(self, obj: Obj, root: Obj) -> str | None:
        graph = self._graph_of_root[root.uid]
        if root.kind == COMPONENT_KIND:
            return graph.services[0].name
        name = self.places[obj.uid].service
        names = [service.name for service in graph.services]
        if name in names:
            return name
        # Operators lower the case in names of children; the label keeps it, but not in every build.
        folded = [known for known in names if known.lower() == name.lower()]
        return folded[0] if len(folded) == 1 else None

    @cached_property
    def _graph_of_root(self) -> dict[str, Graph]:
        graphs = {(GRAPH_KIND, graph.name): graph for graph in self.wanted.graphs}
        graphs |= {(COMPONENT_KIND, graph.name): graph for graph in self.wanted.components}
        return {uid: graphs[root.kind, root.name] for uid, root in self.roots.items()}

    def _part(
        self, graph: Graph, service: Service, root: Obj | None, bare: bool, own: list[Obj]
    ) -> Part:
        workloads = [obj for obj in own if is_workload(obj) and self.by_operator(obj)]
        uids = {obj.uid for obj in workloads}
        return Part(
            graph=graph,
            service=service,
            root=root,
            bare=bare,
            components=tuple(obj for obj in own if obj.kind == COMPONENT_KIND),
            workloads=tuple(workloads),
            pods=tuple(
                pod
                for pod in own
                if pod.kind == "Pod" and any(owner.uid in uids for owner in self.chain(pod))
            ),
            outside=tuple(pod for pod in own if self._runs_outside(pod, uids)),
            gangs=tuple(
                obj
                for obj in own
                if obj.kind == self.profile.multinode.gang_kind and not self._of_groups(obj)
            ),
            doors=tuple(
                obj
                for obj in own
                if obj.kind == "Service" and not obj.group and self.by_operator(obj)
            ),
        )

    def _of_groups(self, gang: Obj) -> bool:
        """True for a gang object below a workload of groups, which its controller makes."""
        above = self.chain(gang)
        return any(is_workload(owner) and WORKLOADS[owner.kind].multinode for owner in above)

    def _runs_outside(self, pod: Obj, workloads: set[str]) -> bool:
        """True for a living pod below none of these workloads; a Job's pods end by themselves."""
        if pod.kind != "Pod" or pod.deleting or pod.status.get("phase") in _FINISHED:
            return False
        return not any(owner.uid in workloads or owner.kind == "Job" for owner in self.chain(pod))
