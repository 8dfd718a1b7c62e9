"""A case at work: arrange graphs, change them, wait for checkpoints. Everything is journalled.

A case reads arrange / change / expect. The trial never judges: after the last `expect` the plugin
hands the history to the checkers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from conformance.driver.checkpoints import CaseOver, Checkpoints
from conformance.driver.fresh import FreshStates
from conformance.driver.lookup import child_of, component_of, fresh_child_of, has_child
from conformance.driver.notebook import Notebook
from conformance.driver.progress import Progress
from conformance.driver.reading import Reading
from conformance.driver.requests import path_of, send, send_transition
from conformance.driver.session import OperatorControl, Session
from conformance.history.history import History
from conformance.history.records import (
    Expect,
    Foreign,
    Header,
    OperatorEvent,
    Step,
)
from conformance.kube import FIELD_MANAGER, Api, raise_for
from conformance.model.doors import Door, Method
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, ApiVersion, Graph, Service
from conformance.model.manifest import component_manifest, manifest
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind, Transition
from conformance.record.journal import Journal
from conformance.record.tail import Tail


class Trial:
    """The handle that a case gets. One namespace, one history.

    `title` is the case's sentence, `case` its id. Raises InfraError from any method when the control
    cluster or the recorder fails; the case is then `unknown`.
    """

    def __init__(
        self,
        *,
        session: Session,
        api: Api,
        tail: Tail,
        header: Header,
        progress_line: Progress,
        fresh: FreshStates,
        journal: Journal,
    ) -> None:
        self.session = session
        self.profile = session.profile
        self.bounds = session.bounds
        self.namespace = header.namespace
        self._api = api
        self._reading = Reading(tail, header)
        self._header = header
        self._fresh = fresh
        self._notebook = Notebook(journal, namespace=header.namespace)
        self._checkpoints = Checkpoints(
            session=session, api=api, reading=self._reading, namespace=header.namespace,
            notebook=self._notebook, progress_line=progress_line,
        )  # fmt: skip
        self._graphs: dict[str, Graph] = {}
        self._components: dict[str, Graph] = {}

    @property
    def case(self) -> str:
        """The case's id."""
        return self._header.case

    @property
    def started_at(self) -> float:
        """When the case began, seconds since the epoch."""
        return self._header.started_at

    @property
    def version(self) -> ApiVersion:
        """The API version that this profile's cases use unless they say otherwise."""
        return self.profile.versions[0]

    @property
    def door(self) -> Door:
        """The usual door: a merge patch in the usual version."""
        return Door(method=Method.MERGE_PATCH, version=self.version)

    def graph(self, name: str) -> Graph:
        """The graph of that name as the last accepted step left it."""
        return self._graphs[name]

    def state(self) -> State:
        """The namespace as recorded by now."""
        self._reading.poll()
        return self._reading.state()

    # Arranging and changing ---------------------------------------------------------------------

    def deploy(
        self,
        graph: Graph,
        *,
        door: Door | None = None,
        judged: bool = False,
        wait: bool = True,
        expect: Expect = Expect.RECONCILE,
    ) -> Graph:
        """Create the graph, and (unless `wait` is False) wait until it is settled.

        Through an apply door the graph is created by apply, so that the suite's field manager owns
        its fields. With `judged` the case goes on to `expect`, which then waits in full.
        """
        door = door or self.door
        marked = graph.replace(annotations={**graph.annotations, **self.profile.graph_annotations})
        body = manifest(marked, version=door.version, namespace=self.namespace)
        if door.method is Method.APPLY:
            path = path_of(GRAPH_KIND, door.version, self.namespace, graph.name)
            sent = send(
                self._api, "PATCH", path, body=body, content_type="application/apply-patch+yaml",
                params={"fieldManager": FIELD_MANAGER, "force": "true"},
            )  # fmt: skip
        else:
            path = path_of(GRAPH_KIND, door.version, self.namespace)
            sent = send(self._api, "POST", path, body=body, params={"fieldManager": FIELD_MANAGER})
        step = self._notebook.sent(
            sent, name=f"deploy {graph.name}", kinds=(ChangeKind.DEPLOY,), target=graph.name,
            target_kind=GRAPH_KIND, judged=judged, door=str(door), expect=expect,
            before=None, after=marked, services=tuple(s.name for s in graph.services),
        )  # fmt: skip
        if step.accepted:
            self._graphs[graph.name] = marked
        if wait and not judged:
            self.arranged()
        return marked

    def change(
        self,
        graph: Graph,
        transition: Transition,
        *,
        door: Door | None = None,
        race: bool = False,
        expect: Expect | None = None,
    ) -> Step:
        """Send a transition of a graph; `expect` (the method) then waits for the checkpoint.

        A step that an earlier refusal made pointless (its graph already is as it asks) is journalled
        as such and not sent. `expect` fixes what this one step may end as.
        """
        door = door or self.door
        before = self._graphs[graph.name]
        after = transition.apply(before)
        if transition.moves_generation and after == before and transition.raw is None:
            return self._notebook.unsent(
                transition.name, transition.kinds, target=graph.name, target_kind=GRAPH_KIND,
                door=str(door), expect=Expect.PROMISE, moves_generation=True, before=before,
                after=before, services=transition.services,
                answer={"moot": "the graph already is as this step asks"},
            )  # fmt: skip
        sent = send_transition(
            self._api, transition, before=before, door=door, namespace=self.namespace
        )
        step = self._notebook.sent(
            sent, name=transition.name, kinds=transition.kinds, target=graph.name,
            target_kind=GRAPH_KIND, judged=True, door=str(door), expect=expect,
            before=before, after=after, services=transition.services,
            moves_generation=transition.moves_generation, race=race,
        )  # fmt: skip
        if step.accepted:
            self._graphs[graph.name] = after
        return step

    def delete(self, graph: Graph, *, propagation: str = "Background") -> Step:
        """Delete a graph in the background or the foreground."""
        path = path_of(GRAPH_KIND, self.version, self.namespace, graph.name)
        sent = send(self._api, "DELETE", path, params={"propagationPolicy": propagation})
        step = self._notebook.sent(
            sent, name=f"delete {graph.name}", kinds=(ChangeKind.DELETE,), target=graph.name,
            target_kind=GRAPH_KIND, judged=True, door=f"delete-{self.version}", expect=None,
            before=self._graphs[graph.name], after=None, moves_generation=False,
            propagation=propagation,
        )  # fmt: skip
        if step.accepted:
            del self._graphs[graph.name]
        return step

    def wait_gone(self, graph: Graph) -> None:
        """Wait until the graph object itself is gone, as one who re-creates it under its name must."""
        path = path_of(GRAPH_KIND, self.version, self.namespace, graph.name)
        end = time.time() + self.bounds.deletion_deadline
        while self._api.request("GET", path).code != 404:
            if time.time() > end:
                raise CaseOver
            time.sleep(self.bounds.poll)

    # Components ---------------------------------------------------------------------------------

    def deploy_component(self, service: Service, *, name: str) -> Graph:
        """Create a bare component (DCD without a graph) and wait until it is settled."""
        body = component_manifest(
            service, name=name, version=self.version, namespace=self.namespace, backend="vllm"
        )
        body["metadata"]["annotations"] = dict(self.profile.graph_annotations)
        path = path_of(COMPONENT_KIND, self.version, self.namespace)
        sent = send(self._api, "POST", path, body=body, params={"fieldManager": FIELD_MANAGER})
        component = Graph(name=name, services=(service,))
        step = self._notebook.sent(
            sent, name=f"deploy {name}", kinds=(ChangeKind.DEPLOY,), target=name,
            target_kind=COMPONENT_KIND, judged=False, door=str(self.door), expect=Expect.RECONCILE,
            before=None, after=component, services=(service.name,), component=True,
        )  # fmt: skip
        if step.accepted:
            self._components[name] = component
        self.arranged()
        return component

    def change_component(
        self,
        owner: Graph,
        transition: Transition,
        *,
        node_count: int | None,
        race: bool = False,
    ) -> Step:
        """Set or take `multinode` on a component: of a graph (an edit of the operator's own object),
        or a bare one (a user's object, whose spec then counts)."""
        bare = owner.name in self._components
        name = (
            owner.name
            if bare
            else component_of(self.state(), owner.name, transition.services[0], self.profile).name
        )
        before = self._components[name] if bare else self._graphs[owner.name]
        after = transition.apply(before) if bare else before
        multinode = None if node_count is None else {"nodeCount": node_count}
        path = path_of(COMPONENT_KIND, self.version, self.namespace, name)
        read = self._api.request("GET", path)
        metadata = read.body.get("metadata", {}) if read.ok else {}
        sent = send(
            self._api, "PATCH", path, body={"spec": {"multinode": multinode}},
            content_type="application/merge-patch+json", params={"fieldManager": FIELD_MANAGER},
            generation_before=int(metadata.get("generation", 0)),
            revision_before=int(metadata.get("resourceVersion", 0)),
        )  # fmt: skip
        step = self._notebook.sent(
            sent, name=f"component {transition.name}", kinds=transition.kinds, target=name,
            target_kind=COMPONENT_KIND, judged=True, door=f"component-{self.door}", expect=None,
            before=before, after=after, services=transition.services, component=True, race=race,
        )  # fmt: skip
        if step.accepted and bare:
            self._components[name] = after
        return step

    def touch(self, graph: Graph, value: str) -> None:
        """Wake the operator's work on a graph by an annotation, without changing what is wanted."""
        path = path_of(GRAPH_KIND, self.version, self.namespace, graph.name)
        send(
            self._api, "PATCH", path,
            body={"metadata": {"annotations": {"conformance.dgd.dev/touch": value}}},
            content_type="application/merge-patch+json", params={"fieldManager": FIELD_MANAGER},
        )  # fmt: skip

    # Others' objects ----------------------------------------------------------------------------

    def place_foreign(self, body: Mapping[str, Any]) -> Foreign:
        """Create an object that is nobody's but a user's; no operator may touch it."""
        group = str(body["apiVersion"]).rpartition("/")[0]
        resource = self._api.resource_for(body["kind"], group=group)
        answer = self._api.create(resource, body, self.namespace)
        obj = Obj(raise_for(answer, f"{body['kind']} {body['metadata']['name']}").body)
        foreign = Foreign(
            uid=obj.uid, kind=obj.kind, namespace=obj.namespace, name=obj.name, at=time.time()
        )
        self._notebook.append(foreign)
        return foreign

    def learn(self, graph: Graph, kind: str, service: str) -> Obj:
        """The child of that kind which this operator makes for a service of the graph, learnt from
        a throw-away deploy of the same graph in a namespace of its own, which labels may name.
        Raises InfraError if it makes none."""
        fresh = self._fresh.get(graph, self.profile.graph_annotations)
        return fresh_child_of(fresh, kind, service, self.profile)

    def makes(self, graph: Graph, kind: str, service: str) -> bool:
        """Whether `learn` finds one."""
        fresh = self._fresh.get(graph, self.profile.graph_annotations)
        return has_child(fresh, kind, service, self.profile)

    def child(self, graph: Graph, kind: str, service: str) -> Obj:
        """The child of that kind which the operator has made here for a service of a graph that was
        deployed. Raises InfraError if there is none."""
        return child_of(self.state(), graph.name, kind, service, self.profile)

    # The operator itself ------------------------------------------------------------------------

    @contextmanager
    def operator_down(self, *, kill: bool = False) -> Iterator[None]:
        """The operator is stopped (or killed) within this block, and ready again after it."""
        control = self._control()
        self._operator_step("kill operator" if kill else "stop operator")
        try:
            (control.kill if kill else control.stop)()
        except BaseException:
            # Half an end, where the rest is forbidden or hangs: others need the operator back.
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

    def _control(self) -> OperatorControl:
        if self.session.control is None:
            raise InfraError(
                f"case {self._header.case} stops the operator but shares it; mark it disruptive"
            )
        return self.session.control

    def _operator_step(self, name: str) -> None:
        self._notebook.unsent(
            name, (ChangeKind.OPERATOR,), target=self.session.operator, target_kind="Operator"
        )

    # Checkpoints ----------------------------------------------------------------------------

    def expect(self, what: Expect = Expect.PROMISE) -> None:
        """Wait for the checkpoint of everything sent since the last one.

        Raises CaseOver if the checkpoint was not held, since what follows would build on sand.
        """
        self._notebook.expect(what)
        self._settle(judged=True, hold=self.bounds.hold, blocked=what is Expect.BLOCKED)

    def arranged(self) -> None:
        """Wait until everything sent so far is reached, as the baseline of what comes next."""
        self._settle(judged=False, hold=self.bounds.arrange_hold)

    def idle(self) -> None:
        """Do nothing for a hold window, and judge that nothing was done."""
        self._notebook.unsent("idle", (ChangeKind.NO_OP,))
        self._settle(judged=True, hold=self.bounds.hold)

    def _settle(self, *, judged: bool, hold: float, blocked: bool = False) -> None:
        if judged and not blocked:
            self._deploy_fresh_meanwhile()
        self._checkpoints.settle(
            self._graphs, self._components, judged=judged, hold=hold, blocked=blocked
        )

    def compare_with_fresh(self) -> None:
        """Have a fresh deploy of each graph as it now is, to compare the reached state with. Not of
        one that was deployed and never changed, or whose target cannot be reached."""
        checkpoints = self._notebook.checkpoints
        if checkpoints and not checkpoints[-1].blocked:
            for graph in self._changed():
                self._notebook.append(self._fresh.get(graph, {}))

    def _changed(self) -> list[Graph]:
        """Graphs that a step changed, as they now are; of equal ones the first."""
        changed = {
            step.target
            for step in self._notebook.steps
            if step.accepted and step.moves_generation and ChangeKind.DEPLOY not in step.kinds
        }
        wanted: dict[str, Graph] = {}
        for name, graph in self._graphs.items():
            if name in changed:
                wanted.setdefault(graph.fingerprint(), graph)
        return list(wanted.values())

    def _deploy_fresh_meanwhile(self) -> None:
        """Begin the fresh deploys that will be asked for, while the hold window is waited for."""
        for graph in self._changed():
            threading.Thread(target=self._fresh.prepare, args=(graph,), daemon=True).start()

    def finish(self, operator_events: list[OperatorEvent]) -> History:
        """The whole history, once the case is over."""
        with contextlib.suppress(InfraError):  # a dead recorder has left its gap mark in the tail
            self._reading.tail.catch_up(time.time())
        return self._reading.tail.history(self._header, [*self._notebook.records, *operator_events])

    def close(self) -> None:
        """Close files."""
        self._reading.tail.close()
        self._notebook.close()

    def clean_up(self) -> None:
        """Delete what the case made, without waiting."""
        for kind, names in ((GRAPH_KIND, self._graphs), (COMPONENT_KIND, self._components)):
            for name in names:
                path = path_of(kind, self.version, self.namespace, name)
                self._api.request("DELETE", path, params={"propagationPolicy": "Background"})
        if self.session.delete_namespaces:
            self._api.request("DELETE", f"/api/v1/namespaces/{self.namespace}")
