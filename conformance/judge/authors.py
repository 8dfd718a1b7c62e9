"""Whose request made a recorded change: by the audit log, joined by verb, resource, namespace, name
and time; without one by field managers. What fits more than one author is an unknown writer, never
the nearest."""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.history.records import Header, Write
from conformance.judge.changes import Act, Change, Part
from conformance.model.bounds import BORN_LATE, JOIN_WINDOW
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, POD_GROUP, WORKLOADS, Actor
from conformance.model.state import Obj

# Kinds whose spec and labels no platform controller ever changes (it writes their status, and the
# Deployment controller its own annotations): a platform request near such a change did not make it.
_SPEC_BY_OTHERS = frozenset(
    {POD_GROUP, GRAPH_KIND, COMPONENT_KIND, "Service", "ConfigMap", "ServiceAccount", "Role",
     "RoleBinding"}
)  # fmt: skip
_ACCOUNT = "system:serviceaccount:"
# The namespace of the accounts of Kubernetes' own controllers.
_PLATFORM_ACCOUNTS = "kube-system"
_PLATFORM_MANAGERS = frozenset({"kube-controller-manager", "kube-scheduler", "kubelet", "kwok"})
_INSTALLS = ("install", "in_cluster")
_DEPLOYMENT_CONTROLLER_PREFIX = "deployment.kubernetes.io/"
_BELOW = frozenset({Actor.PLATFORM, Actor.LWS_CONTROLLER})
# Kinds that two groups serve; the recorded object and the request may name either.
_GROUPS = {"Event": ("", "events.k8s.io")}
# The scheduler assigns a pod to a node by creating its `binding`; an eviction is created, too.
_BY_CREATING = ("binding", "eviction")
_VERBS = {
    Act.CREATED: ("create", "patch", "update"),
    Act.CHANGED: ("update", "patch"),
    Act.DELETED: ("delete", "deletecollection"),
    # An object that waited for finalizers goes with the write that took the last one.
    Act.GONE: ("delete", "deletecollection", "update", "patch"),
}


class Authors:
    """The requests of one history by what they were about; asked for the authors of changes."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._requests: dict[tuple[str, str, str], list[Write]] = defaultdict(list)

    def add(self, write: Write) -> None:
        """Take one request in."""
        self._requests[write.namespace, write.group, write.name].append(write)

    def about(self, obj: Obj) -> list[Write]:
        """The requests that name the object."""
        found = self._requests.get((obj.namespace, obj.group, obj.name), ())
        return [write for write in found if _same_kind(write.resource, obj.kind)]

    def of(self, change: Change, *, born: Change | None) -> set[Actor]:
        """Everybody whose request may have made the change, as far as the evidence tells. `born` is
        the object's creation, if that was recorded."""
        if _deployment_controllers(change):
            return {Actor.PLATFORM}
        header = self._header
        if not header.audited:
            return {_actor_of_manager(header, name, change.obj) for name in _managers_of(change)}
        found = self._candidates(change)
        if change.act is Act.CHANGED and _platform_keeps_out(change):
            found = [
                write
                for write in found
                if write.subresource == "scale" or actor_of_user(header, write.user) not in _BELOW
            ]
        if change.act is Act.DELETED:
            found = _first(found, born)
        actors = {actor_of_user(header, write.user) for write in found}
        if len(actors) > 1:
            managers = _managers_of(change)
            narrowed = [w for w in found if w.agent.partition("/")[0] in managers]
            actors = {actor_of_user(header, w.user) for w in narrowed} or actors
        return actors

    def _candidates(self, change: Change) -> list[Write]:
        obj = change.obj
        # A status moves by requests for the status alone, save for the few kinds that have no such
        # subresource.
        status_only = change.parts == (Part.STATUS,)
        ways = [("status",), ("",)] if status_only else [("", "scale", *_BY_CREATING)]
        for name, subresources in itertools.product((obj.name, ""), ways):
            found = [
                write
                for group in _GROUPS.get(obj.kind, (obj.group,))
                for write in self._requests.get((obj.namespace, group, name), ())
                if write.subresource in subresources
                and _same_kind(write.resource, obj.kind)
                and _may_have_made(write, change)
            ]
            if found:
                return found
        return []


def _may_have_made(write: Write, change: Change) -> bool:
    if not 200 <= write.code < 300:
        return False
    if write.verb not in _VERBS[change.act] and write.subresource not in _BY_CREATING:
        return False
    # A server-side apply or an update may create; only then is it answered 201.
    if change.act is Act.CREATED and write.verb != "create" and write.code != 201:
        return False
    return write.received_at - JOIN_WINDOW <= change.at <= write.at + JOIN_WINDOW


def _first(found: list[Write], born: Change | None) -> list[Write]:
    """Of the requests to delete it, the first since it is there: the kubelet's and the garbage
    collector's follow that one, and others may have been for one of the same name before it."""
    since = born.at - BORN_LATE if born is not None else 0.0
    later = [write for write in found if write.received_at >= since]
    return [min(later, key=lambda write: write.received_at)] if later else found


def _platform_keeps_out(change: Change) -> bool:
    row = WORKLOADS.get(change.obj.kind)
    by_others = change.obj.kind in _SPEC_BY_OTHERS or (row is not None and not row.when_declared)
    return by_others and not {Part.SPEC, Part.LABELS}.isdisjoint(change.parts)


def actor_of_user(header: Header, user: str) -> Actor:
    """Whose code a user name of the audit log stands for.

    An operator may write as more than one account: those in its own namespace, and those in the
    case's, where nobody else makes any, are its, too."""
    named = header.users.get(user)
    if named is not None:
        return Actor(named)
    namespace = _account_namespace(user)
    if not namespace:
        return Actor.PLATFORM if user.startswith("system:") else Actor.UNKNOWN
    if namespace == _PLATFORM_ACCOUNTS:
        return Actor.PLATFORM
    operators = (name for name, actor in header.users.items() if actor == Actor.OPERATOR)
    own = {header.namespace, *(_account_namespace(name) for name in operators)}
    own |= {str((header.profile.get(key) or {}).get("namespace", "")) for key in _INSTALLS}
    return Actor.OPERATOR if namespace in own else Actor.UNKNOWN


def _account_namespace(user: str) -> str:
    """Empty for a user that is no ServiceAccount."""
    return user.removeprefix(_ACCOUNT).partition(":")[0] if user.startswith(_ACCOUNT) else ""


def _same_kind(resource: str, kind: str) -> bool:
    """True if a plural resource name is that kind's."""
    lower = kind.lower()
    return resource in (lower, lower + "s", lower + "es", lower[:-1] + "ies")


def _deployment_controllers(change: Change) -> bool:
    """True for a change of nothing but the annotations that the Deployment controller keeps."""
    if change.act is not Act.CHANGED or change.before is None:
        return False
    if set(change.parts) - {Part.STATUS} != {Part.ANNOTATIONS}:
        return False
    differing = change.before.annotations.items() ^ change.obj.annotations.items()
    return all(key.startswith(_DEPLOYMENT_CONTROLLER_PREFIX) for key, _ in differing)


# Field managers ----------------------------------------------------------------------------------


def _managers_of(change: Change) -> set[str]:
    """Those whose entry in `metadata.managedFields` is new or moved with this change: by default
    the first word of a client's user agent, for a Go program its file (kubernetes.io,
    server-side-apply)."""
    keys = ("manager", "operation", "time", "fieldsV1")
    before = _managed(change.before) if change.before else []
    known = [[entry.get(key) for key in keys] for entry in before]
    return {
        str(entry.get("manager", ""))
        for entry in _managed(change.obj)
        if [entry.get(key) for key in keys] not in known
    }


def _actor_of_manager(header: Header, manager: str, obj: Obj) -> Actor:
    """Whose code it stands for. Many programs go by `manager`, those of LeaderWorkerSet too: of what
    a workload owns, the operator's name does not say that it was the operator."""
    if manager in _PLATFORM_MANAGERS:
        return Actor.PLATFORM
    actor = Actor(header.users.get(manager, Actor.UNKNOWN))
    below = any(owner.get("kind") in {*WORKLOADS, *PLATFORM_KINDS} for owner in obj.owners)
    return Actor.UNKNOWN if actor is Actor.OPERATOR and below else actor


def operators_managers(objects: Iterable[Obj], *, known: Collection[str]) -> set[str]:
    """The managers of what only an operator makes: what graphs and components own. `known` are those
    of others. To be asked before any case has touched such an object."""
    named = {
        str(entry.get("manager", ""))
        for obj in objects
        if obj.kind not in PLATFORM_KINDS
        and any(owner.get("kind") in (GRAPH_KIND, COMPONENT_KIND) for owner in obj.owners)
        for entry in _managed(obj)
    }
    return named - {"", *known, *_PLATFORM_MANAGERS}


def _managed(obj: Obj) -> list[Mapping[str, Any]]:
    """Entries of field managers, those of subresources left out."""
    entries = obj.at("metadata", "managedFields") or ()
    return [entry for entry in entries if not entry.get("subresource")]
