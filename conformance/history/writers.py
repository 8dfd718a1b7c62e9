"""Who wrote it: joins recorded events with the audit log.

Joined by verb, resource, namespace, name and time; what fits more than one author is an unknown
writer, never the nearest. Without an audit log, managedFields name the last writer of each field
set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.history.history import History
from conformance.history.records import Event, EventType, Header, Write
from conformance.model.kinds import Layer

# A watch event follows the API's answer; the recorder may see it this much earlier or later (s).
JOIN_WINDOW = 1.5
_VERBS = {
    EventType.ADDED: ("create", "patch", "update"),
    EventType.MODIFIED: ("update", "patch", "delete", "deletecollection"),
    EventType.DELETED: ("delete", "deletecollection", "update", "patch"),
}


def layer_of(history: History, user: str) -> Layer:
    """Whose code a user name of the audit log stands for."""
    return layer_for(history.header, user)


def layer_for(header: Header, user: str) -> Layer:
    """As `layer_of`, for a history that is still coming in."""
    named = header.users.get(user)
    if named is not None:
        return Layer(named)
    if user.startswith("system:"):
        return Layer.PLATFORM
    return Layer.UNKNOWN


def candidates(history: History, event: Event) -> list[Write]:
    """The writes of the audit log that may have made this event.

    A write that names the object goes before one without a name (generateName, deletecollection).
    """
    obj = event.obj
    status_only = event.type is EventType.MODIFIED and _status_only(history, event)
    exact: list[Write] = []
    nameless: list[Write] = []
    for name, found in ((obj.name, exact), ("", nameless)):
        for write in history.writes_to(obj.namespace, name):
            if not 200 <= write.code < 300 or write.verb not in _VERBS.get(event.type, ()):
                continue
            # A server-side apply or an update may create; only then is it answered 201.
            if event.type is EventType.ADDED and write.verb != "create" and write.code != 201:
                continue
            if status_only != (write.subresource == "status") and event.type is EventType.MODIFIED:
                continue
            if write.group != obj.group or not same_kind(write.resource, obj.kind):
                continue
            if write.received_at - JOIN_WINDOW <= event.at <= write.at + JOIN_WINDOW:
                found.append(write)
    return exact or nameless


def _status_only(history: History, event: Event) -> bool:
    """True if nothing but the status differs from the object's state before this event."""
    events = history.lives[event.obj.uid].events
    before = next((e for e in reversed(events) if e.revision < event.revision), None)
    if before is None:
        return False
    return _without_status(before.object) == _without_status(event.object)


def _without_status(raw: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in raw.items() if key != "status"}
    bookkeeping = ("resourceVersion", "managedFields")
    metadata = raw.get("metadata") or {}
    kept["metadata"] = {k: v for k, v in metadata.items() if k not in bookkeeping}
    return kept


def same_kind(resource: str, kind: str) -> bool:
    """True if a plural resource name of the audit log is that kind's."""
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
    managers = {entry.get("manager", "") for entry in entries if not entry.get("subresource", "")}
    layers = {layer_of(history, manager) for manager in managers}
    return layers.pop() if len(layers) == 1 else Layer.UNKNOWN
