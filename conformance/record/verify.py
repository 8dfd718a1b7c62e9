"""At a checkpoint: does the record equal what the API server lists?"""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conformance.kube import Api, Resource
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.model.kinds import UNRECORDED
from conformance.record.files import POLL_SECONDS
from conformance.record.tail import Tail

_AT_ONCE = 16

# Kinds that no verdict rests on: kind → reason.
UNVERIFIED: dict[str, str] = {
    **UNRECORDED,
    "Event": "evidence only; it has no watch cache, so that its lists are dear",
}


def verify(
    api: Api,
    tail: Tail,
    namespace: str,
    resources: Iterable[Resource],
    within: float = Bounds().recorder_lag,
) -> tuple[dict[str, int], dict[str, str]]:
    """(verified: kind → revision of its list, disagreed: kind → what differs).

    Lists each of the given kinds, and each ever seen in the namespace, once, save those that may not be
    seen. The record as of the list's revision must hold the same objects in the same versions, at most
    `within` seconds later. Raises InfraError if the recorder is dead or a list fails.
    """
    tail.poll()
    chosen = {(resource.kind, resource.group): resource for resource in resources}
    for kind, group in tail.kinds() - chosen.keys():
        if kind not in UNVERIFIED:
            chosen[kind, group] = _resource(api, kind, group)
    relevant = [
        resource
        for key, resource in chosen.items()
        if resource.namespaced and resource.kind not in UNVERIFIED and key not in tail.unseen
    ]
    # All at once: a list of a kind at rest waits 0.1 s and more until the API server's cache of it
    # has caught up with the writes to others (one after another took 3 s with 12 busy cases).
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        lists = list(pool.map(lambda resource: api.metadata_list(resource, namespace), relevant))
    verified: dict[str, int] = {}
    disagreed: dict[str, str] = {}
    end = time.monotonic() + within
    tail.poll()
    for resource, (items, revision) in zip(relevant, lists, strict=True):
        kind = resource.kind
        while difference := _difference(tail, resource, items, revision):
            if time.monotonic() > end:
                down = tail.heartbeat is not None and kind in tail.heartbeat.down
                watch = "; its watch is down" if down else ""
                disagreed[kind] = f"{difference}, {within:g} s later{watch}"
                break
            time.sleep(POLL_SECONDS)
            tail.poll()
        else:
            verified[kind] = min(revision, verified.get(kind, revision))
    return {kind: at for kind, at in verified.items() if kind not in disagreed}, disagreed


def _resource(api: Api, kind: str, group: str) -> Resource:
    try:
        return api.resource_for(kind, group)
    except InfraError as error:
        raise InfraError(f"{kind} was recorded but can no longer be verified: {error}") from error


def _difference(
    tail: Tail, resource: Resource, items: Iterable[Mapping[str, Any]], revision: int
) -> str:
    """One sentence that names the first object that differs; empty if all is equal."""
    kind, at = resource.kind, f"at revision {revision}"
    recorded = tail.recorded_at(kind, resource.group, revision)
    for meta in (item["metadata"] for item in items):
        name, listed = meta["name"], int(meta["resourceVersion"])
        known = recorded.pop(str(meta["uid"]), None)
        if known is None:
            return f"{kind} {name} is listed {at} but not in the record"
        if known != listed:
            return (
                f"{kind} {name} is listed {at} with resourceVersion {listed}, "
                f"the record has {known}"
            )
    for uid in recorded:
        return f"{kind} with uid {uid} is in the record {at} but not listed"
    return ""
