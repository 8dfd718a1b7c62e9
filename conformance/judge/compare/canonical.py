"""Two states made comparable: one graph's objects without what may differ, and a path-wise diff."""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.judge.compare.masks import LEFT_OUT, MASKS, NAME_ENDS, TEXTS, WITH_STATUS
from conformance.model.kinds import ownerless
from conformance.model.ownership import attribute
from conformance.model.profile import Profile
from conformance.model.state import Obj, State

# List items are compared by what names them, not by their place.
_ITEM_NAMES = ("name", "type", "mountPath", "containerPort", "port", "key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """The objects of one graph: (kind, name without its masked end) → each object of that name, with
    its real name for sentences and its fields: path → value."""

    objects: Mapping[tuple[str, str], list[tuple[str, dict[str, Any]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """One object in which two states differ. `fields` maps a path to (left, right); None: absent.
    `left` and `right` name the objects on each side; with different counts some are missing."""

    kind: str
    name: str
    left: list[str]
    right: list[str]
    fields: Mapping[str, tuple[Any, Any]]


def canonical(
    state: State, *, graph: str, namespace: str, profile: Profile, component: bool = False
) -> Canonical:
    """The objects of a graph (or bare component) in a state, without what may differ."""
    ours = []
    for obj in state:
        place = attribute(state, obj, profile)
        bare = place.component == graph and not place.graph
        belongs = bare if component else place.graph == graph
        if belongs and obj.namespace == namespace and not _left_out(obj, state, profile):
            ours.append(obj)
    texts = _texts(ours, namespace)
    objects = defaultdict(list)
    for obj in ours:
        key = (obj.kind, _say(stem(obj), texts))
        objects[key].append((obj.name, _flat(obj, texts, profile)))
    return Canonical(objects=objects)


def _left_out(obj: Obj, state: State, profile: Profile) -> bool:
    if any(row.kind == obj.kind and row.when(obj, state) for row in LEFT_OUT):
        return True
    return ownerless(obj.kind, obj.name) is not None or profile.retains(obj.kind, obj.name)


def stem(obj: Obj) -> str:
    """The object's name without an end that may differ."""
    for row in NAME_ENDS:
        if row.kind in ("*", obj.kind):
            cut = row.end.sub("", obj.name)
            if cut != obj.name:
                return cut
    return obj.name


def _texts(objects: Iterable[Obj], namespace: str) -> list[tuple[re.Pattern[str], str]]:
    """What stands for what in every text: names without their ends, longest first, then the
    namespace."""
    stems = {obj.name: stem(obj) for obj in objects if stem(obj) != obj.name}
    longest_first = sorted(stems.items(), key=lambda pair: len(pair[0]), reverse=True)
    found = [
        (re.compile(rf"(?<![0-9a-z]){re.escape(name)}(?![0-9a-z])"), stand_in)
        for name, stand_in in (*longest_first, (namespace, "<namespace>"))
    ]
    return [*found, *TEXTS]


def _say(text: str, texts: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, stand_in in texts:
        text = pattern.sub(stand_in, text)
    return text


def _flat(obj: Obj, texts: list[tuple[re.Pattern[str], str]], profile: Profile) -> dict[str, Any]:
    masks = [mask.path for mask in (*MASKS, *profile.masks) if mask.kind in ("*", obj.kind)]
    raw = dict(obj.raw)
    if obj.kind not in WITH_STATUS:
        raw.pop("status", None)
    flat: dict[str, Any] = {}
    for path, value in _walk(raw, ""):
        if any(fnmatch.fnmatchcase(path, m) or path.startswith(f"{m}.") for m in masks):
            continue
        if path == "metadata.name":
            value = stem(obj)
        flat[_say(path, texts)] = _say(value, texts) if isinstance(value, str) else value
    return flat


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for name, inner in _items(value):
            yield from _walk(inner, f"{path}.{name}")
    elif value is not None:
        yield path, value


def _items(values: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    items = list(values)
    for key in _ITEM_NAMES:
        names = [str(i.get(key)) if isinstance(i, Mapping) and key in i else "" for i in items]
        if all(names) and len(set(names)) == len(names):
            yield from zip(names, items, strict=True)
            return
    yield from ((str(place), item) for place, item in enumerate(items))


def differences(left: Canonical, right: Canonical) -> list[Unlike]:
    """Objects that only one side has, or that differ in a field that is not masked."""
    found = []
    for key in sorted(left.objects.keys() | right.objects.keys()):
        ours, theirs = left.objects.get(key, []), right.objects.get(key, [])
        alike = len(ours) == len(theirs)
        fields: dict[str, tuple[Any, Any]] = {}
        for one, other in zip(_ordered(ours), _ordered(theirs), strict=True) if alike else ():
            for path in sorted(one.keys() | other.keys()):
                if one.get(path) != other.get(path):
                    fields[path] = (one.get(path), other.get(path))
        if fields or not alike:
            names = {"left": [name for name, _ in ours], "right": [name for name, _ in theirs]}
            found.append(Unlike(kind=key[0], name=key[1], **names, fields=fields))
    return found


def _ordered(objects: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return sorted((flat for _, flat in objects), key=lambda flat: repr(sorted(flat.items())))
