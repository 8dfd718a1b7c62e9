"""`Trial`: what a case can do. A case reads arrange, change, expect, and concludes nothing: afterwards
the plugin hands the recorded history to the checkers."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from conformance.driver.case_run import CaseOver, CaseRun
from conformance.driver.children import child_of, component_of, fresh_child_of, has_child
from conformance.driver.waiting import until
from conformance.history.records import Expect, Foreign
from conformance.kube import raise_for
from conformance.model.doors import Door, Method
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph, Service
from conformance.model.manifest import component_manifest, manifest
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind, Transition


class Trial(CaseRun):
    """The handle of a case, which works in a namespace of its own.

    A graph is named by the value that `deploy` or `change` returned, whichever is at hand: `change`
    starts from what was accepted last under that name. Every request is journalled with its answer.
    """

    @property
    def door(self) -> Door:
        """The usual door: a merge patch in the usual version."""
        return Door(method=Method.MERGE_PATCH, version=self.version)

    def graph(self, name: str) -> Graph:
        """The graph of that name as the last accepted step left it."""
        return self._graphs[name]

    def state(self) -> State:
        """The namespace as recorded by now."""
        self._record.poll()
        return self._record.state()

    # Graphs -------------------------------------------------------------------------------------

    def deploy(
        self,
        graph: Graph,
        *,
        door: Door | None = None,
        judged: bool = False,
        wait: bool = True,
        expect: Expect = Expect.RECONCILE,
    ) -> Graph:
        """Create the graph, and (unless `wait` is False) wait until it is settled; through an apply
        door by apply. With `judged` the case goes on to `expect`, which then waits in full."""
        door = door or self.door
        graph = self._annotated(graph)
        body = manifest(graph, version=door.version, namespace=self.namespace)
        self._note(
            self._requests.create(body, door=door), self._graphs, before=None, after=graph,
            name=f"deploy {graph.name}", kinds=(ChangeKind.DEPLOY,), judged=judged, door=str(door),
            expect=expect, services=tuple(service.name for service in graph.services),
        )  # fmt: skip
        if wait and not judged:
            self.arranged()
        return graph

    def change(
        self,
        graph: Graph,
        transition: Transition,
        *,
        door: Door | None = None,
        race: bool = False,
        expect: Expect | None = None,
    ) -> Graph:
        """Send a transition of a graph, for `expect` (the method) to wait for. Returns the graph as it
        now is: changed, or as before if the API refused. A step that an earlier refusal superseded is
        journalled as such and not sent. `expect` fixes what this one step may end as."""
        door = door or self.door
        before = self._graphs[graph.name]
        after = transition.apply(before)
        if transition.moves_generation and after == before and transition.raw is None:
            self._journal.unsent(
                transition.name, transition.kinds, target=graph.name, target_kind=GRAPH_KIND,
                door=str(door), expect=Expect.PROMISE, moves_generation=True, before=before,
                after=before, services=transition.services,
                answer={"superseded": "the graph already is as this step asks"},
            )  # fmt: skip
        else:
            self._note(
                self._requests.change(transition, before=before, door=door), self._graphs,
                before=before, after=after, name=transition.name, kinds=transition.kinds,
                door=str(door), expect=expect, services=transition.services,
                moves_generation=transition.moves_generation, race=race,
            )  # fmt: skip
        return self._graphs[graph.name]

    def delete(self, graph: Graph, *, propagation: str = "Background") -> None:
        """Delete a graph in the background or the foreground."""
        self._note(
            self._requests.delete(GRAPH_KIND, graph.name, propagation=propagation), self._graphs,
            before=self._graphs[graph.name], after=None, name=f"delete {graph.name}",
            kinds=(ChangeKind.DELETE,), door=f"delete-{self.version}", moves_generation=False,
            propagation=propagation,
        )  # fmt: skip

    def wait_gone(self, graph: Graph) -> None:
        """Wait until the graph object itself is gone, so that its name is free again."""
        gone = until(
            lambda: self._requests.gone(GRAPH_KIND, graph.name),
            every=self.bounds.poll, within=self.bounds.deletion_deadline,
        )  # fmt: skip
        if not gone:
            raise CaseOver

    def touch(self, graph: Graph, value: str) -> None:
        """Wake the operator's work on a graph by an annotation, without changing what is wanted."""
        patch = {"metadata": {"annotations": {"conformance.dgd.dev/touch": value}}}
        self._requests.merge(GRAPH_KIND, graph.name, patch, read=False)

    def _annotated(self, graph: Graph) -> Graph:
        return graph.replace(annotations={**graph.annotations, **self.profile.graph_annotations})

    # Components ---------------------------------------------------------------------------------

    def deploy_component(self, service: Service, *, name: str) -> Graph:
        """Create a bare component (DCD without a graph) and wait until it is settled."""
        body = component_manifest(
            service, name=name, version=self.version, namespace=self.namespace, backend="vllm"
        )
        body["metadata"]["annotations"] = dict(self.profile.graph_annotations)
        component = Graph(name=name, services=(service,))
        self._note(
            self._requests.create(body), self._components, before=None, after=component,
            name=f"deploy {name}", kinds=(ChangeKind.DEPLOY,), judged=False, door=str(self.door),
            expect=Expect.RECONCILE, services=(service.name,), component=True,
        )  # fmt: skip
        self.arranged()
        return component

    def change_component(
        self, owner: Graph, transition: Transition, *, node_count: int | None, race: bool = False
    ) -> Graph:
        """Set `multinode`, or remove it (None), on a component of a graph, which is the operator's own
        object, or on a bare one. Returns the graph, or the bare component, as it now is."""
        bare, name = owner.name in self._components, owner.name
        wanted = self._components if bare else self._graphs
        if not bare:
            name = component_of(self.state(), name, transition.services[0], self.profile).name
        before = wanted[owner.name]
        multinode = None if node_count is None else {"nodeCount": node_count}
        sent = self._requests.merge(COMPONENT_KIND, name, {"spec": {"multinode": multinode}})
        self._note(
            sent, wanted, before=before, after=transition.apply(before) if bare else before,
            name=f"component {transition.name}", kinds=transition.kinds,
            door=f"component-{self.door}", services=transition.services, component=True, race=race,
        )  # fmt: skip
        return wanted[owner.name]

    # The operator's and others' objects -----------------------------------------------------------

    def place_foreign(self, body: Mapping[str, Any]) -> Foreign:
        """Create an object that belongs to some other user; no operator may touch it."""
        group = str(body["apiVersion"]).rpartition("/")[0]
        resource = self._api.resource_for(body["kind"], group=group)
        answer = self._api.create(resource, body, self.namespace)
        obj = Obj(raise_for(answer, f"{body['kind']} {body['metadata']['name']}").body)
        foreign = Foreign(
            uid=obj.uid, kind=obj.kind, namespace=obj.namespace, name=obj.name, at=time.time()
        )
        self._journal.append(foreign)
        return foreign

    def learn(self, graph: Graph, kind: str, service: str) -> Obj:
        """The child of that kind which this operator makes for a service of the graph, learnt from a
        fresh deploy in another namespace, which labels may name. Raises InfraError if it makes none."""
        fresh = self._fresh.get(self._annotated(graph))
        return fresh_child_of(fresh, kind, service, self.profile)

    def makes(self, graph: Graph, kind: str, service: str) -> bool:
        """Whether `learn` finds one."""
        fresh = self._fresh.get(self._annotated(graph))
        return has_child(fresh, kind, service, self.profile)

    def child(self, graph: Graph, kind: str, service: str) -> Obj:
        """The child of that kind which the operator has made here for a service of the graph. Raises
        InfraError if there is none."""
        return child_of(self.state(), graph.name, kind, service, self.profile)

    # The operator -------------------------------------------------------------------------------

    @contextmanager
    def operator_down(self, *, kill: bool = False) -> Iterator[None]:
        """The operator is stopped (or killed) within this block, and ready again after it."""
        control = self.environment.control
        if control is None:
            raise InfraError(
                f"case {self.case} stops the operator but shares it; mark it disruptive"
            )
        self._operator_step("kill operator" if kill else "stop operator")
        try:
            (control.kill if kill else control.stop)()
        except BaseException:
            # Stopped halfway, where the rest is forbidden or hangs: others need the operator back.
            with contextlib.suppress(InfraError):
                control.start()
            raise
        try:
            yield
        finally:
            # With leader election it takes a while, which is not the time of what comes after.
            control.start()
            self._operator_step("start operator")

    def restart_operator(self, *, kill: bool = False) -> None:
        """Stop (or kill) the operator and start it again."""
        with self.operator_down(kill=kill):
            pass

    def _operator_step(self, name: str) -> None:
        self._journal.unsent(
            name, (ChangeKind.OPERATOR,), target=self.environment.operator, target_kind="Operator"
        )

    # Checkpoints --------------------------------------------------------------------------------

    def expect(self, what: Expect = Expect.PROMISE) -> None:
        """Wait for the checkpoint of everything sent since the last one. Raises CaseOver if it was not
        held: what follows would prove nothing."""
        self._journal.expect(what)
        self._reach(judged=True, hold=self.bounds.hold, blocked=what is Expect.BLOCKED)

    def arranged(self) -> None:
        """Wait until everything sent so far is reached, as the baseline of what comes next."""
        self._reach(judged=False, hold=self.bounds.arrange_hold)

    def idle(self) -> None:
        """Do nothing for a hold window; the operator must not do anything either."""
        self._journal.unsent("idle", (ChangeKind.NO_OP,))
        self._reach(judged=True, hold=self.bounds.hold)
