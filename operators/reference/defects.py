"""Faults that are more than one skipped line; without ``--fault`` nothing here does anything."""

import copy
import time
from collections.abc import Callable
from typing import Any

from .children import Builder, Plan
from .cluster import Cluster
from .faults import Fault, Faults
from .objects import (
    DEPLOYMENT,
    HASH_ANNOTATION,
    LABEL_COMPONENT_TYPE,
    LWS,
    POD_GROUP,
    SERVICE,
    SINGLE_NODE,
    Key,
    Kind,
    Object,
    digest,
    generation_of,
    key_of,
    labels_of,
    meta,
    uid_of,
)
from .status import AVAILABLE

SPIN_SECONDS = 0.2
BOTH_SECONDS = 5.0
# Longer than any hold window, shorter than a case.
BACK_SECONDS = 8.0
STEP_SECONDS = 60.0


def keep_live_values(plan: Plan, cluster: Cluster, faults: Faults) -> None:
    """Put into the plan those values of the live objects that a fault never changes."""
    workload = cluster.store(plan.workload_kind).get(key_of(plan.workload))
    if workload is not None:
        if faults.on(Fault.SIZE_NOT_CHANGED) and plan.workload_kind is LWS:
            _keep(plan.workload, workload, "leaderWorkerTemplate", "size")
        if faults.on(Fault.IMAGE_NOT_ROLLED):
            _keep_images(plan, workload)
    if faults.on(Fault.GANG_MINMEMBER_STALE):
        for gang in plan.gangs:
            _keep_from(cluster, POD_GROUP, gang, "minMember")
    if faults.on(Fault.SERVICE_STALE_SELECTOR):
        for service in plan.services:
            _keep_from(cluster, SERVICE, service, "selector")


def keeps(kind: Kind, plan: Plan, faults: Faults) -> bool:
    """True if a fault leaves surplus objects of this kind alone."""
    multinode = plan.workload_kind is LWS
    if kind.kind in SINGLE_NODE:
        prefill = labels_of(plan.workload).get(LABEL_COMPONENT_TYPE) == "prefill"
        kept = (Fault.DEPLOYMENT_KEPT_ON_ADD, Fault.STATEFULSET_KEPT_ON_ADD)
        return any(faults.on(fault) for fault in kept) or (
            prefill and faults.on(Fault.PREFILL_DEPLOYMENT_KEPT)
        )
    if kind is POD_GROUP:
        return not multinode and faults.on(Fault.PODGROUP_KEPT)
    if kind is LWS and multinode:
        return faults.on(Fault.OLD_GENERATION_KEPT)
    return kind is LWS and (
        faults.on(Fault.LWS_KEPT_ON_REMOVE) or faults.on(Fault.DCD_DOOR_LEFTOVER)
    )


def with_size_of(workload: Object, spec: Object) -> Object:
    """The component's spec as if it wanted the size that the workload has."""
    template = workload["spec"].get("leaderWorkerTemplate")
    if template is None:
        return spec
    return {**spec, "multinode": {"nodeCount": template["size"]}}


def disown_service(component: Object, cluster: Cluster) -> None:
    for service in cluster.store(SERVICE).owned_by(uid_of(component)):
        cluster.patch(SERVICE, service, {"metadata": {"ownerReferences": None}})


def was_toggled(component: Object) -> bool:
    """True if a changed spec of the component was reached. Deletion itself moves the generation."""
    status = component.get("status") or {}
    conditions = status.get("conditions") or []
    available = any(c["type"] == AVAILABLE and c["status"] == "True" for c in conditions)
    return available and int(status.get("observedGeneration") or 0) > 1


def delete_by_labels(plan: Plan, cluster: Cluster) -> None:
    """Delete groups and gang objects that carry the labels of a single-node component, whoever owns
    them."""
    if plan.workload_kind is LWS:
        return
    for kind in (LWS, POD_GROUP):
        for obj in cluster.store(kind).in_namespace(key_of(plan.workload).namespace):
            if labels_of(plan.workload).items() <= labels_of(obj).items():
                cluster.delete(kind, obj)


def with_refused_topology(graph: Object, refused: Object) -> Object:
    """The graph with the node counts that were refused, once another change was accepted.

    The API server counts the generation up before it asks the webhook.
    """
    if generation_of(graph) < generation_of(refused):
        return graph
    spec = copy.deepcopy(graph["spec"])
    asked = {c.get("name"): c.get("multinode") for c in refused["spec"]["components"]}
    for component in spec["components"]:
        component.pop("multinode", None)
        if multinode := asked.get(component.get("name")):
            component["multinode"] = multinode
    return {**graph, "spec": spec}


class ReturningDeployments:
    """Deployments that come back after a toggle. One thread at a time works on a component."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: set[str] = set()
        self._back: set[str] = set()
        self._at_rest: dict[str, float] = {}

    def come_at_start(self, component: Object, plan: Plan) -> None:
        """Make the Deployment of a multinode component that was changed before this process began."""
        uid = uid_of(component)
        if uid not in self._seen and generation_of(component) > 1 and plan.workload_kind is LWS:
            self._bring(component)
        self._seen.add(uid)

    def come_later(self, component: Object, plan: Plan) -> float:
        """Make it some seconds after a changed component came to rest; returns seconds to wait."""
        changed = plan.workload_kind is LWS and generation_of(component) > 1
        if not changed or uid_of(component) in self._back:
            return BACK_SECONDS
        now = time.monotonic()
        left = self._at_rest.setdefault(uid_of(component), now) + BACK_SECONDS - now
        if left > 0:
            return left
        self._bring(component)
        return BACK_SECONDS

    def has(self, kind: Kind, component: Object) -> bool:
        return kind is DEPLOYMENT and uid_of(component) in self._back

    def _bring(self, component: Object) -> None:
        spec = {key: value for key, value in component["spec"].items() if key != "multinode"}
        old = Builder({**component, "spec": spec}, Faults()).plan()
        self._cluster.apply(DEPLOYMENT, old.workload, component)
        self._back.add(uid_of(component))


class Timed:
    """Faults that need a clock. One thread at a time works on a component."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._touched: dict[str, float] = {}
        self._both_since: dict[str, float] = {}

    def touch_service(self, component: Object) -> float:
        """Rewrite the component's Services if it is time; returns the seconds to the next time."""
        now = time.monotonic()
        left = self._touched.get(uid_of(component), 0.0) + SPIN_SECONDS - now
        if left > 0:
            return left
        self._touched[uid_of(component)] = now
        for service in self._cluster.store(SERVICE).owned_by(uid_of(component)):
            stamp = {"metadata": {"annotations": {"nvidia.com/touched": str(time.time_ns())}}}
            self._cluster.patch(SERVICE, service, stamp)
        return SPIN_SECONDS

    def time_left_of_both(self, old_workload: Object) -> float:
        """Seconds for which the old workload is still kept."""
        now = time.monotonic()
        since = self._both_since.setdefault(uid_of(old_workload), now)
        return max(0.0, since + BOTH_SECONDS - now)


def _keep_images(plan: Plan, live: Object) -> None:
    paths = (
        ("template",),
        ("leaderWorkerTemplate", "leaderTemplate"),
        ("leaderWorkerTemplate", "workerTemplate"),
    )
    for path in paths:
        wanted, known = _at(plan.workload["spec"], path), _at(live["spec"], path)
        if wanted is None or known is None:
            continue
        images = {entry["name"]: entry.get("image") for entry in known["spec"]["containers"]}
        for container in wanted["spec"]["containers"]:
            container["image"] = images.get(container["name"], container.get("image"))
    _restamp(plan.workload)


def _keep_from(cluster: Cluster, kind: Kind, body: Object, *path: str) -> None:
    live = cluster.store(kind).get(key_of(body))
    if live is not None:
        _keep(body, live, *path)


def _keep(body: Object, live: Object, *path: str) -> None:
    parent = _at(body["spec"], path[:-1])
    value = _at(live.get("spec") or {}, path)
    if value is not None:
        parent[path[-1]] = value
        _restamp(body)


def _at(spec: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        spec = (spec or {}).get(part)
    return spec


def _restamp(body: Object) -> None:
    meta(body)["annotations"][HASH_ANNOTATION] = digest([body["spec"], labels_of(body)])


class Slow:
    """Components that were changed and wait for their turn: for ever, or a minute for each step."""

    def __init__(self, timed: Timed, faults: Faults) -> None:
        self._timed = timed
        self._faults = faults
        self._seen: dict[str, Object] = {}
        self._looks_at: dict[str, float] = {}

    def waits(self, component: Object, key: Key, wake_after: Callable[[Key, float], None]) -> bool:
        """True if a fault leaves this component alone for now."""
        uid = uid_of(component)
        first = self._seen.setdefault(uid, component)
        if generation_of(component) == generation_of(first):
            return False
        if self._faults.on(Fault.STUCK_FOR_ONE_GRAPH):
            here = meta(component)["namespace"]
            others = (one for one in self._seen.values() if meta(one)["namespace"] != here)
            wake_after(key, max(map(self._timed.touch_service, others), default=SPIN_SECONDS))
            return True
        if self._faults.on(Fault.ONE_STEP_A_MINUTE):
            now = time.monotonic()
            if now < self._looks_at.setdefault(uid, now + STEP_SECONDS):
                wake_after(key, self._looks_at[uid] - now)
                return True
            self._looks_at[uid] = now + STEP_SECONDS
        return False
