"""Tables of kinds: what is a workload, what is the platform's, what has no owner by nature.

Tables, not ifs: a new workload kind (PodCliqueSet, DisaggregatedSet) is a row here.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

DEPLOYMENT = "Deployment"
LWS = "LeaderWorkerSet"
LWS_GROUP = "leaderworkerset.x-k8s.io"
LWS_NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
LWS_WORKER_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
LWS_GROUP_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/group-index"
POD_GROUP = "PodGroup"
POD_GROUP_GROUP = "scheduling.volcano.sh"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """A kind that runs a service's pods. `groups` and `size` are paths into the object."""

    kind: str
    group: str
    groups: tuple[str, ...]
    size: tuple[str, ...] | None
    multinode: bool
    composed: bool = False
    """Its own controller makes other workloads below it, which are then the platform's."""


WORKLOADS: dict[str, WorkloadKind] = {
    row.kind: row
    for row in (
        WorkloadKind(
            kind=DEPLOYMENT, group="apps", groups=("spec", "replicas"), size=None, multinode=False
        ),
        WorkloadKind(
            kind=LWS,
            group=LWS_GROUP,
            groups=("spec", "replicas"),
            size=("spec", "leaderWorkerTemplate", "size"),
            multinode=True,
        ),
        WorkloadKind(
            kind="PodCliqueSet",
            group="grove.io",
            groups=("spec", "replicas"),
            size=None,
            multinode=True,
            composed=True,
        ),
        WorkloadKind(
            kind="DisaggregatedSet",
            group="disaggregatedset.x-k8s.io",
            groups=("spec", "replicas"),
            size=None,
            multinode=True,
            composed=True,
        ),
    )
}


class Actor(enum.StrEnum):
    """Whose code made an object, and so whose fault a wrong one is."""

    OPERATOR = "operator"
    LWS_CONTROLLER = "LWS controller"
    PLATFORM = "Kubernetes"
    SUITE = "suite"
    UNKNOWN = "unknown writer"


# Kinds that the platform makes below a workload. Their life is judged; the blame goes to the layer
# that owns them (design §10).
PLATFORM_KINDS: dict[str, str] = {
    "ReplicaSet": "made by the Deployment controller",
    "Pod": "made by ReplicaSets, StatefulSets",
    "StatefulSet": "made by the LWS controller (leaders, and one of workers per group)",
    "ControllerRevision": "made by the LWS and StatefulSet controllers for each template",
    "EndpointSlice": "made by the endpoint slice controller for each Service",
    "Endpoints": "made by the endpoints controller for each Service; the Service owns it by name",
}

# Ownerless by nature: kind → reason. "*" names all objects of the kind, else the listed names.
OWNERLESS: tuple[tuple[str, str, str], ...] = (
    ("Event", "*", "evidence of others, expires by itself"),
    ("Endpoints", "*", "the Service owns it by its name, not by an ownerReference"),
    ("IPAddress", "*", "the API server's record of a Service's cluster IP, which goes with it"),
    ("ConfigMap", "kube-root-ca.crt", "published into each namespace by the controller manager"),
    ("ServiceAccount", "default", "made in each namespace by the controller manager"),
    ("Lease", "*", "heartbeats; no workload object"),
    ("Namespace", "*", "made by the suite; one that the operator made is a left-over of the run"),
    ("PodMetrics", "*", "measurements, not objects"),
)

# Kinds that are not recorded at all: kind → reason. Short on purpose.
UNRECORDED: dict[str, str] = {
    "Lease": "leader election and node heartbeats: a write every few seconds, no workload object",
    "ComponentStatus": "deprecated, not watchable in a useful way",
}


COLLECTORS = frozenset({"foregroundDeletion", "orphan", "kubernetes"})
"""Finalizers that Kubernetes itself takes away: the garbage collector's and that of namespaces."""


def ownerless(kind: str, name: str) -> str | None:
    """The reason why an object of that kind and name needs no owner, or None if it does need one."""
    for row_kind, row_name, reason in OWNERLESS:
        if row_kind == kind and row_name in ("*", name):
            return reason
    return None
