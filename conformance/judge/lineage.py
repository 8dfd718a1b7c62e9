"""Who belongs to whom over a whole history, by uid. At one checkpoint a pod may outlive its
ReplicaSet; here its owners are known from what was recorded before."""

from collections import defaultdict
from dataclasses import dataclass

from conformance.history.history import History, Life
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.ownership import service_of_component
from conformance.model.state import Obj


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A service of a graph. `graph` is the name of the graph, or of a bare component; `service` is
    in lower case, since children's names and labels may fold it."""

    graph: str
    service: str


class Lineage:
    """Owner relations of every object that was ever seen."""

    def __init__(self, history: History) -> None:
        self._lives = history.lives
        self._profile = history.profile
        self._parent: dict[str, str] = {}
        self._children: dict[str, set[str]] = defaultdict(set)
        self._below: dict[str, frozenset[str]] = {}
        for event in history.events:
            obj = event.obj
            for owner in obj.owners:
                self._children[str(owner.get("uid", ""))].add(obj.uid)
            first = obj.controller or (obj.owners[0] if obj.owners else None)
            if first is not None:
                self._parent[obj.uid] = str(first.get("uid", ""))

    def chain(self, uid: str) -> list[Obj]:
        """The object and its owners, nearest first, each in its last recorded state."""
        found: list[Obj] = []
        seen: set[str] = set()
        while uid and uid not in seen and uid in self._lives:
            seen.add(uid)
            found.append(self._lives[uid].last)
            uid = self._parent.get(uid, "")
        return found

    def above(self, uid: str) -> list[Obj]:
        """The owners of the object, nearest first."""
        return self.chain(uid)[1:]

    def place(self, uid: str) -> Place | None:
        """The service that an object serves, None if it serves none that could be told."""
        labels = self._profile.labels
        chain = self.chain(uid)
        if not chain:
            return None
        graph = next((o.name for o in chain if o.kind == GRAPH_KIND), "")
        component = next((o for o in chain if o.kind == COMPONENT_KIND), None)
        service = service_of_component(component, self._profile) if component else ""
        graph = graph or next((v for o in chain if (v := o.labels.get(labels.graph, ""))), "")
        service = service or next((v for o in chain if (v := o.labels.get(labels.service, ""))), "")
        if not graph and component is not None:
            graph = component.name
        return Place(graph=graph, service=service.lower()) if graph and service else None

    def below(self, uid: str) -> frozenset[str]:
        """Uids of everything that ever had an owner reference to that uid, through any number."""
        if uid not in self._below:
            found: set[str] = set()
            queue = [uid]
            while queue:
                new = self._children.get(queue.pop(), set()) - found
                found |= new
                queue += new
            self._below[uid] = frozenset(found - {uid})
        return self._below[uid]

    def belongings(self, root: Life) -> frozenset[str]:
        """What ever was part of a graph (or bare component): below it, or labelled with its name
        while no other graph of that name was there to be meant."""
        top = root.last
        found = set(self.below(top.uid))
        if top.kind != GRAPH_KIND:
            return frozenset(found)
        label = self._profile.labels.graph
        for uid, life in self._lives.items():
            obj = life.first
            labelled = obj.labels.get(label) == top.name and obj.namespace == top.namespace
            if not labelled or uid in found or uid == top.uid or not self._meant(root, life):
                continue
            if not any(owner.kind == GRAPH_KIND for owner in self.chain(uid)):
                found |= {uid, *self.below(uid)}
        return frozenset(found)

    def _meant(self, root: Life, life: Life) -> bool:
        """True if the graph was the newest of its name when that object was made."""
        top, born = root.last, life.created_revision or 0
        namesakes = [
            other
            for other in self._lives.values()
            if other.last.kind == GRAPH_KIND
            and (other.last.name, other.last.namespace) == (top.name, top.namespace)
            and (other.created_revision or 0) <= born
        ]
        newest = max(namesakes, key=lambda other: other.created_revision or 0, default=None)
        return newest is not None and newest.uid == root.uid
