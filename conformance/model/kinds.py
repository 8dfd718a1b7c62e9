"""Kinds of objects: which run a service's pods, which the platform makes, which need no owner.

A new kind of workload is one `WorkloadKind` in `WORKLOADS`: where it keeps its templates and counts,
how it rolls, and who fills it. Nothing else in the suite names the fields of a kind.
"""

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.state import Obj

DEPLOYMENT = "Deployment"
STATEFUL_SET = "StatefulSet"
LWS = "LeaderWorkerSet"
LWS_GROUP = "leaderworkerset.x-k8s.io"
LWS_NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
LWS_WORKER_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
POD_GROUP = "PodGroup"
POD_GROUP_GROUP = "scheduling.volcano.sh"

Path = tuple[str, ...]


class Actor(enum.StrEnum):
    """Whose code made an object, and so whose fault a wrong one is."""

    OPERATOR = "operator"
    LWS_CONTROLLER = "LWS controller"
    PLATFORM = "Kubernetes"
    SUITE = "suite"
    UNKNOWN = "unknown writer"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """Where a kind keeps a pod template. `instead` is used where there is none at `path`."""

    path: Path
    name: str = "template"
    leads: bool = True
    """False for the followers of a group, whose command is the operator's affair."""
    instead: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How a kind replaces its pods, in replicas or percent; a missing field has the API's default.

    Sources: the API reference of Deployment, StatefulSet and LeaderWorkerSet.
    """

    max_unavailable: Path
    unavailable: int | str
    max_surge: Path | None = None
    surge: int | str = 0
    type: Path = ()
    all_at_once: str = ""
    """The `type` that takes every pod down before it makes a new one."""
    at_least_one: bool = False
    """With neither surge nor unavailable pods a rollout takes one pod down all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """A kind that runs a service's pods."""

    kind: str
    group: str
    multinode: bool
    groups: Path = ("spec", "replicas")
    """Replicas; of a kind for many nodes, groups."""
    size: Path | None = None
    """Pods in each group; None where a group is one pod."""
    templates: tuple[PodTemplate, ...] = ()
    counts: tuple[str, ...] = ()
    """Counts in its status: of its replicas, of those updated, of those ready. All equal the replicas
    asked for once a rollout is complete; a kind without them says nothing of its rollout."""
    updating: str = ""
    """The condition that is True while it rolls."""
    strategy: Strategy | None = None
    pod_label: str = ""
    """A label that its controller gives to each of its pods."""
    index_label: str = ""
    """A label of its pods that is `0` for those which take requests, the leaders of groups."""
    filled_by: Actor = Actor.PLATFORM
    makes: frozenset[str] = frozenset()
    """Kinds of workloads that its own controller makes below it, which are then the platform's."""
    when_declared: bool = False
    """True for a kind that operators use for helpers, too: it counts where the profile names it."""

    def groups_of(self, workload: Obj) -> int:
        """Replicas that the workload asks for; an absent field means 1."""
        value = workload.at(*self.groups)
        return 1 if value is None else int(value)

    def size_of(self, workload: Obj) -> int:
        """Pods in each of its groups."""
        value = workload.at(*self.size) if self.size else None
        return 1 if value is None else int(value)

    def templates_of(self, workload: Obj) -> list[tuple[PodTemplate, Mapping[str, Any]]]:
        """Its pod templates, each with where it stands. One that stands in for another comes once."""
        found: list[tuple[PodTemplate, Mapping[str, Any]]] = []
        for template in self.templates:
            own = workload.at(*template.path)
            stand_in = workload.at(*template.instead) if template.instead else None
            value = own or stand_in
            if value and not any(other is value for _, other in found):
                found.append((template, value))
        return found

    def rolling(self, workload: Obj) -> bool:
        """True while its status says that a rollout is in progress."""
        if not self.counts:
            return False
        total, updated, _ = self._counted(workload)
        return updated < total or self._says_updating(workload)

    def complete(self, workload: Obj) -> bool:
        """True if its status, of its newest generation, says that everything is updated and ready."""
        observed = workload.observed_generation
        if not self.counts or observed is None or observed < workload.generation:
            return False
        wanted = self.groups_of(workload)
        reached = all(count == wanted for count in self._counted(workload))
        return reached and not self._says_updating(workload)

    def _counted(self, workload: Obj) -> list[int]:
        # The API leaves a count of zero out.
        return [int(workload.status.get(count) or 0) for count in self.counts]

    def _says_updating(self, workload: Obj) -> bool:
        condition = workload.condition(self.updating) or {}
        return condition.get("status") == "True"

    def unavailable(self, workload: Obj, *, wanted: int) -> int:
        """How many of `wanted` replicas may be missing while it rolls. A kind whose strategy is not
        known promises nothing that could be held against it."""
        strategy = self.strategy
        if strategy is None:
            return wanted
        if strategy.all_at_once and workload.at(*strategy.type) == strategy.all_at_once:
            return wanted
        lost = workload.at(*strategy.max_unavailable, default=strategy.unavailable)
        surge = workload.at(*(strategy.max_surge or ("",)), default=strategy.surge)
        missing = _resolve(lost, wanted, math.floor)
        if strategy.at_least_one and not missing and not _resolve(surge, wanted, math.ceil):
            return 1
        return missing


def _resolve(value: Any, of: int, rounding: Callable[[float], int]) -> int:
    text = str(value)
    return int(rounding(int(text[:-1]) * of / 100)) if text.endswith("%") else int(text)


_COUNTS = ("replicas", "updatedReplicas", "readyReplicas")
_ANY = frozenset({DEPLOYMENT, STATEFUL_SET, LWS, "PodCliqueSet", "DisaggregatedSet"})

WORKLOADS: dict[str, WorkloadKind] = {
    row.kind: row
    for row in (
        WorkloadKind(
            kind=DEPLOYMENT,
            group="apps",
            multinode=False,
            templates=(PodTemplate(path=("spec", "template")),),
            counts=_COUNTS,
            pod_label="pod-template-hash",
            strategy=Strategy(
                max_unavailable=("spec", "strategy", "rollingUpdate", "maxUnavailable"),
                unavailable="25%",
                max_surge=("spec", "strategy", "rollingUpdate", "maxSurge"),
                surge="25%",
                type=("spec", "strategy", "type"),
                all_at_once="Recreate",
                at_least_one=True,
            ),
        ),
        WorkloadKind(
            kind=STATEFUL_SET,
            group="apps",
            multinode=False,
            templates=(PodTemplate(path=("spec", "template")),),
            counts=_COUNTS,
            strategy=Strategy(
                max_unavailable=("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"),
                unavailable=1,
            ),
            when_declared=True,
        ),
        WorkloadKind(
            kind=LWS,
            group=LWS_GROUP,
            multinode=True,
            size=("spec", "leaderWorkerTemplate", "size"),
            templates=(
                PodTemplate(
                    path=("spec", "leaderWorkerTemplate", "leaderTemplate"),
                    name="leader template",
                    # Without a leader template the worker's is used for leaders, too (LWS API).
                    instead=("spec", "leaderWorkerTemplate", "workerTemplate"),
                ),
                PodTemplate(
                    path=("spec", "leaderWorkerTemplate", "workerTemplate"),
                    name="worker template",
                    leads=False,
                ),
            ),
            counts=_COUNTS,
            updating="UpdateInProgress",
            pod_label=LWS_NAME_LABEL,
            index_label=LWS_WORKER_INDEX_LABEL,
            filled_by=Actor.LWS_CONTROLLER,
            makes=frozenset({STATEFUL_SET}),
            strategy=Strategy(
                max_unavailable=(
                    "spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxUnavailable",
                ),
                unavailable=1,
            ),
        ),
        WorkloadKind(kind="PodCliqueSet", group="grove.io", multinode=True, makes=_ANY),
        WorkloadKind(
            kind="DisaggregatedSet", group="disaggregatedset.x-k8s.io", multinode=True, makes=_ANY
        ),
    )
}  # fmt: skip


def workload_kind(obj: Obj) -> WorkloadKind | None:
    """The row of a workload; None for any other object, and for another group's kind of that name."""
    row = WORKLOADS.get(obj.kind)
    return row if row is not None and row.group == obj.group else None


def takes_requests(pod: Obj) -> bool:
    """True for a pod that a component's Service selects: a single-node pod or the leader of a group.
    Followers answer no requests (F18)."""
    labels = (row.index_label for row in WORKLOADS.values() if row.index_label)
    return all(pod.labels.get(label, "0") == "0" for label in labels)


# Kinds that the platform makes below a workload. Their life is judged; the blame goes to the actor that
# owns them.
PLATFORM_KINDS: dict[str, str] = {
    "ReplicaSet": "made by the Deployment controller",
    "Pod": "made by ReplicaSets, StatefulSets",
    STATEFUL_SET: "made by the LWS controller (leaders, and one of workers per group)",
    "ControllerRevision": "made by the LWS and StatefulSet controllers for each template",
    "EndpointSlice": "made by the endpoint slice controller for each Service",
    "Endpoints": "made by the endpoints controller for each Service; the Service owns it by name",
}

EVIDENCE_KINDS = frozenset({"Event", "Endpoints", "EndpointSlice", "Lease", "ControllerRevision"})
"""Evidence and bookkeeping of the platform: recorded, never counted."""


class Role(enum.Enum):
    """What an object is to a graph, by its kind and its owners."""

    GRAPH = enum.auto()
    COMPONENT = enum.auto()
    CHILD = enum.auto()
    """Below a graph or component, of a kind that operators make."""
    PLATFORM = enum.auto()
    """Of a kind that the platform makes below a workload."""
    EVIDENCE = enum.auto()
    OTHER = enum.auto()


def role_of(obj: Obj) -> Role:
    """The role of an object. A StatefulSet below an LWS or a pod is the platform's, one that a graph or
    component owns is the operator's child."""
    if obj.kind == GRAPH_KIND:
        return Role.GRAPH
    if obj.kind == COMPONENT_KIND:
        return Role.COMPONENT
    if obj.kind in EVIDENCE_KINDS:
        return Role.EVIDENCE
    owned = any(owner.get("kind") in (GRAPH_KIND, COMPONENT_KIND) for owner in obj.owners)
    if owned and (obj.kind not in PLATFORM_KINDS or workload_kind(obj) is not None):
        return Role.CHILD
    return Role.PLATFORM if obj.kind in PLATFORM_KINDS else Role.OTHER


def of_platform(obj: Obj) -> bool:
    """True for an object of a kind that the platform makes, unless a graph or component owns it and it
    is of a kind that runs a service's pods."""
    return obj.kind in PLATFORM_KINDS and role_of(obj) is not Role.CHILD


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
