"""Cached reads of the cluster, and every write that the operator makes."""

import copy
import logging
import threading
from collections.abc import Iterable

from .client import ApiError, Client, describe
from .compare import covers
from .faults import Fault, Faults
from .informers import Informer, Store
from .objects import (
    CHILDREN,
    COMPONENT,
    FINALIZER,
    GRAPH,
    HASH_ANNOTATION,
    LABEL_COMPONENT,
    LABEL_SELECTOR,
    POD,
    POD_GROUP,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    Key,
    Kind,
    Object,
    annotations_of,
    controller_of,
    digest,
    generation_of,
    is_controlled_by,
    is_terminating,
    key_of,
    labels_of,
    meta,
    uid_of,
)

log = logging.getLogger(__name__)


class ForeignObjectError(Exception):
    """The wanted name is taken by an object that the parent does not control."""

    def __init__(self, kind: Kind, obj: Object) -> None:
        super().__init__(f"{kind.kind} {meta(obj)['name']} exists and is controlled by another")


class StillTerminatingError(Exception):
    """The wanted name is taken by an object of the parent that is being deleted."""

    def __init__(self, kind: Kind, obj: Object) -> None:
        super().__init__(f"{kind.kind} {meta(obj)['name']} of an earlier state is being deleted")


class KindNotServedError(Exception):
    """The cluster does not serve a kind that the wanted shape needs."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"the cluster does not serve {kind.kind} ({kind.api_version})")


class Cluster:
    """Cached reads, and writes that are skipped when they would change nothing."""

    def __init__(self, client: Client, faults: Faults) -> None:
        self._client = client
        self._faults = faults
        kinds = (GRAPH, COMPONENT, *CHILDREN)
        self.informers: dict[Kind, Informer] = {kind: Informer(client, kind) for kind in kinds}
        # Pods are only counted along their owners, so metadata is enough. A failed or finished pod
        # stays as a record and serves nobody.
        running = "status.phase!=Failed,status.phase!=Succeeded"
        queries = {
            POD: {"labelSelector": LABEL_COMPONENT, "fieldSelector": running},
            REPLICA_SET: {},
        }
        for kind, query in queries.items():
            self.informers[kind] = Informer(client, kind, query=query, metadata_only=True)
        self._lock = threading.Lock()
        self._accepted: dict[str, tuple[str, int]] = {}
        self._conflicts: dict[tuple[Kind, Key], set[Key]] = {}

    def store(self, kind: Kind) -> Store:
        return self.informers[kind].store

    def start(self) -> None:
        for informer in self.informers.values():
            informer.start()

    def wait_synced(self) -> None:
        for informer in self.informers.values():
            informer.synced.wait()

    @property
    def synced(self) -> bool:
        return all(informer.synced.is_set() for informer in self.informers.values())

    def children(self, uid: str) -> Iterable[tuple[Kind, Object]]:
        """The children of the component with this uid."""
        for kind in CHILDREN:
            for obj in self.store(kind).owned_by(uid):
                yield kind, obj

    def count_pods(self, component: Key, workload_uid: str) -> int:
        """Pods of a component's workload that have not ended, with terminating ones and strays.

        A stray is a pod of the component whose owner no longer exists: the garbage collector removes
        the set before the pod. Pods that only look alike have no owner, or one that exists.
        """
        pods = self.store(POD)
        strays = 0
        for pod in pods.in_namespace(component.namespace):
            owner = controller_of(pod)
            if labels_of(pod).get(LABEL_SELECTOR) == component.name and owner is not None:
                kind = {"ReplicaSet": REPLICA_SET, "StatefulSet": STATEFUL_SET}.get(owner["kind"])
                if kind is not None:
                    key = Key(component.namespace, owner["name"])
                    known = self.store(kind).get(key)
                    strays += known is None or uid_of(known) != owner["uid"]
        return strays + self._pods_below(workload_uid)

    def _pods_below(self, uid: str) -> int:
        """Pods found by their owners' uids; a leader pod owns its followers' set."""
        count = 0
        for kind in (REPLICA_SET, STATEFUL_SET):
            count += sum(self._pods_below(uid_of(obj)) for obj in self.store(kind).owned_by(uid))
        pods = self.store(POD).owned_by(uid)
        return count + sum(1 + self._pods_below(uid_of(pod)) for pod in pods)

    def apply(self, kind: Kind, body: Object, owner: Object, *, exact: bool = False) -> Object:
        """Create the object or bring it to what the body says, unless it is so already.

        ``exact``: the whole spec is the owner's; otherwise the API server may have added to it.
        Raises ForeignObjectError, StillTerminatingError, KindNotServedError and ApiError.
        """
        if not self.informers[kind].served:
            raise KindNotServedError(kind)
        live = self.store(kind).get(key_of(body))
        if live is None:
            try:
                return self._written("created", kind, body, self._client.create(kind, body))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                live = self._client.get(kind, meta(body)["namespace"], meta(body)["name"])
                if live is None:
                    raise
        if not self._is_ours(kind, live, owner):
            self._note_conflict(kind, body, owner)
            if self._faults.on(Fault.FOREIGN_OVERWRITTEN):
                self.delete(kind, live)
                raise StillTerminatingError(kind, live)
            raise ForeignObjectError(kind, live)
        if is_terminating(live):
            raise StillTerminatingError(kind, live)
        if self._is_current(live, body, exact=exact):
            return live
        answer = self._client.replace(kind, _updated(kind, live, body))
        return self._written("updated", kind, body, answer)

    def delete(self, kind: Kind, obj: Object, *, foreground: bool = False) -> None:
        """Delete exactly this object, once."""
        if is_terminating(obj):
            return
        log.info("deleting %s", describe(kind, obj))
        answer = self._client.delete(kind, obj, foreground=foreground)
        if answer.get("kind") == kind.kind and is_terminating(answer):
            self.store(kind).remember(answer)

    def write_status(self, kind: Kind, obj: Object, status: Object) -> None:
        if obj.get("status") == status:
            return
        self.store(kind).remember(self._client.write_status(kind, obj, status))

    def add_finalizer(self, kind: Kind, obj: Object) -> Object:
        finalizers = meta(obj).get("finalizers") or []
        if FINALIZER in finalizers:
            return obj
        return self._set_finalizers(kind, obj, [*finalizers, FINALIZER])

    def remove_finalizer(self, kind: Kind, obj: Object) -> None:
        finalizers = meta(obj).get("finalizers") or []
        if FINALIZER not in finalizers:
            return
        log.info("releasing %s", describe(kind, obj))
        try:
            self._set_finalizers(kind, obj, [name for name in finalizers if name != FINALIZER])
        except ApiError as error:
            if not error.is_not_found:
                raise

    def patch(self, kind: Kind, obj: Object, patch: Object) -> None:
        self.store(kind).remember(self._client.merge_patch(kind, obj, patch))

    def is_accepted(self, obj: Object) -> bool:
        """True if the object's spec is what its parent last wrote, as the server took it."""
        stamp = annotations_of(obj).get(HASH_ANNOTATION)
        with self._lock:
            known = self._accepted.get(uid_of(obj))
        if known == (stamp, generation_of(obj)):
            return True
        return stamp == digest([obj.get("spec") or {}, labels_of(obj)])

    def take_conflicts(self, kind: Kind, obj: Object) -> set[Key]:
        """Parents that wanted this name while an object of another had it, each of them once."""
        with self._lock:
            return self._conflicts.pop((kind, key_of(obj)), set())

    def forget(self, obj: Object) -> None:
        with self._lock:
            self._accepted.pop(uid_of(obj), None)

    def _set_finalizers(self, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
        version = meta(obj)["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
        answer = self._client.merge_patch(kind, obj, patch)
        if not is_terminating(answer):
            self.store(kind).remember(answer)
        return answer

    def _is_ours(self, kind: Kind, live: Object, owner: Object) -> bool:
        if self._faults.on(Fault.OWNERREF_MISSING) and kind is POD_GROUP:
            return True
        if self._faults.on(Fault.FOREIGN_SERVICE_OVERWRITTEN) and kind is SERVICE:
            return True
        return is_controlled_by(live, uid_of(owner))

    def _is_current(self, live: Object, body: Object, *, exact: bool) -> bool:
        stamp = annotations_of(body)[HASH_ANNOTATION]
        if annotations_of(live).get(HASH_ANNOTATION) != stamp:
            return False
        if not covers(labels_of(live), labels_of(body)):
            return False
        generation = generation_of(live)
        with self._lock:
            # The server made the live object of this very body, and would make the same again.
            if generation and self._accepted.get(uid_of(live)) == (stamp, generation):
                return True
        if exact:
            return bool(live.get("spec") == body["spec"])
        return covers(live.get("spec"), body["spec"])

    def _written(self, what: str, kind: Kind, body: Object, answer: Object) -> Object:
        log.info("%s %s", what, describe(kind, answer))
        self.store(kind).remember(answer)
        stamp = annotations_of(body)[HASH_ANNOTATION]
        with self._lock:
            self._accepted[uid_of(answer)] = (stamp, generation_of(answer))
        return answer

    def _note_conflict(self, kind: Kind, body: Object, owner: Object) -> None:
        with self._lock:
            self._conflicts.setdefault((kind, key_of(body)), set()).add(key_of(owner))


def _updated(kind: Kind, live: Object, body: Object) -> Object:
    """The live object with the operator's part replaced; labels and annotations of others stay."""
    metadata = copy.deepcopy(meta(live))
    metadata.pop("managedFields", None)
    for section in ("labels", "annotations"):
        metadata[section] = {**(metadata.get(section) or {}), **meta(body).get(section, {})}
    spec = body["spec"]
    if kind is SERVICE:
        # The cluster's addresses of a Service are fixed once given.
        spec = {**live["spec"], **spec}
    return {"metadata": metadata, "spec": spec}
