"""A watched copy of each kind: list once, follow the watch, list again only if history is lost."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import urllib3

from .client import ApiError, Client
from .objects import Key, Kind, Object, controller_of, key_of, meta, uid_of

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[Object | None, Object | None], None]
"""Called with the object before and after a change; None where there was or is none."""

_SHORTEST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 10.0


class Store:
    """The objects of one kind as last seen, with an index by the controlling owner's uid."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[Key, Object] = {}
        self._owned: dict[str, set[Key]] = {}
        self._seen = 0

    def get(self, key: Key) -> Object | None:
        with self._lock:
            return self._objects.get(key)

    def in_namespace(self, namespace: str) -> list[Object]:
        with self._lock:
            return [obj for key, obj in self._objects.items() if key.namespace == namespace]

    def owned_by(self, uid: str) -> list[Object]:
        """Objects whose controlling owner has this uid, in order of their names."""
        with self._lock:
            return [self._objects[key] for key in sorted(self._owned.get(uid, ()))]

    def observe(self, obj: Object) -> tuple[Object | None, Object]:
        """Take an object from the watch; returns the known object before and after.

        An object remembered from an own write may be ahead of the watch; then it stays.
        """
        with self._lock:
            self._seen = max(self._seen, _version(obj))
            known = self._objects.get(key_of(obj))
            if known is not None and _version(known) > _version(obj):
                return known, known
            return self._put(key_of(obj), obj), obj

    def remember(self, obj: Object) -> None:
        """Take the API's answer to an own write, ahead of the watch.

        Versions of one kind grow with each write. An answer that is no newer than the last event of
        the watch is ignored: the object may be gone by now.
        """
        with self._lock:
            if _version(obj) <= self._seen:
                return
            known = self._objects.get(key_of(obj))
            if known is None or _version(known) < _version(obj):
                self._put(key_of(obj), obj)

    def drop(self, obj: Object) -> Object | None:
        """An object is gone; the store may know a newer one of its name already."""
        key = key_of(obj)
        with self._lock:
            self._seen = max(self._seen, _version(obj))
            known = self._objects.get(key)
            if known is None or uid_of(known) != uid_of(obj):
                return None
            return self._put(key, None)

    def reset(self, objects: Iterable[Object], version: int) -> list[tuple[Object | None, Object]]:
        """Replace everything after a new list; returns (before, after) of what is there now."""
        with self._lock:
            self._seen = max(self._seen, version)
            changes = [(self._objects.get(key_of(obj)), obj) for obj in objects]
            for _, obj in changes:
                self._put(key_of(obj), obj)
            return changes

    def missing(self, objects: Iterable[Object]) -> list[Object]:
        """Known objects that a new list does not name any more."""
        names = {key_of(obj) for obj in objects}
        with self._lock:
            return [obj for key, obj in self._objects.items() if key not in names]

    def advance(self, version: int) -> None:
        with self._lock:
            self._seen = max(self._seen, version)

    def _put(self, key: Key, obj: Object | None) -> Object | None:
        before = self._objects.pop(key, None)
        if before is not None and (owner := controller_of(before)) is not None:
            owned = self._owned.get(owner["uid"], set())
            owned.discard(key)
            if not owned:
                self._owned.pop(owner["uid"], None)
        if obj is not None:
            self._objects[key] = obj
            if (owner := controller_of(obj)) is not None:
                self._owned.setdefault(owner["uid"], set()).add(key)
        return before


def _version(obj: Object) -> int:
    return int(meta(obj).get("resourceVersion") or 0)


class Informer:
    """Keeps a Store up to date in a thread of its own and tells handlers of each change."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        query: Mapping[str, str] | None = None,
        metadata_only: bool = False,
    ) -> None:
        self.kind = kind
        self.store = Store()
        self.synced = threading.Event()
        """Set once the first list is in, or the API turned out not to serve the kind."""
        self.served = True
        """False while the API does not serve the kind."""
        self._client = client
        self._query = dict(query or {})
        self._metadata_only = metadata_only
        self._handlers: list[Handler] = []
        self._stop = threading.Event()
        self._version = ""
        """Where to resume; empty: list first."""

    def on_change(self, handler: Handler) -> None:
        self._handlers.append(handler)

    def start(self) -> None:
        name = f"watch-{self.kind.plural}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        pause = _SHORTEST_PAUSE_SECONDS
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                pause = _SHORTEST_PAUSE_SECONDS
                self._follow()
                continue
            except ApiError as error:
                if error.code == 410:
                    log.info("%s: history expired, listing again", self.kind.plural)
                    self._version = ""
                elif error.is_not_found:
                    self._not_served()
                else:
                    log.warning("%s: %s", self.kind.plural, error)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                log.warning("%s: watch broke: %s", self.kind.plural, error)
            self._stop.wait(pause)
            pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)

    def _not_served(self) -> None:
        self._version = ""
        self.served = False
        self.synced.set()
        for obj in self.store.missing(()):
            self._tell(self.store.drop(obj), None)

    def _list(self) -> None:
        answer = self._client.list(self.kind, self._query, metadata_only=self._metadata_only)
        version = str(answer["metadata"]["resourceVersion"])
        objects: list[Object] = answer.get("items") or []
        gone = self.store.missing(objects)
        changes = self.store.reset(objects, int(version))
        self.served = True
        self.synced.set()
        for obj in gone:
            self._tell(self.store.drop(obj), None)
        for before, after in changes:
            self._tell(before, after)
        self._version = version

    def _follow(self) -> None:
        events = self._client.watch(
            self.kind, self._query, self._version, metadata_only=self._metadata_only
        )
        for event in events:
            obj: Object = event["object"]
            if event["type"] == "ERROR":
                raise ApiError(
                    int(obj.get("code") or 0),
                    str(obj.get("reason") or ""),
                    str(obj.get("message") or ""),
                )
            self._version = str(meta(obj)["resourceVersion"])
            if event["type"] == "BOOKMARK":
                self.store.advance(int(self._version))
            elif event["type"] == "DELETED":
                self._tell(self.store.drop(obj), None)
            else:
                self._tell(*self.store.observe(obj))

    def _tell(self, before: Object | None, after: Object | None) -> None:
        for handler in self._handlers:
            handler(before, after)
