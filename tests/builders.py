"""Histories written by hand: a clock, a revision counter and the few things that happen in a case.

    h = HistoryBuilder()
    before, after = a_graph(), a_graph(node_count=2)
    h.deployed(before)                                       # arranged and settled
    h.step(add_multinode("Worker"), before)                  # the suite's request, answered 200
    h.become(settled(after, generation=2), after=0.5)        # what operator and platform then do
    h.checkpoint(after)                                          # the checkpoint of that step
    history = h.history()

Every change is recorded as an event and as a line of the audit log, by the actor that makes such
objects; `by=` names another. Times are seconds and start at 1000.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    EventType,
    Expect,
    Foreign,
    Fresh,
    Gap,
    Header,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Step,
    Write,
)
from conformance.model.bounds import Bounds
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, ApiVersion, Graph
from conformance.model.profile import Profile
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind, Transition
from tests.objects import (
    NAMESPACE,
    Raw,
    a_graph,
    a_profile,
    component_name,
    condition,
    dcd,
    dgd,
    edited,
    find,
    labels_of,
    lws_tree,
    made,
    namespace_basics,
    pod,
    pod_group,
    settled,
    settled_component,
    snapshot,
    swapped,
    without,
)

OPERATOR, LWS_CONTROLLER, PLATFORM, SUITE, STRANGER = (
    "dgd-operator", "lws-controller", "system:serviceaccount:kube-system:controller",
    "conformance-suite", "somebody",
)  # fmt: skip
_USERS = {OPERATOR: "operator", LWS_CONTROLLER: "LWS controller", SUITE: "suite"}
_PLATFORM_KINDS = {
    "ReplicaSet", "Pod", "StatefulSet", "ControllerRevision", "EndpointSlice", "Endpoints",
    "ConfigMap", "ServiceAccount",
}  # fmt: skip
_PLURALS = {"Endpoints": "endpoints"}
VERIFIED = (
    GRAPH_KIND, COMPONENT_KIND, "Deployment", "LeaderWorkerSet", "PodGroup", "Service", "Pod",
    "ReplicaSet", "StatefulSet", "EndpointSlice",
)  # fmt: skip


def usual_writer(raw: Raw) -> str:
    """Who makes such an object in a well-behaved cluster."""
    owners = raw["metadata"].get("ownerReferences") or [{}]
    if owners[0].get("kind") == "LeaderWorkerSet":
        return LWS_CONTROLLER
    if raw["kind"] == "StatefulSet":
        return LWS_CONTROLLER
    return PLATFORM if raw["kind"] in _PLATFORM_KINDS else OPERATOR


class HistoryBuilder:
    """Collects the records of one case. Methods that change something advance the revision by one
    a write, and the clock by `tick` seconds a write. `basics` puts there what Kubernetes puts into each
    namespace, `stamped` gives created objects a creationTimestamp, `version` is that of the graphs'
    objects; further fields are the header's."""

    def __init__(
        self, profile: Profile | None = None, *, case: str = "add/worker",
        bounds: Bounds | None = None, namespace: str = NAMESPACE, start: float = 1000.0,
        tick: float = 0.001, basics: bool = True, stamped: bool = False,
        version: ApiVersion = ApiVersion.V1BETA1, **header: Any,
    ) -> None:  # fmt: skip
        self.profile = profile or a_profile()
        self.bounds = bounds or Bounds()
        self.namespace = namespace
        self.now = start
        self.revision = 100
        self.version = version
        self.stamped = stamped
        self.tick = tick
        self.objects: dict[str, Raw] = {}
        fields: dict[str, Any] = {
            "feature": case.partition("/")[0], "title": "a case", "operator": "reference",
            "users": dict(_USERS), "started_at": start,
        }  # fmt: skip
        self.records: list[Record] = [
            Header(
                case=case, namespace=namespace, profile=self.profile.model_dump(mode="json"),
                bounds=self.bounds.to_json(), **(fields | header),
            )
        ]  # fmt: skip
        self._pending: list[Step] = []
        self._checkpoints = 0
        for raw in namespace_basics() if basics else ():
            self._put(EventType.LISTED, raw)

    # Time -------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> HistoryBuilder:
        """Let time pass in which nothing happens."""
        self.now += seconds
        return self

    def until(self, at: float) -> HistoryBuilder:
        """Let time pass until then; time does not go back."""
        assert at >= self.now, f"it is {self.now} already, later than {at}"
        self.now = at
        return self

    # What happens in the API ---------------------------------------------------------------------

    def create(self, *raws: Raw, by: str = "") -> None:
        """Objects come into being."""
        for raw in raws:
            self._put(EventType.ADDED, raw)
            self._audit("create", raw, by=by, code=201)

    def update(self, *raws: Raw, by: str = "", status: bool = False) -> None:
        """Objects change (their status subresource alone with `status`)."""
        for raw in raws:
            self._put(EventType.MODIFIED, raw)
            self._audit("update", raw, by=by, subresource="status" if status else "")

    def edit(self, kind: str, name: str, *, by: str = "", **fields: Any) -> None:
        """The present object of that kind and name has these fields merged into it."""
        raw = _merged(self.live(kind, name), fields)
        self.update(raw, by=by, status=set(fields) == {"status"})

    def delete(self, *raws: Raw, by: str = "") -> None:
        """Objects vanish."""
        for raw in raws:
            uid = raw["metadata"]["uid"]
            last = self.objects.pop(uid)
            self._step_on()
            self.records.append(
                Event(type=EventType.DELETED, revision=self.revision, at=self.now, object=last)
            )
            self._audit("delete", last, by=by)

    def become(self, objects: Iterable[Raw], *, after: float = 0.0, by: str = "") -> None:
        """After `after` seconds the case's objects are these: others vanish, new ones come, changed
        ones change. Objects of `namespace_basics` and cluster-scoped ones stay."""
        self.wait(after)
        target = {raw["metadata"]["uid"]: raw for raw in objects}
        keep = {raw["metadata"]["uid"] for raw in namespace_basics()}
        # The graph last: its operator says Ready once the rest is there.
        ordered = sorted(target.items(), key=lambda item: item[1]["kind"] == GRAPH_KIND)
        gone = [
            raw for uid, raw in self.objects.items()
            if uid not in target and uid not in keep and raw["metadata"].get("namespace")
        ]  # fmt: skip
        for graphs in (False, True):
            for uid, raw in ordered:
                if (raw["kind"] == GRAPH_KIND) is not graphs:
                    continue
                if uid not in self.objects:
                    self.create(raw, by=by)
                elif _content(self.objects[uid]) != _content(raw):
                    spec_same = self.objects[uid].get("spec") == raw.get("spec")
                    self.update(raw, by=by, status=spec_same)
            if not graphs:
                self.delete(*gone, by=by)

    def write(
        self, raw: Raw, verb: str, *, by: str, code: int = 200, subresource: str = "",
        reason: str = "",
    ) -> None:  # fmt: skip
        """A line of the audit log alone: a write that changed nothing, or failed."""
        self._audit(verb, raw, by=by, code=code, subresource=subresource, reason=reason)

    def live(self, kind: str, name: str) -> Raw:
        """A copy of the present object of that kind and name."""
        return copy.deepcopy(find(list(self.objects.values()), kind, name))

    # What the suite does ----------------------------------------------------------------------

    def deployed(self, graph: Graph, *, judged: bool = False) -> None:
        """Deploy a graph and let it settle."""
        self.step(deploy(graph), None, judged=judged)
        self.become(
            [*(r for r in self.objects.values() if r["metadata"].get("namespace")),
             *settled(graph, self.profile)],
            after=0.5,
        )  # fmt: skip
        self.checkpoint(graph, judged=judged, hold=None if judged else self.bounds.arrange_hold)

    def step(
        self, transition: Transition, before: Graph | None, *, code: int = 200, judged: bool = True,
        expect: Expect = Expect.PROMISE, answer: Raw | None = None, moved: bool | None = None,
        component: str = "", door: str = "merge-patch-v1beta1", **fields: Any,
    ) -> Step:  # fmt: skip
        """The suite sends a change, and the API answers. `component` sends it to that component of
        the graph instead. `moved` says whether the answer shows a new generation (by default: if it
        was accepted and the transition moves it). The graph's object changes accordingly. Further
        fields are those of the Step."""
        deploying = ChangeKind.DEPLOY in transition.kinds
        deleting = ChangeKind.DELETE in transition.kinds
        operator = ChangeKind.OPERATOR in transition.kinds or code == 0
        after = None if deleting else before
        if not component and not operator and not deleting:
            after = transition.apply(before or Graph(name="", services=()))
        target = component or (after or before or Graph(name="", services=())).name
        old = next((r for r in self.objects.values() if r["kind"] == GRAPH_KIND
                    and r["metadata"]["name"] == target), None)  # fmt: skip
        generation = old["metadata"]["generation"] if old else 0
        accepted = 200 <= code < 300
        if moved is None:
            moved = accepted and transition.moves_generation
        sent = self.now
        self.wait(0.01)
        if accepted and after is not None and not component:
            if old is None:
                new = dgd(
                    after, ready=None, observed=None, version=self.version, namespace=self.namespace
                )
                self.create(new | {"status": {}}, by=SUITE)
            elif moved:
                kept = ("uid", "namespace", "creationTimestamp")
                same = {key: value for key, value in old["metadata"].items() if key in kept}
                new = dgd(after, generation=generation + 1, version=self.version, **same)
                self.update({**new, "status": old.get("status", {})}, by=SUITE)
        names = {r.name for r in self.records if isinstance(r, Step)}
        name, number = transition.name, 2
        while name in names:
            name, number = f"{transition.name} #{number}", number + 1
        values: dict[str, Any] = {
            "target": target, "target_kind": COMPONENT_KIND if component else GRAPH_KIND,
            "request": {} if operator else {"verb": "PATCH"}, "answer": answer or {},
            "services": transition.services, "component": bool(component),
        }  # fmt: skip
        step = Step(
            name=name, kinds=transition.kinds, namespace=self.namespace,
            judged=judged, expect=expect, door=door, sent_at=sent, answered_at=self.now, code=code,
            before=before, after=after, moves_generation=transition.moves_generation,
            generation_before=0 if deploying else generation,
            generation_after=generation + 1 if moved else generation,
            revision_before=self.revision, revision_after=self.revision, **(values | fields),
        )  # fmt: skip
        self.records.append(step)
        self._pending.append(step)
        return step

    def checkpoint(
        self, *graphs: Graph, name: str = "", components: tuple[Graph, ...] = (),
        end: CheckpointEnd = CheckpointEnd.HELD,
        judged: bool = True, hold: float | None = None, blocked: bool = False,
        verified: Iterable[str] = VERIFIED, disagreed: dict[str, str] | None = None,
    ) -> Checkpoint:  # fmt: skip
        """The checkpoint of the steps since the last one. HELD lets the hold window pass first,
        DEADLINE lets the time until the deadline pass, LATE all the patience there is."""
        since = max((step.answered_at for step in self._pending), default=self.now)
        deleting = any(ChangeKind.DELETE in step.kinds for step in self._pending)
        deadline = self.bounds.deletion_deadline if deleting else self.bounds.deadline
        reached = None
        if end is CheckpointEnd.HELD:
            reached = self.now
            self.wait(self.bounds.hold if hold is None else hold)
        elif end is CheckpointEnd.DEADLINE:
            self.now = max(self.now, since + deadline)
        elif end is CheckpointEnd.LATE:
            self.now = max(self.now, since + deadline * self.bounds.patience)
        self._checkpoints += 1
        checkpoint = Checkpoint(
            name=name or f"checkpoint {self._checkpoints}", at=self.now, since=since, end=end,
            revision=self.revision, graphs=graphs, components=components, judged=judged,
            reached_at=reached, hold=self.bounds.hold if hold is None else hold, deadline=deadline,
            blocked=blocked, verified=dict.fromkeys(verified, self.revision),
            disagreed=disagreed or {}, turn=3.0 if end is CheckpointEnd.LATE else None,
            steps=tuple(step.name for step in self._pending),
        )  # fmt: skip
        self.records.append(checkpoint)
        self._pending = []
        return checkpoint

    def foreign(self, raw: Raw) -> None:
        """The suite puts an object of somebody else's into the namespace."""
        self.create(raw, by=SUITE)
        obj = Obj(raw)
        self.records.append(
            Foreign(uid=obj.uid, kind=obj.kind, namespace=obj.namespace, name=obj.name, at=self.now)
        )

    def gap(self, kind: str = "", reason: str = "the watch was closed") -> None:
        """The recorder may have missed something."""
        self.records.append(
            Gap(at=self.now, reason=reason, kind=kind, from_revision=self.revision,
                to_revision=self.revision)
        )  # fmt: skip

    def operator(self, kind: OperatorEventKind, text: str = "") -> None:
        """Something happens to the operator itself."""
        self.records.append(OperatorEvent(kind=kind, at=self.now, text=text))

    def fresh(self, graph: Graph, objects: Iterable[Raw] = (), problem: str = "") -> None:
        """A fresh deploy of a graph, to compare with."""
        self.records.append(
            Fresh(graph=graph, namespace="fresh", objects=tuple(objects), problem=problem)
        )

    def history(self) -> History:
        """The history so far."""
        return History(self.records)

    # ---------------------------------------------------------------------------------------------

    def _step_on(self) -> None:
        self.revision += 1
        self.now += self.tick

    def _put(self, type_: EventType, raw: Raw) -> None:
        self._step_on()
        stored = copy.deepcopy(raw)
        stored["metadata"]["resourceVersion"] = str(self.revision)
        if self.stamped and type_ is EventType.ADDED:
            created = datetime.datetime.fromtimestamp(self.now, datetime.UTC)
            stored["metadata"]["creationTimestamp"] = created.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.objects[stored["metadata"]["uid"]] = stored
        self.records.append(Event(type=type_, revision=self.revision, at=self.now, object=stored))

    def _audit(
        self, verb: str, raw: Raw, *, by: str, code: int = 200, subresource: str = "",
        reason: str = "",
    ) -> None:  # fmt: skip
        obj = Obj(raw)
        resource = _PLURALS.get(obj.kind, obj.kind.lower() + "s")
        self.records.append(
            Write(
                at=self.now, received_at=self.now - 0.0005, verb=verb, user=by or usual_writer(raw),
                agent="test", group=obj.group, resource=resource, subresource=subresource,
                namespace=obj.namespace, name=obj.name, code=code, reason=reason,
            )
        )  # fmt: skip


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return new


def _content(raw: Raw) -> Raw:
    metadata = {k: v for k, v in raw["metadata"].items() if k != "resourceVersion"}
    return {**raw, "metadata": metadata}


def deploy(graph: Graph) -> Transition:
    """The creation of a graph, as a transition."""
    return Transition(
        name=f"deploy {graph.name}", kinds=(ChangeKind.DEPLOY,), apply=lambda _: graph,
        services=tuple(s.name for s in graph.services),
    )  # fmt: skip


def deletion(graph: Graph) -> Transition:
    """The deletion of a graph, as a transition."""
    return Transition(
        name=f"delete {graph.name}", kinds=(ChangeKind.DELETE,), apply=lambda g: g,
        moves_generation=False,
    )  # fmt: skip


def denied(message: str, *, code: int = 403, webhook: str = "vdynamographdeployment.kb.io") -> Raw:
    """The Status object of a webhook's denial."""
    return {
        "status": "Failure", "reason": "Forbidden", "code": code,
        "message": f'admission webhook "{webhook}" denied the request: {message}',
    }  # fmt: skip


__all__ = [
    "LWS_CONTROLLER", "NAMESPACE", "OPERATOR", "PLATFORM", "STRANGER", "SUITE", "HistoryBuilder",
    "Raw", "a_graph", "a_profile", "component_name", "condition", "dcd", "deletion", "denied",
    "deploy", "dgd", "edited", "find", "labels_of", "lws_tree", "made", "namespace_basics", "pod",
    "pod_group", "settled", "settled_component", "snapshot", "swapped", "without",
]  # fmt: skip
