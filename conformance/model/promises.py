"""What an operator promises for each kind of change."""

import enum

from conformance.model.field_types import Strict


class Promise(enum.StrEnum):
    """What an operator does with a kind of change. `either`: both are right."""

    RECONCILE = "reconcile"
    REFUSE = "refuse"
    EITHER = "either"


class Promises(Strict):
    """What the operator promises for each kind of change."""

    add_multinode: Promise = Promise.EITHER
    remove_multinode: Promise = Promise.EITHER
    change_node_count: Promise = Promise.EITHER
    replicas: Promise = Promise.RECONCILE
    image: Promise = Promise.RECONCILE
    service_added: Promise = Promise.EITHER
    service_removed: Promise = Promise.EITHER
    service_renamed: Promise = Promise.EITHER
    component: Promise = Promise.EITHER
    """A topology edit of a component that a graph owns: refused, or undone without a trace."""
    bare_component: Promise = Promise.EITHER
    """A topology edit of a component without a graph."""
