"""An API server and platform in memory, just enough to run the operator's controllers on."""

import copy
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.client import ApiError
from reference.objects import (
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    LWS,
    POD,
    POD_GROUP,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    WORKLOADS,
    Key,
    Kind,
    Object,
    controller_of,
    key_of,
    meta,
    owner_reference,
    uid_of,
)

NAMESPACE = "ns"
KINDS = (GRAPH, COMPONENT, DEPLOYMENT, LWS, POD_GROUP, SERVICE, POD, REPLICA_SET, STATEFUL_SET)
BEFORE_WATCH_ENDS_SECONDS = 0.05


class FakeApi:
    """Stands in for ``Client``. Workloads get their pods and a ready status as they are written."""

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.RLock())
        self._objects: dict[Kind, dict[Key, Object]] = {kind: {} for kind in KINDS}
        self._events: dict[Kind, list[tuple[int, Object]]] = {kind: [] for kind in KINDS}
        self._versions = itertools.count(1)
        self.writes: list[tuple[str, str, str]] = []
        """(verb, kind, name) of every request of the operator that changes something."""
        self.realise = True
        """False: workloads stay without pods and status."""
        self.reject: Callable[[str, Kind, Object], None] = lambda verb, kind, obj: None
        """Called before each write; raises what the API server would answer."""

    # What a test does

    def put(self, kind: Kind, name: str, **fields: Any) -> Object:
        """Create an object as a user would."""
        body = {"metadata": {"name": name, "namespace": NAMESPACE, **fields.pop("metadata", {})}}
        with self._condition:
            return self._insert(kind, {**body, **fields})

    def edit(self, kind: Kind, name: str, change: Callable[[Object], None]) -> Object:
        with self._condition:
            obj = copy.deepcopy(self._objects[kind][Key(NAMESPACE, name)])
            change(obj)
            return self._store(kind, obj)

    def remove(self, kind: Kind, name: str) -> None:
        with self._condition:
            self._delete(kind, self._objects[kind][Key(NAMESPACE, name)])

    def find(self, kind: Kind, name: str) -> Object | None:
        with self._condition:
            return copy.deepcopy(self._objects[kind].get(Key(NAMESPACE, name)))

    def names(self, kind: Kind) -> list[str]:
        with self._condition:
            return sorted(key.name for key in self._objects[kind])

    # What the operator calls

    def list(self, kind: Kind, query: Mapping[str, str], *, metadata_only: bool) -> Object:
        with self._condition:
            items = copy.deepcopy(list(self._objects[kind].values()))
            return {"metadata": {"resourceVersion": str(next(self._versions))}, "items": items}

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.find(kind, name)

    def create(self, kind: Kind, body: Object) -> Object:
        with self._condition:
            self._note("create", kind, body)
            if key_of(body) in self._objects[kind]:
                raise ApiError(409, "AlreadyExists", f"{meta(body)['name']} already exists")
            return self._insert(kind, body)

    def replace(self, kind: Kind, body: Object) -> Object:
        with self._condition:
            self._note("update", kind, body)
            live = self._live(kind, body)
            if meta(body)["resourceVersion"] != meta(live)["resourceVersion"]:
                raise ApiError(409, "Conflict", "the object has been modified")
            obj = {**copy.deepcopy(live), **copy.deepcopy(body)}
            return self._store(kind, obj)

    def merge_patch(self, kind: Kind, obj: Object, patch: Object) -> Object:
        with self._condition:
            self._note("patch", kind, obj)
            live = self._live(kind, obj)
            wanted = meta(patch).get("resourceVersion")
            if wanted is not None and wanted != meta(live)["resourceVersion"]:
                raise ApiError(409, "Conflict", "the object has been modified")
            return self._store(kind, _merged(copy.deepcopy(live), patch))

    def write_status(self, kind: Kind, obj: Object, status: Object) -> Object:
        with self._condition:
            self._note("status", kind, obj)
            live = copy.deepcopy(self._live(kind, obj))
            if uid_of(live) != uid_of(obj):
                raise ApiError(422, "Invalid", "the uid differs")
            return self._store(kind, {**live, "status": copy.deepcopy(status)})

    def delete(self, kind: Kind, obj: Object, *, foreground: bool = False) -> Object:
        with self._condition:
            self._note("delete", kind, obj)
            live = self._objects[kind].get(key_of(obj))
            if live is None or uid_of(live) != uid_of(obj):
                return {}
            self._delete(kind, live)
            return {}

    def watch(
        self, kind: Kind, query: Mapping[str, str], version: str, *, metadata_only: bool
    ) -> Iterator[Object]:
        deadline = time.monotonic() + BEFORE_WATCH_ENDS_SECONDS
        seen = int(version)
        while time.monotonic() < deadline:
            with self._condition:
                news = [entry for entry in self._events[kind] if entry[0] > seen]
                if not news:
                    self._condition.wait(BEFORE_WATCH_ENDS_SECONDS)
            for version_of_event, event in news:
                seen = version_of_event
                yield copy.deepcopy(event)

    # How it works

    def _note(self, verb: str, kind: Kind, obj: Object) -> None:
        self.reject(verb, kind, obj)
        self.writes.append((verb, kind.kind, meta(obj)["name"]))

    def _live(self, kind: Kind, obj: Object) -> Object:
        live = self._objects[kind].get(key_of(obj))
        if live is None:
            raise ApiError(404, "NotFound", f"{meta(obj)['name']} not found")
        return live

    def _insert(self, kind: Kind, body: Object) -> Object:
        obj = copy.deepcopy(body)
        obj |= {"apiVersion": kind.api_version, "kind": kind.kind}
        obj["metadata"] |= {"uid": f"uid-{next(self._versions)}", "generation": 1}
        return self._publish(kind, "ADDED", obj)

    def _store(self, kind: Kind, obj: Object) -> Object:
        live = self._objects[kind][key_of(obj)]
        if obj == live:
            return copy.deepcopy(live)
        if obj.get("spec") != live.get("spec"):
            obj["metadata"]["generation"] = meta(live)["generation"] + 1
        if meta(obj).get("deletionTimestamp") and not meta(obj).get("finalizers"):
            return self._gone(kind, obj)
        return self._publish(kind, "MODIFIED", obj)

    def _publish(self, kind: Kind, type_: str, obj: Object) -> Object:
        changed = obj.get("spec") != self._objects[kind].get(key_of(obj), {}).get("spec")
        version = next(self._versions)
        obj["metadata"]["resourceVersion"] = str(version)
        self._objects[kind][key_of(obj)] = obj
        self._events[kind].append((version, {"type": type_, "object": copy.deepcopy(obj)}))
        self._condition.notify_all()
        answer = copy.deepcopy(obj)
        if changed and self.realise and kind in WORKLOADS:
            self.run(kind, meta(obj)["name"])
        return answer

    def _delete(self, kind: Kind, live: Object) -> None:
        if meta(live).get("finalizers"):
            if not meta(live).get("deletionTimestamp"):
                obj = copy.deepcopy(live)
                obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
                self._publish(kind, "MODIFIED", obj)
            return
        self._gone(kind, copy.deepcopy(live))

    def _gone(self, kind: Kind, obj: Object) -> Object:
        del self._objects[kind][key_of(obj)]
        version = next(self._versions)
        obj["metadata"]["resourceVersion"] = str(version)
        self._events[kind].append((version, {"type": "DELETED", "object": copy.deepcopy(obj)}))
        self._condition.notify_all()
        self._collect(uid_of(obj))
        return obj

    def _collect(self, owner: str) -> None:
        """Garbage collection."""
        for kind in KINDS:
            for obj in list(self._objects[kind].values()):
                reference = controller_of(obj)
                if reference is not None and reference["uid"] == owner:
                    self._delete(kind, obj)

    def run(self, kind: Kind, name: str) -> None:
        """Give a workload the pods of its spec and a status that says so."""
        with self._condition:
            workload = self._objects[kind][Key(NAMESPACE, name)]
            self._collect(uid_of(workload))
            replicas = workload["spec"]["replicas"]
            if kind is LWS:
                self._run_groups(workload, replicas)
            else:
                template, owner = workload["spec"]["template"], workload
                if kind is DEPLOYMENT:
                    owner = self._child(REPLICA_SET, f"{name}-rs", template, workload, kind)
                for index in range(replicas):
                    owner_kind = REPLICA_SET if kind is DEPLOYMENT else kind
                    self._child(POD, f"{meta(owner)['name']}-{index}", template, owner, owner_kind)
            status: Object = {"observedGeneration": meta(workload)["generation"]}
            if replicas:
                names = ("replicas", "updatedReplicas", "readyReplicas")
                status |= dict.fromkeys(names, replicas)
            if kind is not LWS:
                status["availableReplicas"] = replicas
            else:
                status["conditions"] = [{"type": "Available", "status": "True"}]
            live = copy.deepcopy(self._objects[kind][Key(NAMESPACE, name)])
            self._publish(kind, "MODIFIED", {**live, "status": status})

    def _run_groups(self, workload: Object, replicas: int) -> None:
        name = meta(workload)["name"]
        template = workload["spec"]["leaderWorkerTemplate"]
        leaders = self._child(STATEFUL_SET, name, template["leaderTemplate"], workload, LWS)
        for group in range(replicas):
            pod = f"{name}-{group}"
            leader = self._child(POD, pod, template["leaderTemplate"], leaders, STATEFUL_SET)
            workers = self._child(STATEFUL_SET, pod, template["workerTemplate"], leader, POD)
            for index in range(1, template["size"]):
                worker = f"{pod}-{index}"
                self._child(POD, worker, template["workerTemplate"], workers, STATEFUL_SET)

    def _child(
        self, kind: Kind, name: str, template: Object, owner: Object, owner_kind: Kind
    ) -> Object:
        metadata = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner_reference(owner, owner_kind)],
        }
        return self._insert(kind, {"metadata": metadata})


def _merged(target: Object, patch: Object) -> Object:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merged(target[key], value)
        else:
            target[key] = copy.deepcopy(value)
    return target
