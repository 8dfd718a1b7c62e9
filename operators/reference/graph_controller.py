"""Reconciles graphs: their components and their status."""

import copy
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from . import defects
from .client import ApiError
from .cluster import Cluster, ForeignObjectError, KindNotServedError, StillTerminatingError
from .faults import Fault, Faults
from .objects import (
    COMPONENT,
    DEPLOYMENT,
    FINALIZER,
    GRAPH,
    HASH_ANNOTATION,
    LABEL_COMPONENT,
    LABEL_GRAPH,
    LABEL_NAMESPACE,
    Key,
    Kind,
    Object,
    child_name,
    component_name,
    digest,
    generation_of,
    is_terminating,
    key_of,
    meta,
    owner_reference,
    uid_of,
)
from .status import READY, Verdict, condition, judge_component_object, restamp
from .validation import graph_problems

log = logging.getLogger(__name__)

NOT_READY = "some_resources_are_not_ready"
_DOOR_DELAY_SECONDS = 0.5


@dataclass(frozen=True)
class Outcome:
    """The result for one component."""

    name: str
    live: Object | None
    verdict: Verdict
    failed: bool = False
    """True if only another object or spec can make it succeed."""


class GraphController:
    """Reconciles graphs; safe for several threads that work on different ones."""

    def __init__(
        self,
        cluster: Cluster,
        faults: Faults,
        *,
        single_node: Kind = DEPLOYMENT,
        wake_component: Callable[[Key], None],
        wake_after: Callable[[Key, float], None],
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._single_node = single_node
        self._wake_component = wake_component
        self._wake_after = wake_after
        self._lock = threading.Lock()
        self._refused: dict[Key, Object] = {}
        self._doors: set[tuple[str, int]] = set()
        self._seen: set[str] = set()

    def act_on_refused(self, graph: Object) -> None:
        """For faults: carry out, now or later, what the webhook has just refused."""
        with self._lock:
            self._refused[key_of(graph)] = graph
        self._wake_after(key_of(graph), 0.0)

    def reconcile(self, key: Key) -> None:
        graph = self._cluster.store(GRAPH).get(key)
        if graph is None:
            return
        if is_terminating(graph):
            missed = self._faults.on(Fault.DELETION_MISSED_WHILE_DOWN)
            if not missed or uid_of(graph) in self._seen:
                self._finalize(graph)
            return
        self._seen.add(uid_of(graph))
        graph = self._cluster.add_finalizer(GRAPH, graph)
        with self._lock:
            refused = self._refused.get(key)
        if refused is not None:
            if self._faults.on(Fault.REFUSED_CHANGE_DONE_LATER):
                graph = defects.with_refused_topology(graph, refused)
            else:
                graph = {**graph, "spec": refused["spec"]}
        problems = graph_problems(graph, self._single_node)
        if problems:
            # The stored spec got past the webhook; the workloads stay as they are until it is repaired.
            message = "; ".join(problem.render("v1beta1") for problem in problems)
            self._write_status(graph, [], Verdict(False, "ValidationFailed", message), failed=True)
            return
        bodies = [self._body(graph, component) for component in graph["spec"]["components"]]
        outcomes = [self._apply(graph, body) for body in bodies]
        surplus = self._remove_surplus(graph, {meta(body)["name"] for body in bodies})
        verdict = self._judge(outcomes, surplus)
        failed = any(outcome.failed for outcome in outcomes)
        self._write_status(graph, outcomes, verdict, failed=failed)

    def _finalize(self, graph: Object) -> None:
        if FINALIZER not in (meta(graph).get("finalizers") or []):
            return
        components = self._cluster.store(COMPONENT).owned_by(uid_of(graph))
        for component in components:
            self._cluster.delete(COMPONENT, component)
        if not components:
            self._cluster.remove_finalizer(GRAPH, graph)

    def _body(self, graph: Object, component: Object) -> Object:
        name = meta(graph)["name"]
        namespace = meta(graph)["namespace"]
        labels = {
            LABEL_COMPONENT: component_name(component),
            LABEL_NAMESPACE: (
                "dynamo" if component.get("globalDynamoNamespace") else f"{namespace}-{name}"
            ),
            LABEL_GRAPH: name,
        }
        spec = component_spec(graph["spec"], component)
        return {
            "metadata": {
                "name": child_name(name, component_name(component)),
                "namespace": namespace,
                "labels": labels,
                "annotations": {HASH_ANNOTATION: digest([spec, labels])},
                "finalizers": [FINALIZER],
                "ownerReferences": [owner_reference(graph, GRAPH)],
            },
            "spec": spec,
        }

    def _apply(self, graph: Object, body: Object) -> Outcome:
        name = component_name(body["spec"])
        try:
            if self._leave_door_open(key_of(body), graph):
                return Outcome(name, None, Verdict(False, NOT_READY, "waiting"))
            live = self._cluster.apply(COMPONENT, body, graph, exact=True)
        except ForeignObjectError as error:
            return Outcome(name, None, Verdict(False, "NameConflict", str(error)), failed=True)
        except (StillTerminatingError, KindNotServedError) as error:
            return Outcome(name, None, Verdict(False, NOT_READY, str(error)))
        except ApiError as error:
            if not error.is_rejection:
                raise
            message = f"its component was rejected: {error.message}"
            return Outcome(name, None, Verdict(False, "ReconcileError", message), failed=True)
        known = self._cluster.store(COMPONENT).get(key_of(body))
        if known is None or not self._cluster.is_accepted(known):
            known = live
        self._wake_component(key_of(body))
        verdict = judge_component_object(known)
        failed = verdict.reason in ("NameConflict", "TargetNotBuildable", "ReconcileError")
        return Outcome(name, known, verdict, failed=failed)

    def _leave_door_open(self, key: Key, graph: Object) -> bool:
        """Fault ``dcd-door-leftover``: an edit of a component lives for an instant before repair."""
        if not self._faults.on(Fault.DCD_DOOR_LEFTOVER):
            return False
        live = self._cluster.store(COMPONENT).get(key)
        if live is None or self._cluster.is_accepted(live):
            return False
        door = (uid_of(live), generation_of(live))
        if door in self._doors:
            return False
        self._doors.add(door)
        self._wake_after(key_of(graph), _DOOR_DELAY_SECONDS)
        return True

    def _remove_surplus(self, graph: Object, wanted: set[str]) -> list[str]:
        """Delete components that the graph no longer names; returns those that still exist."""
        if self._faults.on(Fault.SERVICE_REMOVED_DCD_KEPT):
            return []
        surplus = []
        for component in self._cluster.store(COMPONENT).owned_by(uid_of(graph)):
            name = meta(component)["name"]
            if name not in wanted:
                surplus.append(name)
                self._cluster.delete(COMPONENT, component)
        return surplus

    def _judge(self, outcomes: list[Outcome], surplus: list[str]) -> Verdict:
        bad = [outcome for outcome in outcomes if not outcome.verdict.ok]
        if bad:
            first = next((outcome for outcome in bad if outcome.failed), bad[0])
            message = "; ".join(f"{outcome.name}: {outcome.verdict.message}" for outcome in bad)
            reason = first.verdict.reason if first.failed else NOT_READY
            return Verdict(False, reason, message)
        if surplus:
            return Verdict(False, NOT_READY, f"being removed: {', '.join(sorted(surplus))}")
        return Verdict(True, "all_resources_are_ready", "all components are ready")

    def _write_status(
        self, graph: Object, outcomes: list[Outcome], verdict: Verdict, *, failed: bool
    ) -> None:
        state = "successful" if verdict.ok else "failed" if failed else "pending"
        ready = condition(graph, READY, verdict)
        if self._faults.on(Fault.LASTTRANSITION_MOVES) and verdict.ok:
            self._wake_after(key_of(graph), restamp(ready))
        status: Object = {
            "observedGeneration": generation_of(graph),
            "state": state,
            "conditions": [ready],
        }
        components: Object = {}
        if self._faults.on(Fault.STATUS_SERVICE_KEY_STAYS):
            components |= (graph.get("status") or {}).get("components") or {}
        for outcome in outcomes:
            observed = ((outcome.live or {}).get("status") or {}).get("component")
            if observed:
                components[outcome.name] = observed
        if components:
            status["components"] = components
        self._cluster.write_status(GRAPH, graph, status)


def component_spec(graph_spec: Object, component: Object) -> Object:
    """The spec of a component object: its entry in the graph, and the graph's common settings."""
    spec = copy.deepcopy(component)
    if framework := graph_spec.get("backendFramework"):
        spec["backendFramework"] = framework
    common = {key: graph_spec[key] for key in ("labels", "annotations") if graph_spec.get(key)}
    env: list[Object] = graph_spec.get("env") or []
    priority = graph_spec.get("priorityClassName")
    if not (common or env or priority):
        return spec
    template: Object = spec.setdefault("podTemplate", {})
    for key, values in common.items():
        metadata = template.setdefault("metadata", {})
        metadata[key] = {**values, **(metadata.get(key) or {})}
    pod = template.setdefault("spec", {})
    if priority:
        pod.setdefault("priorityClassName", priority)
    for container in pod.get("containers") or []:
        if env and container.get("name") == "main":
            own: list[Object] = container.get("env") or []
            names = {entry.get("name") for entry in own}
            container["env"] = [entry for entry in env if entry.get("name") not in names] + own
    return spec
