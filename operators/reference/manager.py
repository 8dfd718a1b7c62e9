"""Puts the parts together: watches wake keys, workers reconcile them."""

import logging
import threading
from dataclasses import dataclass
from enum import Enum
from functools import partial

import urllib3

from .client import ApiError, Client
from .cluster import Cluster
from .component_controller import ComponentController
from .faults import Fault, Faults
from .graph_controller import GraphController
from .objects import (
    CHILDREN,
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    LABEL_LWS_NAME,
    LABEL_SELECTOR,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Key,
    Kind,
    Object,
    controller_of,
    generation_of,
    is_terminating,
    key_of,
    labels_of,
    meta,
)
from .workqueue import WorkQueue

log = logging.getLogger(__name__)

WORKERS = 4


class _Target(Enum):
    GRAPH = "graph"
    COMPONENT = "component"


@dataclass(frozen=True)
class _Work:
    target: _Target
    key: Key


class Manager:
    """The running operator, without its servers."""

    def __init__(self, client: Client, faults: Faults, *, single_node: Kind = DEPLOYMENT) -> None:
        self._faults = faults
        self.cluster = Cluster(client, faults)
        self._queue: WorkQueue[_Work] = WorkQueue()
        self._stopped = threading.Event()
        self.graphs = GraphController(
            self.cluster,
            faults,
            single_node=single_node,
            wake_component=self._wake_accepted,
            wake_after=lambda key, wait: self._queue.add_after(_Work(_Target.GRAPH, key), wait),
        )
        self._components = ComponentController(
            self.cluster,
            faults,
            single_node=single_node,
            wake_graph=self._wake_graph,
            wake_after=lambda key, wait: self._queue.add_after(_Work(_Target.COMPONENT, key), wait),
        )
        self._connect()

    @property
    def ready(self) -> bool:
        return self.cluster.synced

    def start(self) -> None:
        """Fill the caches, then work: with half a cache, owned objects would look missing."""
        self.cluster.start()
        self.cluster.wait_synced()
        for number in range(WORKERS):
            name = f"worker-{number}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._queue.close()

    def _wake_graph(self, key: Key) -> None:
        self._queue.add(_Work(_Target.GRAPH, key))

    def _wake_component(self, key: Key) -> None:
        self._queue.add(_Work(_Target.COMPONENT, key))

    def _wake_accepted(self, key: Key) -> None:
        if not self._faults.on(Fault.STUCK_UNTIL_WOKEN):
            self._wake_component(key)

    def _connect(self) -> None:
        informers = self.cluster.informers
        informers[GRAPH].on_change(self._graph_changed)
        informers[COMPONENT].on_change(self._component_changed)
        for kind in CHILDREN:
            informers[kind].on_change(partial(self._child_changed, kind))
        for kind in (POD, REPLICA_SET, STATEFUL_SET):
            informers[kind].on_change(self._descendant_changed)

    def _graph_changed(self, old: Object | None, new: Object | None) -> None:
        edited = old is not None and new is not None and not is_terminating(new)
        for obj in _either(old, new):
            key = key_of(obj)
            self._wake_graph(key)
            if edited and self._faults.on(Fault.STUCK_UNTIL_WOKEN):
                continue
            # Components hold back while their graph is unknown or going.
            for component in self.cluster.store(COMPONENT).owned_by(meta(obj)["uid"]):
                self._wake_component(key_of(component))

    def _component_changed(self, old: Object | None, new: Object | None) -> None:
        edited = new is not None and generation_of(new) > 1 and not is_terminating(new)
        if edited and self._faults.on(Fault.STUCK_UNTIL_WOKEN):
            return
        for obj in _either(old, new):
            self._wake_component(key_of(obj))
            self._wake_owner(obj, GRAPH)
        self._changed(COMPONENT, old, new)

    def _child_changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        for obj in _either(old, new):
            self._wake_owner(obj, COMPONENT)
        self._changed(kind, old, new)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        wake = self._wake_graph if kind is COMPONENT else self._wake_component
        for obj in _either(old, new):
            for parent in self.cluster.take_conflicts(kind, obj):
                wake(parent)
        if new is None and old is not None:
            self.cluster.forget(old)

    def _descendant_changed(self, old: Object | None, new: Object | None) -> None:
        """Pods and their sets matter by their number: only coming and going is of interest.

        Their labels say which component to look at again; what counts is found by owner.
        """
        if (old is None) == (new is None):
            return
        for obj in _either(old, new):
            labels = labels_of(obj)
            name = labels.get(LABEL_SELECTOR)
            if name is None and LABEL_LWS_NAME in labels:
                name = labels[LABEL_LWS_NAME].rpartition("-")[0]
            if name:
                self._wake_component(Key(meta(obj)["namespace"], name))

    def _wake_owner(self, obj: Object, kind: Kind) -> None:
        owner = controller_of(obj)
        if owner is not None and owner.get("kind") == kind.kind:
            key = Key(meta(obj)["namespace"], owner["name"])
            (self._wake_graph if kind is GRAPH else self._wake_component)(key)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            try:
                self._reconcile(work)
                self._queue.forget(work)
            except (ApiError, urllib3.exceptions.HTTPError, OSError) as error:
                wait = self._queue.retry(work)
                log.warning("%s %s: %s; again in %.2f s", work.target.value, work.key, error, wait)
            except Exception:
                # One broken object must not take the worker from all others.
                wait = self._queue.retry(work)
                log.exception("%s %s failed; again in %.2f s", work.target.value, work.key, wait)
            finally:
                self._queue.done(work)

    def _reconcile(self, work: _Work) -> None:
        if work.target is _Target.GRAPH:
            self.graphs.reconcile(work.key)
        else:
            self._components.reconcile(work.key)


def _either(old: Object | None, new: Object | None) -> list[Object]:
    """The object, once; both if a new object took the name of an old one."""
    if old is None or new is None:
        return [obj for obj in (new, old) if obj is not None]
    same = meta(old)["uid"] == meta(new)["uid"] and controller_of(old) == controller_of(new)
    return [new] if same else [new, old]
