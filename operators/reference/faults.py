"""Known faults as switches: each breaks one promise of the otherwise correct operator.

The table is data, so that the suite can print and check it. Code asks ``faults.on(Fault.X)``
at the one place where the defect lives; without ``--fault`` no such question is ever true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Policy(StrEnum):
    """What the operator promises for a change of topology."""

    RECONCILE = "reconcile"
    REFUSE = "refuse"


class Fault(StrEnum):
    """Name of a fault, as given to ``--fault``."""

    DEPLOYMENT_KEPT_ON_ADD = "deployment-kept-on-add"
    LWS_KEPT_ON_REMOVE = "lws-kept-on-remove"
    PODGROUP_KEPT = "podgroup-kept"
    SERVICE_STALE_SELECTOR = "service-stale-selector"
    OLD_GENERATION_KEPT = "old-generation-kept"
    SIZE_NOT_CHANGED = "size-not-changed"
    READY_WHILE_BOTH = "ready-while-both"
    REFUSAL_AFTER_MOVE = "refusal-after-move"
    REFUSAL_ONE_VERSION = "refusal-one-version"
    DCD_DOOR_LEFTOVER = "dcd-door-leftover"
    OWNERREF_MISSING = "ownerref-missing"
    DELETION_LEAVES_CHILD = "deletion-leaves-child"
    HOT_LOOP = "hot-loop"
    GANG_MINMEMBER_STALE = "gang-minmember-stale"
    FOLLOWERS_IN_SELECTOR = "followers-in-selector"
    FOREIGN_OVERWRITTEN = "foreign-overwritten"
    STATUS_SERVICE_KEY_STAYS = "status-service-key-stays"
    SERVICE_REMOVED_DCD_KEPT = "service-removed-dcd-kept"
    SIDECAR_LOST_IN_LWS = "sidecar-lost-in-lws"
    LASTTRANSITION_MOVES = "lasttransition-moves"
    IMAGE_NOT_ROLLED = "image-not-rolled"
    STALE_READY = "stale-ready"


@dataclass(frozen=True)
class FaultInfo:
    """What a fault does, and what must notice it."""

    fault: Fault
    sentence: str
    checker: str
    """Checker expected to report it; findings of others beside it are fine."""
    case: str
    """Kind of transition that shows it."""
    policy: Policy = Policy.RECONCILE


_TABLE = (
    FaultInfo(
        Fault.DEPLOYMENT_KEPT_ON_ADD,
        "The Deployment of the single-node shape stays when multinode is added.",
        "coexistence",
        "add",
    ),
    FaultInfo(
        Fault.LWS_KEPT_ON_REMOVE,
        "The LeaderWorkerSet stays when multinode is removed.",
        "coexistence",
        "remove",
    ),
    FaultInfo(
        Fault.PODGROUP_KEPT,
        "Gang objects stay when their LeaderWorkerSet is deleted.",
        "orphans",
        "remove",
    ),
    FaultInfo(
        Fault.SERVICE_STALE_SELECTOR,
        "The component's Service keeps the selector of the shape it was made for.",
        "selectors",
        "remove",
    ),
    FaultInfo(
        Fault.OLD_GENERATION_KEPT,
        "A changed nodeCount makes a second LeaderWorkerSet and the first one stays.",
        "coexistence",
        "count",
    ),
    FaultInfo(
        Fault.SIZE_NOT_CHANGED,
        "A changed nodeCount never reaches the LeaderWorkerSet, yet the graph says Ready.",
        "size",
        "count",
    ),
    FaultInfo(
        Fault.READY_WHILE_BOTH,
        "During a toggle both workloads run for 5 s while the graph already says Ready.",
        "status-truth",
        "add",
    ),
    FaultInfo(
        Fault.REFUSAL_AFTER_MOVE,
        "The webhook refuses a topology change, but the operator carries it out.",
        "refusal",
        "add",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.REFUSAL_ONE_VERSION,
        "Topology changes are refused for v1alpha1 requests only.",
        "refusal",
        "add",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.DCD_DOOR_LEFTOVER,
        "The graph is guarded; an edit of its component makes a LeaderWorkerSet that stays "
        "after the edit was undone.",
        "coexistence",
        "component-door",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.OWNERREF_MISSING,
        "Gang objects are made without an owner reference and outlive their component.",
        "orphans",
        "remove",
    ),
    FaultInfo(
        Fault.DELETION_LEAVES_CHILD,
        "The component's Service loses its owner at deletion and stays behind.",
        "deletion",
        "delete",
    ),
    FaultInfo(
        Fault.HOT_LOOP,
        "The component's Service is rewritten five times a second for ever.",
        "quiescence",
        "idle",
    ),
    FaultInfo(
        Fault.GANG_MINMEMBER_STALE,
        "A changed nodeCount never reaches the gang objects.",
        "size",
        "count",
    ),
    FaultInfo(
        Fault.FOLLOWERS_IN_SELECTOR,
        "The Service of a multinode component selects followers as well as leaders.",
        "selectors",
        "deploy",
    ),
    FaultInfo(
        Fault.FOREIGN_OVERWRITTEN,
        "An object of somebody else under a child's name is deleted and replaced.",
        "foreign",
        "foreign",
    ),
    FaultInfo(
        Fault.STATUS_SERVICE_KEY_STAYS,
        "The status of a removed component stays in the graph's status.",
        "status-truth",
        "service-remove",
    ),
    FaultInfo(
        Fault.SERVICE_REMOVED_DCD_KEPT,
        "A removed component keeps running.",
        "orphans",
        "service-remove",
    ),
    FaultInfo(
        Fault.SIDECAR_LOST_IN_LWS,
        "Only the main container reaches the LeaderWorkerSet.",
        "fidelity",
        "add",
    ),
    FaultInfo(
        Fault.LASTTRANSITION_MOVES,
        "lastTransitionTime of every condition moves each second without a change of status.",
        "quiescence",
        "idle",
    ),
    FaultInfo(
        Fault.IMAGE_NOT_ROLLED,
        "A changed image never reaches the workload, yet the graph says Ready.",
        "fidelity",
        "image",
    ),
    FaultInfo(
        Fault.STALE_READY,
        "Readiness is taken from pods of the old template while a rollout runs.",
        "status-truth",
        "image",
    ),
)

FAULTS: dict[Fault, FaultInfo] = {info.fault: info for info in _TABLE}


class UnknownFaultError(ValueError):
    """A name given to ``--fault`` is not in the table."""


class Faults:
    """The faults switched on in this process."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        known = ", ".join(FAULTS)
        for name in names:
            if name not in FAULTS:
                raise UnknownFaultError(f"unknown fault {name!r}: expected one of {known}")
        self._active = frozenset(Fault(name) for name in names)

    def on(self, fault: Fault) -> bool:
        return fault in self._active

    def __iter__(self) -> Iterable[Fault]:
        return iter(sorted(self._active))
