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
    PREFILL_DEPLOYMENT_KEPT = "prefill-deployment-kept"
    VOLUME_LOST_IN_LWS = "volume-lost-in-lws"
    FOREIGN_SERVICE_OVERWRITTEN = "foreign-service-overwritten"
    LOOKALIKES_DELETED_ON_REMOVE = "lookalikes-deleted-on-remove"
    DEPLOYMENT_BACK_AT_RESTART = "deployment-back-at-restart"
    DEPLOYMENT_BACK_LATER = "deployment-back-later"
    DELETION_MISSED_WHILE_DOWN = "deletion-missed-while-down"
    CHILD_LEFT_AFTER_TOGGLE = "child-left-after-toggle"
    STUCK_ONCE_UNBUILDABLE = "stuck-once-unbuildable"
    REFUSED_CHANGE_DONE_LATER = "refused-change-done-later"


@dataclass(frozen=True)
class FaultInfo:
    """What a fault does, and what must notice it."""

    fault: Fault
    sentence: str
    checker: str
    """Checker expected to report it; findings of others beside it are fine."""
    case: str
    """A case that shows it, as pytest names it below the folder of the cases."""
    policy: Policy = Policy.RECONCILE


_TABLE = (
    FaultInfo(
        Fault.DEPLOYMENT_KEPT_ON_ADD,
        "The Deployment of the single-node shape stays when multinode is added.",
        "coexistence",
        "test_add_multinode.py::test_three_nodes",
    ),
    FaultInfo(
        Fault.LWS_KEPT_ON_REMOVE,
        "The LeaderWorkerSet stays when multinode is removed.",
        "coexistence",
        "test_remove_multinode.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.PODGROUP_KEPT,
        "Gang objects stay when their LeaderWorkerSet is deleted.",
        "orphans",
        "test_remove_multinode.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.SERVICE_STALE_SELECTOR,
        "The component's Service keeps the selector of the shape it was made for.",
        "selectors",
        "test_remove_multinode.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.OLD_GENERATION_KEPT,
        "A changed nodeCount makes a second LeaderWorkerSet and the first one stays.",
        "coexistence",
        "test_node_count.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.SIZE_NOT_CHANGED,
        "A changed nodeCount never reaches the LeaderWorkerSet, yet the graph says Ready.",
        "size",
        "test_node_count.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.READY_WHILE_BOTH,
        "During a toggle both workloads run for 5 s while the graph already says Ready.",
        "status-truth",
        "test_add_multinode.py::test_three_nodes",
    ),
    FaultInfo(
        Fault.REFUSAL_AFTER_MOVE,
        "The webhook refuses a topology change, but the operator carries it out.",
        "refusal",
        "test_add_multinode.py::test_three_nodes",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.REFUSAL_ONE_VERSION,
        "Topology changes are refused for v1alpha1 requests only.",
        "refusal",
        "test_add_multinode.py::test_every_door_answers_alike",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.DCD_DOOR_LEFTOVER,
        "The graph is guarded; an edit of its component makes a LeaderWorkerSet that stays "
        "after the edit was undone.",
        "coexistence",
        "test_component.py::test_multinode_set_below_a_graph",
        Policy.REFUSE,
    ),
    FaultInfo(
        Fault.OWNERREF_MISSING,
        "Gang objects are made without an owner reference and outlive their component.",
        "orphans",
        "test_remove_multinode.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.DELETION_LEAVES_CHILD,
        "The component's Service loses its owner at deletion and stays behind.",
        "deletion",
        "test_delete.py::test_amid_a_transition",
    ),
    FaultInfo(
        Fault.HOT_LOOP,
        "The component's Service is rewritten five times a second for ever.",
        "quiescence",
        "test_rest.py::test_idle_deployments",
    ),
    FaultInfo(
        Fault.GANG_MINMEMBER_STALE,
        "A changed nodeCount never reaches the gang objects.",
        "size",
        "test_node_count.py::test_two_replicas",
    ),
    FaultInfo(
        Fault.FOLLOWERS_IN_SELECTOR,
        "The Service of a multinode component selects followers as well as leaders.",
        "selectors",
        "test_rest.py::test_idle_groups",
    ),
    FaultInfo(
        Fault.FOREIGN_OVERWRITTEN,
        "An object of somebody else under a child's name is deleted and replaced.",
        "foreign",
        "test_foreign.py::test_under_a_childs_name",
    ),
    FaultInfo(
        Fault.STATUS_SERVICE_KEY_STAYS,
        "The status of a removed component stays in the graph's status.",
        "status-truth",
        "test_services.py::test_removed",
    ),
    FaultInfo(
        Fault.SERVICE_REMOVED_DCD_KEPT,
        "A removed component keeps running.",
        "orphans",
        "test_services.py::test_removed",
    ),
    FaultInfo(
        Fault.SIDECAR_LOST_IN_LWS,
        "Sidecars and the user's environment variables do not reach the LeaderWorkerSet.",
        "fidelity",
        "test_add_multinode.py::test_three_nodes",
    ),
    FaultInfo(
        Fault.LASTTRANSITION_MOVES,
        "lastTransitionTime of every condition moves each second without a change of status.",
        "quiescence",
        "test_rest.py::test_idle_deployments",
    ),
    FaultInfo(
        Fault.IMAGE_NOT_ROLLED,
        "A changed image never reaches the workload, yet the graph says Ready.",
        "fidelity",
        "test_siblings.py::test_image_of_a_deployment",
    ),
    FaultInfo(
        Fault.STALE_READY,
        "Readiness is taken from pods of the old template while a rollout runs.",
        "status-truth",
        "test_siblings.py::test_image_of_a_deployment",
    ),
    FaultInfo(
        Fault.PREFILL_DEPLOYMENT_KEPT,
        "The Deployment of a prefill worker stays when multinode is added.",
        "coexistence",
        "test_add_multinode.py::test_prefill_worker",
    ),
    FaultInfo(
        Fault.VOLUME_LOST_IN_LWS,
        "The user's volumes and their mounts do not reach the LeaderWorkerSet.",
        "fidelity",
        "test_add_multinode.py::test_all_that_a_user_wrote_stays",
    ),
    FaultInfo(
        Fault.FOREIGN_SERVICE_OVERWRITTEN,
        "A Service of somebody else under a child's name is given the operator's spec.",
        "foreign",
        "test_foreign.py::test_under_the_names_of_groups_and_services",
    ),
    FaultInfo(
        Fault.LOOKALIKES_DELETED_ON_REMOVE,
        "What is left of groups is found by labels, so look-alikes of somebody else's go, too.",
        "foreign",
        "test_foreign.py::test_lookalikes_outlive_a_removal",
    ),
    FaultInfo(
        Fault.DEPLOYMENT_BACK_AT_RESTART,
        "After a restart the Deployment of a component that was toggled earlier comes back.",
        "coexistence",
        "test_restart.py::test_at_rest_after_a_toggle",
    ),
    FaultInfo(
        Fault.DEPLOYMENT_BACK_LATER,
        "Seconds after a changed multinode component came to rest, its Deployment comes back.",
        "coexistence",
        "test_node_count.py::test_groups_follow",
    ),
    FaultInfo(
        Fault.DELETION_MISSED_WHILE_DOWN,
        "A graph that was deleted while the operator was down is never finalised.",
        "deletion",
        "test_restart.py::test_deleted_while_it_was_down",
    ),
    FaultInfo(
        Fault.CHILD_LEFT_AFTER_TOGGLE,
        "The Service of a component that was toggled loses its owner at deletion and stays behind.",
        "deletion",
        "test_delete.py::test_after_a_toggle",
    ),
    FaultInfo(
        Fault.STUCK_ONCE_UNBUILDABLE,
        "A component that could not be built once is never looked at again.",
        "status-truth",
        "test_unreachable.py::test_taken_back",
    ),
    FaultInfo(
        Fault.REFUSED_CHANGE_DONE_LATER,
        "The refused topology is carried out with the next change that is accepted.",
        "size",
        "test_refusal.py::test_not_done_with_the_next_change",
        Policy.REFUSE,
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
