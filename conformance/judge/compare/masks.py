"""In what two equal states may differ: data, a reason each. First whole classes of objects are left
out, then fields are masked, then texts that only name things: never the existence of an object. A
profile adds masks of its own."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from conformance.model.exemptions import Mask
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import DEPLOYMENT
from conformance.model.state import Obj, State


def _empty_under_living(obj: Obj, state: State) -> bool:
    below = any(owner.kind == DEPLOYMENT for owner in _living_owners(obj, state))
    return below and not obj.at("spec", "replicas", default=1)


def _living_owners(obj: Obj, state: State) -> list[Obj]:
    found = (state.get(str(owner.get("uid", ""))) for owner in obj.owners)
    return [owner for owner in found if owner is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A class of objects that is not compared. `when` says which objects of the kind."""

    kind: str
    when: Callable[[Obj, State], object] = lambda _obj, _state: True
    reason: str


LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(kind="Event", reason="tells how a state came about, not what it is"),
    LeftOut(
        kind="ReplicaSet",
        when=_empty_under_living,
        reason="kept by the Deployment controller as rollback history (revisionHistoryLimit)",
    ),
    LeftOut(
        kind="ControllerRevision",
        when=_living_owners,
        reason="kept by the StatefulSet and LWS controllers as history",
    ),
    LeftOut(kind="EndpointSlice", reason="repeats the ready pods of a Service"),
    LeftOut(kind="Endpoints", reason="repeats the ready pods of a Service"),
    LeftOut(kind="Lease", reason="a heartbeat"),
)

# Paths are joined with dots; list items go by their name, type, mountPath or place; `*` is a
# wildcard that also spans dots. A masked field is left out on both sides.
MASKS: tuple[Mask, ...] = (
    Mask(path="metadata.uid", reason="identity, new in each deploy"),
    Mask(path="metadata.resourceVersion", reason="etcd's revision"),
    Mask(path="metadata.generation", reason="counts the edits that led here"),
    Mask(path="metadata.creationTimestamp", reason="time"),
    Mask(path="metadata.managedFields", reason="who wrote which field when"),
    Mask(path="metadata.selfLink", reason="derived from namespace and name"),
    Mask(path="metadata.generateName", reason="the stem of a name that is compared anyway"),
    Mask(path="metadata.ownerReferences.*.uid", reason="identity of the owner"),
    Mask(path="*lastTransitionTime", reason="time"),
    Mask(path="*lastUpdateTime", reason="time"),
    Mask(path="*lastProbeTime", reason="time"),
    Mask(path="*lastHeartbeatTime", reason="time"),
    Mask(path="metadata.annotations.conformance.dgd.dev/*", reason="the suite's own notes"),
    Mask(path="metadata.annotations.deployment.kubernetes.io/*", reason="rollout history"),
    Mask(path="metadata.annotations.*last-applied*", reason="what the last writer wrote, and when"),
    Mask(path="*pod-template-hash", reason="names the ReplicaSet's template"),
    Mask(path="*controller-revision-hash", reason="names the StatefulSet's revision"),
    Mask(path="*template-revision-hash", reason="names the LWS's revision"),
    Mask(path="*group-key", reason="hash of namespace and name, made by the LWS controller"),
    Mask(path="*-hash", reason="a hash of what is compared itself"),
    Mask(kind="Service", path="spec.clusterIP", reason="address"),
    Mask(kind="Service", path="spec.clusterIPs*", reason="address"),
    Mask(kind="Service", path="spec.healthCheckNodePort", reason="address"),
    Mask(kind="Service", path="spec.ports.*.nodePort", reason="address"),
    Mask(kind="Pod", path="spec.nodeName", reason="where the scheduler put it"),
    Mask(kind="Pod", path="spec.hostname", reason="the pod's own name"),
    Mask(kind="PersistentVolumeClaim", path="spec.volumeName", reason="generated name"),
    Mask(kind="PersistentVolumeClaim", path="metadata.annotations.*", reason="the binder's notes"),
    Mask(kind="ServiceAccount", path="secrets*", reason="generated names"),
    # Status: what was reached is judged by size, status-truth and fidelity; here it is history.
    Mask(kind=GRAPH_KIND, path="status.observedGeneration", reason="counts edits"),
    Mask(kind=GRAPH_KIND, path="status.rollingUpdate*", reason="tells of the last rollout"),
    Mask(kind=GRAPH_KIND, path="status.restart*", reason="tells of the last restart"),
    Mask(kind=GRAPH_KIND, path="status.conditions.*.observedGeneration", reason="counts edits"),
    Mask(kind=GRAPH_KIND, path="status.conditions.*.message", reason="free text"),
    Mask(kind=COMPONENT_KIND, path="status.observedGeneration", reason="counts edits"),
    Mask(kind=COMPONENT_KIND, path="status.conditions.*.observedGeneration", reason="counts edits"),
    Mask(kind=COMPONENT_KIND, path="status.conditions.*.message", reason="free text"),
)

# Kinds whose status is compared; elsewhere it is the platform's counters and times.
WITH_STATUS = frozenset({GRAPH_KIND, COMPONENT_KIND})


@dataclass(frozen=True, slots=True, kw_only=True)
class NameEnd:
    """The end of names of a kind that differs between equal states."""

    kind: str
    end: re.Pattern[str]
    reason: str


# The platform's random names draw from an alphabet without vowels and look-alikes.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
NAME_ENDS: tuple[NameEnd, ...] = (
    NameEnd(kind="ReplicaSet", end=re.compile(r"-[0-9a-z]{5,10}$"), reason="template hash"),
    NameEnd(
        kind="Pod",
        end=re.compile(rf"-[0-9a-z]{{5,10}}-{_RANDOM}{{5}}$"),
        reason="template hash and random end of a ReplicaSet's pod",
    ),
    NameEnd(kind="ControllerRevision", end=re.compile(r"-[0-9a-z]{5,10}$"), reason="hash"),
    NameEnd(
        kind="*",
        end=re.compile(r"-(?=[0-9a-f]*[0-9])[0-9a-f]{8,10}$"),
        reason="hash of a component's spec, as operators with managed rollouts append it",
    ),
    NameEnd(
        kind="*",
        # Both a digit and a letter: no word, no number.
        end=re.compile(r"-(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{5,40}(?=-|$)"),
        reason="hash in hexadecimal digits, at the end or before what follows",
    ),
    NameEnd(
        kind="Deployment",
        end=re.compile(r"-[a-z]?[0-9]{1,6}$"),
        reason="number of a generation, as operators that surge by Deployments append it",
    ),
    NameEnd(
        kind="*",
        # An index may follow. No word of five letters is spelt without a vowel.
        end=re.compile(rf"-{_RANDOM}{{5,10}}(?=(-[0-9]+){{0,2}}$)"),
        reason="random end of a `generateName`, or a hash in the same letters",
    ),
)

# Values inside specs that the platform makes up: pattern → what stands for it.
TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    # The service account volume's random name.
    (re.compile(rf"kube-api-access-{_RANDOM}{{5}}"), "kube-api-access-…"),
)
