"""A graph controller without a component layer: the graph itself owns workloads and Services."""

from typing import Any

from .children import Builder, Plan, UnbuildableError
from .component_controller import apply_children
from .graph_controller import GraphController, Outcome
from .objects import (
    GRAPH,
    LABEL_COMPONENT,
    POD_GROUP,
    SERVICE,
    WORKLOADS,
    Object,
    child_name,
    component_name,
    key_of,
    labels_of,
    meta,
    uid_of,
)
from .status import Verdict, judge_workload, replica_status


class DirectGraphController(GraphController):
    """Uses what would be the component's body as the plan of a service, and makes its children."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._plans: dict[tuple[str, str], Plan | None] = {}
        """Of each service of a graph, by the graph's uid; None for one that cannot be built. One thread
        at a time works on a graph."""

    def _apply(self, graph: Object, body: Object) -> Outcome:
        name = component_name(body["spec"])
        owner = (graph, GRAPH)
        plan: Plan | None = None
        try:
            builder = Builder(body, self._faults, single_node=self._single_node, owner=owner)
            plan = builder.plan()
            verdict = self._made(graph, plan, body)
        except UnbuildableError as error:
            verdict = Verdict(False, "TargetNotBuildable", str(error))
        self._plans[uid_of(graph), name] = plan
        failed = verdict.reason in ("NameConflict", "TargetNotBuildable", "ReconcileError")
        return Outcome(name, self._serving(graph, name, plan), verdict, failed=failed)

    def _made(self, graph: Object, plan: Plan, body: Object) -> Verdict:
        for kind, bodies in (
            (POD_GROUP, plan.gangs),
            (plan.workload_kind, [plan.workload]),
            (SERVICE, plan.services),
        ):
            failure = apply_children(self._cluster, kind, bodies, graph)
            if failure is not None:
                return failure
        workload = self._cluster.store(plan.workload_kind).get(key_of(plan.workload))
        if workload is None:
            return Verdict(False, "updating", f"{meta(plan.workload)['name']} is gone")
        pods = self._cluster.count_pods(key_of(body), uid_of(workload))
        return judge_workload(plan.workload_kind, workload, body["spec"], pods)

    def _serving(self, graph: Object, service: str, plan: Plan | None) -> Object | None:
        """As a component says it in its status: the wanted workload, else one that still serves."""
        owned = [
            (kind, child)
            for kind, child in self._cluster.children(uid_of(graph))
            if kind in WORKLOADS and labels_of(child).get(LABEL_COMPONENT) == service
        ]
        if plan is not None:
            owned.sort(key=lambda row: key_of(row[1]) != key_of(plan.workload))
            owned.sort(key=lambda row: row[0] is not plan.workload_kind)
        if not owned:
            return None
        return {"status": {"component": replica_status(*owned[0])}}

    def _remove_surplus(self, graph: Object, wanted: set[str]) -> list[str]:
        """Delete children that no plan has; returns those that still exist."""
        surplus = []
        for kind, child in self._cluster.children(uid_of(graph)):
            service = labels_of(child).get(LABEL_COMPONENT, "")
            if child_name(meta(graph)["name"], service) in wanted:
                plan = self._plans[uid_of(graph), service]
                if plan is None or any(
                    meta(body)["name"] == meta(child)["name"] for body in plan.wanted()[kind]
                ):
                    continue
            surplus.append(f"{kind.kind} {meta(child)['name']}")
            self._cluster.delete(kind, child, foreground=kind in WORKLOADS)
        return surplus
