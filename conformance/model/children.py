"""How the children of a graph look: kinds of workload, gang objects, labels. Part of a profile."""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import AfterValidator, model_validator

from conformance.model.exemptions import ReservedPrefix
from conformance.model.field_types import Strict
from conformance.model.kinds import DEPLOYMENT, LWS, POD_GROUP, WORKLOADS


class LwsLayout(enum.StrEnum):
    """How the groups of a multinode service become workloads."""

    PER_REPLICA = "per-replica"
    """One LWS a replica, each with one group."""
    SINGLE = "single"
    """One LWS with as many groups as replicas."""


class Gang(enum.StrEnum):
    """Which gang objects the operator itself makes."""

    PER_GROUP = "per-group"
    NONE = "none"


def _known_kind(kind: str, *, multinode: bool) -> str:
    known = [row.kind for row in WORKLOADS.values() if row.multinode is multinode]
    if kind not in known:
        nodes = "many nodes" if multinode else "a single node"
        raise ValueError(f"no workload for {nodes}; expected {' or '.join(known)}")
    return kind


def _single_node_kind(kind: str) -> str:
    return _known_kind(kind, multinode=False)


def _multinode_kind(kind: str) -> str:
    return _known_kind(kind, multinode=True)


class SingleNode(Strict):
    """What a single-node service becomes."""

    kind: Annotated[str, AfterValidator(_single_node_kind)] = DEPLOYMENT
    """Kind of the workload whose replicas are the pods of the service."""


class Multinode(Strict):
    """What a multinode service becomes."""

    kind: Annotated[str, AfterValidator(_multinode_kind)] = LWS
    """Kind of the workload whose groups of pods are the replicas of the service."""
    layout: LwsLayout = LwsLayout.SINGLE
    gang: Gang = Gang.NONE
    gang_kind: str = POD_GROUP
    gang_min_path: list[str] = ["spec", "minMember"]

    @model_validator(mode="after")
    def _gangs_are_seen(self) -> Multinode:
        if self.gang is Gang.NONE and self.gang_kind != POD_GROUP:
            raise ValueError(
                f"`gang_kind` has no use with `gang: none`, and would hide {POD_GROUP}s that are left "
                "over; leave it out, or say `gang: per-group`"
            )
        return self


class LabelNames(Strict):
    """Labels by which the operator marks its children."""

    graph: str = "nvidia.com/dynamo-graph-deployment-name"
    service: str = "nvidia.com/dynamo-component"
    namespace: str = "nvidia.com/dynamo-namespace"
    component_type: str = "nvidia.com/dynamo-component-type"
    reserved: list[ReservedPrefix] = ["nvidia.com/", "leaderworkerset.sigs.k8s.io/"]
    """Prefixes that belong to the operator: a label of the user under them need not reach children."""
