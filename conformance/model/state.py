"""Objects of a namespace, or of a cluster, at one instant."""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any


class Obj:
    """One Kubernetes object, read-only. Missing fields read as empty, as the API's zero values do."""

    __slots__ = ("_meta", "raw")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self._meta: Mapping[str, Any] = raw.get("metadata") or {}

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def kind(self) -> str:
        return str(self.raw.get("kind", ""))

    @property
    def group(self) -> str:
        version = str(self.raw.get("apiVersion", ""))
        return version.partition("/")[0] if "/" in version else ""

    @property
    def name(self) -> str:
        return str(self._meta.get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self._meta.get("namespace") or "")

    @property
    def uid(self) -> str:
        """The identity of the object: one made again under its name has another."""
        return str(self._meta.get("uid", ""))

    @property
    def revision(self) -> int:
        """metadata.resourceVersion as a number; Kubernetes allows that since v1.35."""
        return int(self._meta.get("resourceVersion") or 0)

    @property
    def generation(self) -> int:
        return int(self._meta.get("generation") or 0)

    @property
    def observed_generation(self) -> int | None:
        value = self.status.get("observedGeneration")
        return None if value is None else int(value)

    @property
    def labels(self) -> Mapping[str, str]:
        return self._meta.get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self._meta.get("annotations") or {}

    @property
    def owners(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._meta.get("ownerReferences") or ())

    @property
    def controller(self) -> Mapping[str, Any] | None:
        """The owner reference with controller=true, if any."""
        return next((owner for owner in self.owners if owner.get("controller")), None)

    @property
    def finalizers(self) -> tuple[str, ...]:
        return tuple(self._meta.get("finalizers") or ())

    @property
    def deleting(self) -> bool:
        return bool(self._meta.get("deletionTimestamp"))

    @property
    def created(self) -> float:
        """metadata.creationTimestamp: whole seconds since the epoch, 0 if absent."""
        stamp = self._meta.get("creationTimestamp")
        if not stamp:
            return 0.0
        return datetime.datetime.fromisoformat(str(stamp).replace("Z", "+00:00")).timestamp()

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.raw.get("spec") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        return self.raw.get("status") or {}

    def at(self, *path: str, default: Any = None) -> Any:
        """The value under a path of mapping keys, or `default` if any step is missing."""
        value: Any = self.raw
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return default
            value = value[key]
        return value

    def condition(self, type_: str) -> Mapping[str, Any] | None:
        """The status condition of that type."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == type_:
                return dict(condition)
        return None

    @property
    def ready(self) -> bool:
        """For a Pod: condition Ready is True and it is not being deleted."""
        condition = self.condition("Ready")
        return not self.deleting and condition is not None and condition.get("status") == "True"


class State:
    """All recorded objects at one instant, by uid."""

    def __init__(self, objects: Iterable[Obj], *, revision: int = 0, at: float = 0.0) -> None:
        self.objects: dict[str, Obj] = {obj.uid: obj for obj in objects}
        self.revision = revision
        self.at = at

    def __iter__(self) -> Iterator[Obj]:
        return iter(self.objects.values())

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def _by_kind(self) -> dict[str, list[Obj]]:
        kinds: dict[str, list[Obj]] = defaultdict(list)
        for obj in self.objects.values():
            kinds[obj.kind].append(obj)
        return kinds

    @cached_property
    def _by_owner(self) -> dict[str, list[Obj]]:
        owners: dict[str, list[Obj]] = defaultdict(list)
        for obj in self.objects.values():
            for owner in obj.owners:
                owners[str(owner.get("uid", ""))].append(obj)
        return owners

    def of_kind(self, *kinds: str) -> list[Obj]:
        """All objects of these kinds, in no particular order."""
        return [obj for kind in kinds for obj in self._by_kind.get(kind, ())]

    def named(self, kind: str, name: str, namespace: str | None = None) -> Obj | None:
        """The object of that kind and name (and namespace, if given)."""
        for obj in self._by_kind.get(kind, ()):
            if obj.name == name and namespace in (None, obj.namespace):
                return obj
        return None

    def get(self, uid: str) -> Obj | None:
        """The object with that uid, None if it does not exist just now."""
        return self.objects.get(uid)

    def children(self, uid: str) -> list[Obj]:
        """Objects with an owner reference to that uid."""
        return list(self._by_owner.get(uid, ()))

    def descendants(self, uid: str) -> list[Obj]:
        """Everything below that uid, through any number of owner references."""
        found: dict[str, Obj] = {}
        queue = [uid]
        while queue:
            for child in self.children(queue.pop()):
                if child.uid not in found:
                    found[child.uid] = child
                    queue.append(child.uid)
        return list(found.values())

    def select(self, kind: str, selector: Mapping[str, str], namespace: str) -> list[Obj]:
        """Objects of a kind in a namespace whose labels carry every pair of the selector."""
        return [
            obj
            for obj in self._by_kind.get(kind, ())
            if obj.namespace == namespace
            and all(obj.labels.get(key) == value for key, value in selector.items())
        ]
