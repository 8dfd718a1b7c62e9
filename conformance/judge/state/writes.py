"""What was written, by whom, and which writes count against rest (design §10, "A counted write").

Authors are found by joining recorded changes with the audit log, by verb, resource, namespace, name
and time; what fits more than one author is an unknown writer, never the nearest. Without an audit
log, field managers name the writer (managers.py).

A counted write is a create, a delete, or a change of spec, labels, annotations, owners or
finalizers by the operator. `WriteLog` grows record by record, so the driver can ask it ten times a
second while a history still comes in; the checkers build one from the whole history (`log_of`).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from conformance.history.history import History
from conformance.history.records import Event, EventType, Header, Record, Write
from conformance.judge.state.changes import EVIDENCE_KINDS, Act, Change, Part, change_of
from conformance.judge.state.managers import actor_of_manager, managers_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, POD_GROUP, WORKLOADS, Actor
from conformance.model.state import Obj

# Kinds whose spec and labels no platform controller ever changes (it writes their status, and the
# Deployment controller its own annotations): a platform request near such a change did not make it.
_SPEC_BY_OTHERS = frozenset(
    {*WORKLOADS, POD_GROUP, GRAPH_KIND, COMPONENT_KIND, "Service", "ConfigMap", "ServiceAccount",
     "Role", "RoleBinding"}
)  # fmt: skip
_ACCOUNT = "system:serviceaccount:"
# The namespace of the accounts of Kubernetes' own controllers.
_PLATFORM_ACCOUNTS = "kube-system"
_INSTALLS = ("install", "in_cluster")
_DEPLOYMENT_CONTROLLER_PREFIX = "deployment.kubernetes.io/"
# A watch event follows the API's answer; the recorder may see it this much earlier or later (s).
JOIN_WINDOW = 1.5
# An object is seen this long (s) after the request that made it, and hardly later.
_BORN_LATE = 0.3
_BELOW = frozenset({Actor.PLATFORM, Actor.LWS_CONTROLLER})
# Events of one history may be this much out of order in time (s); a look back stops beyond it.
_SLACK = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWrite:
    """A change that counts against rest. `writer` is OPERATOR, or UNKNOWN where it may be."""

    change: Change
    writer: Actor


class WriteLog:
    """Changes and requests, in the order they were added: `changes`, `requests` and `counted` tell
    of the header's namespace, authors are known of every change.

    `add` takes records one by one (those of no interest are ignored), at a cost that does not grow
    with the history; the questions look only at the time asked about.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._known: dict[str, Obj] = {}
        self._changes: list[Change] = []
        self._created: dict[str, Change] = {}
        self._requests: list[Write] = []
        self._by_event: dict[tuple[str, int], Change] = {}
        self._by_target: dict[tuple[str, str, str], list[Write]] = defaultdict(list)

    def add(self, record: Record) -> None:
        """Take one record in. Events of one object must come in their order."""
        if isinstance(record, Write):
            self._add_write(record)
        elif isinstance(record, Event):
            self._add_event(record)

    def _add_write(self, write: Write) -> None:
        if write.resource == "leases":
            return
        self._by_target[write.namespace, write.group, write.name].append(write)
        operators = actor_of_user(self._header, write.user) is Actor.OPERATOR
        own = write.namespace == self._header.namespace and write.resource != "events"
        if operators and own:
            self._requests.append(write)

    def _add_event(self, event: Event) -> None:
        obj = event.obj
        before = self._known.get(obj.uid)
        gone = event.type is EventType.DELETED
        if before is not None and obj.revision <= before.revision and not gone:
            return
        change = change_of(event, before)
        if gone:
            self._known.pop(obj.uid, None)
        else:
            self._known[obj.uid] = obj
        if change is None:
            return
        self._by_event[obj.uid, event.revision] = change
        if change.act is Act.CREATED:
            self._created[obj.uid] = change
        if obj.namespace == self._header.namespace:
            self._changes.append(change)

    def changes(self, start: float, end: float) -> list[Change]:
        """Every change with `start` < time <= `end`, status and the platform's objects included."""
        found: list[Change] = []
        for change in reversed(self._changes):
            if change.at < start - _SLACK:
                break
            if start < change.at <= end:
                found.append(change)
        return found[::-1]

    def requests(self, start: float, end: float) -> list[Write]:
        """The operator's mutating requests answered with `start` < time <= `end`, refused ones and
        no-ops included, but for Events: these are sent long after what they tell, at a rate of their
        own. Only the audit log has them."""
        found: list[Write] = []
        for write in reversed(self._requests):
            if write.at < start - _SLACK:
                break
            if start < write.at <= end:
                found.append(write)
        return found[::-1]

    def too_many(self, start: float, end: float, *, allowed: int) -> float | None:
        """The time (epoch seconds) of the newest request after which only `allowed` more follow
        until `end`; None if there are no more than these since `start`."""
        requests = sorted(write.at for write in self.requests(start, end))
        return requests[-allowed - 1] if len(requests) > allowed else None

    def tries(self, obj: Obj, start: float, end: float) -> list[Write]:
        """The operator's requests to write or delete that object, refused ones included, received
        with `start` < time <= `end`. Only the audit log has them."""
        return [
            write
            for write in self._by_target.get((obj.namespace, obj.group, obj.name), ())
            if start < write.received_at <= end
            and write.verb != "create"
            and same_kind(write.resource, obj.kind)
            and actor_of_user(self._header, write.user) is Actor.OPERATOR
        ]

    def counted(self, start: float, end: float) -> list[CountedWrite]:
        """The counted writes with `start` < time <= `end`, oldest first.

        What the log cannot ascribe is in it as UNKNOWN if it changed a graph, a component or a
        direct child of one: it may have been the operator, so it proves no rest either.
        """
        found = []
        for change in self.changes(start, end):
            if not change.weighs or change.obj.kind in EVIDENCE_KINDS:
                continue
            writer = self.writer(change)
            operators = writer is Actor.OPERATOR
            if operators or (writer is Actor.UNKNOWN and is_operators_kind(change.obj)):
                found.append(CountedWrite(change=change, writer=writer))
        return found

    @property
    def operator_wrote(self) -> bool:
        """True if the audit log has any request of the operator in this namespace at all."""
        return bool(self._requests)

    def creator(self, uid: str) -> Actor:
        """Who created the object; unknown if its creation was not recorded."""
        change = self._created.get(uid)
        return Actor.UNKNOWN if change is None else self.writer(change)

    def writer_of(self, event: Event) -> Actor:
        """Whose request an event shows; unknown if it changed nothing that is known."""
        change = self._by_event.get((event.obj.uid, event.revision))
        return Actor.UNKNOWN if change is None else self.writer(change)

    def writer(self, change: Change) -> Actor:
        """Whose request made the change; `unknown writer` if the evidence fits more than one."""
        layers = self.writers(change)
        return next(iter(layers)) if len(layers) == 1 else Actor.UNKNOWN

    def writers(self, change: Change) -> set[Actor]:
        """Everybody whose request may have made the change, as far as the evidence tells."""
        if _deployment_controllers(change):
            return {Actor.PLATFORM}
        if not self._header.audited:
            header = self._header
            return {actor_of_manager(header, name, change.obj) for name in managers_of(change)}
        found = self._candidates(change)
        if change.act is Act.CHANGED and change.obj.kind in _SPEC_BY_OTHERS:
            found = [w for w in found if w.subresource == "scale" or not self._excluded(w, change)]
        if change.act is Act.DELETED:
            found = self._first(found, change)
        layers = {actor_of_user(self._header, write.user) for write in found}
        if len(layers) > 1:
            managers = managers_of(change)
            narrowed = [w for w in found if w.agent.partition("/")[0] in managers]
            layers = {actor_of_user(self._header, w.user) for w in narrowed} or layers
        return layers

    def _first(self, found: list[Write], change: Change) -> list[Write]:
        """Of the requests to delete it, the first since it is there: the kubelet's and the garbage
        collector's follow that one, and others may have been for one of the same name before it."""
        born = self._created.get(change.obj.uid)
        since = born.at - _BORN_LATE if born is not None else 0.0
        later = [write for write in found if write.received_at >= since]
        return [min(later, key=lambda write: write.received_at)] if later else found

    def _excluded(self, write: Write, change: Change) -> bool:
        by_others = Part.SPEC in change.parts or Part.LABELS in change.parts
        return by_others and actor_of_user(self._header, write.user) in _BELOW

    def _candidates(self, change: Change) -> list[Write]:
        obj = change.obj
        verbs = _VERBS[change.act]
        # A status moves by requests for the status alone, save for the few kinds that have no such
        # subresource.
        status_only = change.parts == (Part.STATUS,)
        ways = [("status",), ("",)] if status_only else [("", "scale", *_BY_CREATING)]
        for name, subresources in itertools.product((obj.name, ""), ways):
            found = [
                write
                for group in _GROUPS.get(obj.kind, (obj.group,))
                for write in self._by_target.get((obj.namespace, group, name), ())
                if (write.verb in verbs or write.subresource in _BY_CREATING)
                and 200 <= write.code < 300
                # A server-side apply or an update may create; only then is it answered 201.
                and (change.act is not Act.CREATED or write.verb == "create" or write.code == 201)
                and write.subresource in subresources
                and same_kind(write.resource, obj.kind)
                and write.received_at - JOIN_WINDOW <= change.at <= write.at + JOIN_WINDOW
            ]
            if found:
                return found
        return []


# Kinds that two groups serve; the recorded object and the request may name either.
_GROUPS = {"Event": ("", "events.k8s.io")}
# The scheduler assigns a pod to a node by creating its `binding`; who evicts one creates that.
_BY_CREATING = ("binding", "eviction")
_VERBS = {
    Act.CREATED: ("create", "patch", "update"),
    Act.CHANGED: ("update", "patch"),
    Act.DELETED: ("delete", "deletecollection"),
    # An object that waited for finalizers goes with the write that took the last one.
    Act.GONE: ("delete", "deletecollection", "update", "patch"),
}


def actor_of_user(header: Header, user: str) -> Actor:
    """Whose code a user name of the audit log stands for.

    An operator may write as more than one account: those in its own namespace, and those in the
    case's, where nobody else makes any, are its, too."""
    named = header.users.get(user)
    if named is not None:
        return Actor(named)
    if not user.startswith(_ACCOUNT):
        return Actor.PLATFORM if user.startswith("system:") else Actor.UNKNOWN
    place = _place(user)
    if place == _PLATFORM_ACCOUNTS:
        return Actor.PLATFORM
    own = {_place(name) for name, layer in header.users.items() if layer == Actor.OPERATOR}
    own |= {str((header.profile.get(key) or {}).get("namespace", "")) for key in _INSTALLS}
    return Actor.OPERATOR if place in {header.namespace, *own} - {""} else Actor.UNKNOWN


def _place(user: str) -> str:
    """The namespace of a ServiceAccount; empty for any other user."""
    return user.removeprefix(_ACCOUNT).partition(":")[0] if user.startswith(_ACCOUNT) else ""


def same_kind(resource: str, kind: str) -> bool:
    """True if a plural resource name of the audit log is that kind's."""
    lower = kind.lower()
    return resource in (lower, lower + "s", lower + "es", lower[:-1] + "ies")


def is_operators_kind(obj: Obj) -> bool:
    """True for a graph, a component, or a direct child of one of a kind that operators make."""
    if obj.kind in (GRAPH_KIND, COMPONENT_KIND):
        return True
    owned = any(owner.get("kind") in (GRAPH_KIND, COMPONENT_KIND) for owner in obj.owners)
    return owned and obj.kind not in PLATFORM_KINDS


def _deployment_controllers(change: Change) -> bool:
    """True for a change of nothing but the annotations that the Deployment controller keeps."""
    if change.act is not Act.CHANGED or change.before is None:
        return False
    if set(change.parts) - {Part.STATUS} != {Part.ANNOTATIONS}:
        return False
    old, new = change.before.annotations, change.obj.annotations
    keys = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    return all(key.startswith(_DEPLOYMENT_CONTROLLER_PREFIX) for key in keys)


_LOGS: WeakKeyDictionary[History, WriteLog] = WeakKeyDictionary()


def log_of(history: History) -> WriteLog:
    """The write log of a whole history, built once."""
    log = _LOGS.get(history)
    if log is None:
        log = WriteLog(history.header)
        for write in history.writes:
            log.add(write)
        for event in history.events:
            log.add(event)
        _LOGS[history] = log
    return log


def counted_writes(history: History, start: float, end: float) -> list[CountedWrite]:
    """The counted writes of a whole history with `start` < time <= `end` (epoch seconds)."""
    return log_of(history).counted(start, end)
