"""Who wrote it: joins recorded events with the audit log.

Joined by verb, resource, namespace, name and time; what fits more than one author is an unknown
writer, never the nearest. Without an audit log, managedFields name the last writer of each field set.
"""

from __future__ import annotations

from conformance.history.history import History
from conformance.history.records import Event, EventType, Write
from conformance.model.kinds import Layer

# A watch event follows the API's answer; the recorder may see it this much earlier or later (s).
_WINDOW = 1.5
_VERBS = {
    EventType.ADDED: ("create", "patch", "update"),
    EventType.MODIFIED: ("update", "patch", "delete", "deletecollection"),
    EventType.DELETED: ("delete", "deletecollection", "update", "patch"),
}


def layer_of(history: History, user: str) -> Layer:
    """Whose code a user name of the audit log stands for."""
    named = history.header.users.get(user)
    if named is not None:
        return Layer(named)
    if user.startswith("system:serviceaccount:kube-system:") or user.startswith("system:"):
        return Layer.PLATFORM
    return Layer.UNKNOWN


def candidates(history: History, event: Event) -> list[Write]:
    """The writes of the audit log that may have made this event."""
    obj = event.obj
    found = []
    for write in history.writes:
        if not 200 <= write.code < 300 or write.verb not in _VERBS.get(event.type, ()):
            continue
        if write.namespace != obj.namespace or write.name not in (obj.name, ""):
            continue
        if not _same_kind(write.resource, obj.kind) or write.group != obj.group:
            continue
        if write.received_at - _WINDOW <= event.at <= write.at + _WINDOW:
            found.append(write)
    exact = [write for write in found if write.name == obj.name]
    return exact or found


def _same_kind(resource: str, kind: str) -> bool:
    lower = kind.lower()
    return resource in (lower, lower + "s", lower + "es", lower[:-1] + "ies")


def writer(history: History, event: Event) -> Layer:
    """Whose write this event shows; `unknown writer` if the log cannot tell them apart."""
    layers = {layer_of(history, write.user) for write in candidates(history, event)}
    if len(layers) == 1:
        return layers.pop()
    if not layers and not history.header.audited:
        return _by_managed_fields(history, event)
    return Layer.UNKNOWN


def creator(history: History, uid: str) -> Layer:
    """Who created the object; unknown if its creation was not recorded."""
    life = history.lives.get(uid)
    if life is None or life.created_revision is None:
        return Layer.UNKNOWN
    return writer(history, life.events[0])


def _by_managed_fields(history: History, event: Event) -> Layer:
    entries = event.object.get("metadata", {}).get("managedFields") or []
    managers = {
        entry.get("manager", "") for entry in entries if not entry.get("subresource", "")
    }
    layers = {layer_of(history, manager) for manager in managers}
    return layers.pop() if len(layers) == 1 else Layer.UNKNOWN
