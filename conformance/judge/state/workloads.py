"""Which workloads a service must have: kind, number, groups and size. Tables, not names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judge.state.view import Part
from conformance.model.graph import Service
from conformance.model.kinds import DEPLOYMENT, WORKLOADS
from conformance.model.profile import LwsLayout, Profile
from conformance.model.state import Obj

# Where a workload keeps pod templates; an LWS without a leaderTemplate uses the worker's for both.
_TEMPLATES = {
    "Deployment": (("spec", "template"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
}


def wanted_kind(service: Service, profile: Profile) -> str:
    """The kind of workload that the service must be."""
    return profile.multinode.kind if service.multinode else DEPLOYMENT


def wanted_count(service: Service, profile: Profile) -> int:
    """How many workloads the service must be spread over."""
    if service.multinode and profile.multinode.layout is LwsLayout.PER_REPLICA:
        return service.groups
    return 1


def most_workloads(service: Service, profile: Profile) -> int:
    """How many there may be at most: at zero replicas one empty workload is as right as none."""
    return max(1, wanted_count(service, profile))


def right(part: Part, profile: Profile) -> list[Obj]:
    """The service's workloads of the wanted kind."""
    kind = wanted_kind(part.service, profile)
    return [workload for workload in part.workloads if workload.kind == kind]


def wrong(part: Part, profile: Profile) -> list[Obj]:
    """The service's workloads of any other kind."""
    kind = wanted_kind(part.service, profile)
    return [workload for workload in part.workloads if workload.kind != kind]


def groups_of(workload: Obj) -> int:
    """Replicas that the workload's spec asks for; the API's default of an absent field is 1."""
    value = workload.at(*WORKLOADS[workload.kind].groups)
    return 1 if value is None else int(value)


def size_of(workload: Obj) -> int:
    """Pods in each group; 1 for kinds without groups."""
    path = WORKLOADS[workload.kind].size
    value = workload.at(*path) if path else None
    return 1 if value is None else int(value)


def reports_ready(workload: Obj) -> bool:
    """True if the workload's own status, of its newest generation, says that everything it asks for
    is updated and ready."""
    status, wanted = workload.status, groups_of(workload)
    observed = workload.observed_generation
    if workload.kind not in _TEMPLATES or observed is None or observed < workload.generation:
        return False
    updating = workload.condition("UpdateInProgress") or {}
    counts = ("replicas", "updatedReplicas", "readyReplicas")
    # The API leaves a count of zero out.
    complete = all(int(status.get(count) or 0) == wanted for count in counts)
    return complete and updating.get("status") != "True"


def templates_of(workload: Obj) -> list[Mapping[str, Any]]:
    """The pod templates of the workload; none for kinds that are not known so far."""
    found = [workload.at(*path) for path in _TEMPLATES.get(workload.kind, ())]
    return [template for template in found if template]


def images_of(workload: Obj) -> list[set[str]]:
    """The images of each pod template of the workload; none for kinds that are not known so far."""
    return [images_in(template.get("spec") or {}) for template in templates_of(workload)]


def images_in(spec: Mapping[str, Any]) -> set[str]:
    """The images of a pod spec's containers, init containers left out."""
    return {str(container.get("image", "")) for container in spec.get("containers") or ()}
