"""Reconciles components: workload, gang objects, Service, status."""

import logging
from collections.abc import Callable

from . import defects
from .children import Builder, Plan, UnbuildableError
from .client import ApiError
from .cluster import Cluster, ForeignObjectError, KindNotServedError, StillTerminatingError
from .faults import Fault, Faults
from .objects import (
    COMPONENT,
    DEPLOYMENT,
    FINALIZER,
    GRAPH,
    POD_GROUP,
    SERVICE,
    WORKLOADS,
    Key,
    Kind,
    Object,
    controller_of,
    generation_of,
    is_terminating,
    key_of,
    meta,
    uid_of,
)
from .status import (
    AVAILABLE,
    Verdict,
    condition,
    judge_stale,
    judge_workload,
    replica_status,
    restamp,
)
from .validation import component_problems

log = logging.getLogger(__name__)


class ComponentController:
    """Reconciles components; safe for several threads that work on different ones."""

    def __init__(
        self,
        cluster: Cluster,
        faults: Faults,
        *,
        single_node: Kind = DEPLOYMENT,
        wake_graph: Callable[[Key], None],
        wake_after: Callable[[Key, float], None],
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._single_node = single_node
        self._wake_graph = wake_graph
        self._wake_after = wake_after
        self._timed = defects.Timed(cluster)
        self._returning = defects.ReturningDeployments(cluster)
        self._stuck: set[str] = set()
        self._slow = defects.Slow(self._timed, faults)

    def reconcile(self, key: Key) -> None:
        component = self._cluster.store(COMPONENT).get(key)
        if component is None:
            return
        if is_terminating(component):
            self._finalize(component)
            return
        if self._graph_forbids(component) or uid_of(component) in self._stuck:
            return
        if self._slow.waits(component, key, self._wake_after):
            return
        component = self._cluster.add_finalizer(COMPONENT, component)
        problems = component_problems(component, self._single_node)
        if problems:
            message = "; ".join(problem.render("v1beta1", inline=True) for problem in problems)
            self._write_status(component, Verdict(False, "ValidationFailed", message), None)
            return
        try:
            plan = Builder(component, self._faults, single_node=self._single_node).plan()
        except UnbuildableError as error:
            # The present workload keeps serving: without it there would be none at all.
            self._write_status(component, Verdict(False, "TargetNotBuildable", str(error)), None)
            if self._faults.on(Fault.STUCK_ONCE_UNBUILDABLE):
                self._stuck.add(uid_of(component))
            return
        defects.keep_live_values(plan, self._cluster, self._faults)
        if self._faults.on(Fault.DEPLOYMENT_BACK_AT_RESTART):
            self._returning.come_at_start(component, plan)
        blocked = self._apply_workload(component, plan)
        if blocked is None:
            failure = self._apply_services(component, plan)
            surplus = self._remove_surplus(component, plan)
            verdict = failure or self._judge(component, plan, surplus)
        else:
            verdict = blocked
        self._write_status(component, verdict, plan)
        if self._faults.on(Fault.DEPLOYMENT_BACK_LATER) and verdict.ok:
            self._wake_after(key, self._returning.come_later(component, plan))
        if self._faults.on(Fault.HOT_LOOP):
            self._wake_after(key, self._timed.touch_service(component))

    def _graph_forbids(self, component: Object) -> bool:
        """True for a component whose graph is gone, is going, or has not written this spec."""
        owner = controller_of(component)
        if owner is None or owner.get("kind") != GRAPH.kind:
            return False
        key = Key(meta(component)["namespace"], owner["name"])
        graph = self._cluster.store(GRAPH).get(key)
        if graph is None or uid_of(graph) != owner["uid"] or is_terminating(graph):
            return True
        if self._cluster.is_accepted(component) or self._faults.on(Fault.DCD_DOOR_LEFTOVER):
            return False
        # Somebody else edited the component: its graph restores it before anything is built.
        self._wake_graph(key)
        return True

    def _finalize(self, component: Object) -> None:
        if FINALIZER not in (meta(component).get("finalizers") or []):
            return
        toggled = self._faults.on(Fault.CHILD_LEFT_AFTER_TOGGLE) and defects.was_toggled(component)
        if self._faults.on(Fault.DELETION_LEAVES_CHILD) or toggled:
            defects.disown_service(component, self._cluster)
        children = list(self._cluster.children(uid_of(component)))
        for kind, child in children:
            self._delete(kind, child)
        if not children:
            self._cluster.remove_finalizer(COMPONENT, component)

    def _delete(self, kind: Kind, child: Object) -> None:
        """Delete a child; workloads in the foreground, so that they exist until their pods are gone.

        Else the name could be taken again while a StatefulSet of that name still exists, and the
        status could call a toggle finished while pods of the old workload run.
        """
        self._cluster.delete(kind, child, foreground=kind in WORKLOADS)

    def _apply_workload(self, component: Object, plan: Plan) -> Verdict | None:
        """Make gang objects and workload; a verdict if that cannot be finished now.

        Missing gang objects come before the workload, whose pods look for them. Existing ones change
        after it: if the API server rejects the workload, both still agree.
        """
        known = self._cluster.store(POD_GROUP)
        new = [gang for gang in plan.gangs if known.get(key_of(gang)) is None]
        old = [gang for gang in plan.gangs if gang not in new]
        return (
            self._apply_all(component, POD_GROUP, new)
            or self._apply_all(component, plan.workload_kind, [plan.workload])
            or self._apply_all(component, POD_GROUP, old)
        )

    def _apply_services(self, component: Object, plan: Plan) -> Verdict | None:
        """After the workload: a new selector before it would leave the Service without pods."""
        return self._apply_all(component, SERVICE, plan.services)

    def _apply_all(self, component: Object, kind: Kind, bodies: list[Object]) -> Verdict | None:
        try:
            for body in bodies:
                self._cluster.apply(kind, body, component)
        except ForeignObjectError as error:
            return Verdict(False, "NameConflict", str(error))
        except StillTerminatingError as error:
            return Verdict(False, "updating", str(error))
        except KindNotServedError as error:
            return Verdict(False, "ReconcileError", str(error))
        except ApiError as error:
            if not error.is_rejection:
                raise
            return Verdict(False, "ReconcileError", f"{kind.kind} was rejected: {error.message}")
        return None

    def _remove_surplus(self, component: Object, plan: Plan) -> list[str]:
        """Delete children that the plan does not have; returns those that still exist."""
        wanted = {
            kind: {meta(body)["name"] for body in bodies} for kind, bodies in plan.wanted().items()
        }
        if self._faults.on(Fault.LOOKALIKES_DELETED_ON_REMOVE):
            defects.delete_by_labels(plan, self._cluster)
        surplus = []
        for kind, child in self._cluster.children(uid_of(component)):
            if meta(child)["name"] in wanted[kind] or defects.keeps(kind, plan, self._faults):
                continue
            if self._returning.has(kind, component):
                continue
            if self._faults.on(Fault.READY_WHILE_BOTH) and kind in WORKLOADS:
                wait = self._timed.time_left_of_both(child)
                if wait > 0:
                    self._wake_after(key_of(component), wait)
                    continue
            surplus.append(f"{kind.kind} {meta(child)['name']}")
            self._delete(kind, child)
        return surplus

    def _judge(self, component: Object, plan: Plan, surplus: list[str]) -> Verdict:
        if surplus:
            return Verdict(False, "updating", f"still there: {', '.join(surplus)}")
        kind = plan.workload_kind
        workload = self._cluster.store(kind).get(key_of(plan.workload))
        if workload is None:
            return Verdict(False, "updating", f"{kind.kind} {meta(plan.workload)['name']} is gone")
        spec = component["spec"]
        if self._faults.on(Fault.STALE_READY):
            return judge_stale(kind, workload, spec)
        if self._faults.on(Fault.SIZE_NOT_CHANGED):
            spec = defects.with_size_of(workload, spec)
        pods = self._cluster.count_pods(key_of(component), uid_of(workload))
        return judge_workload(kind, workload, spec, pods)

    def _write_status(self, component: Object, verdict: Verdict, plan: Plan | None) -> None:
        available = condition(component, AVAILABLE, verdict)
        if self._faults.on(Fault.LASTTRANSITION_MOVES) and verdict.ok:
            self._wake_after(key_of(component), restamp(available))
        status: Object = {
            "observedGeneration": generation_of(component),
            "conditions": [available],
        }
        if (serving := self._serving(component, plan)) is not None:
            status["component"] = replica_status(*serving)
        self._cluster.write_status(COMPONENT, component, status)

    def _serving(self, component: Object, plan: Plan | None) -> tuple[Kind, Object] | None:
        """The workload that the status names: the wanted one, else one that still serves."""
        uid = uid_of(component)
        owned = [(kind, obj) for kind, obj in self._cluster.children(uid) if kind in WORKLOADS]
        if plan is not None:
            for kind, obj in owned:
                if kind is plan.workload_kind and key_of(obj) == key_of(plan.workload):
                    return kind, obj
        return owned[0] if owned else None
