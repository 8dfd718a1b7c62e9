"""What one write did to an object, in the words of the people who read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.model.graph import GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, POD_GROUP, WORKLOADS
from conformance.model.state import Obj

# Platform kinds whose every write would drown the rest; the drawing and the history have it.
QUIET_KINDS = frozenset(PLATFORM_KINDS.keys() - {"Pod", "StatefulSet"}) | {"Event", "PodMetrics"}
_MOST_PATHS = 3
_VALUE_WIDTH = 48


def created(obj: Obj) -> str:
    """`created (2 groups of 3 pods)`."""
    shape = _shape(obj)
    return f"created ({shape})" if shape else "created"


def _shape(obj: Obj) -> str:
    row = WORKLOADS.get(obj.kind)
    if row is not None:
        groups = obj.at(*row.groups, default=1)
        size = obj.at(*row.size, default=1) if row.size else None
        return f"replicas {groups}" if size is None else f"replicas {groups}, size {size}"
    if obj.kind == POD_GROUP:
        return f"minMember {obj.at('spec', 'minMember', default='unset')}"
    return ""


def changed(old: Obj, new: Obj) -> list[str]:
    """What a write did, one phrase a thing; empty if nothing that a reader would look for."""
    phrases: list[str] = []
    if new.deleting and not old.deleting:
        waits = f", waits for {', '.join(new.finalizers)}" if new.finalizers else ""
        phrases.append(f"deletion asked for{waits}")
    if new.kind == "Pod":
        return phrases + _flips(old, new)
    phrases += _spec(old, new)
    for name in ("labels", "annotations", "finalizers"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            phrases.append(_metadata(name, before, after))
    if [o.get("uid") for o in old.owners] != [o.get("uid") for o in new.owners]:
        owners = ", ".join(f"{o.get('kind')} {o.get('name')}" for o in new.owners)
        phrases.append(f"owners now {owners or 'nobody'}")
    return phrases + _flips(old, new)


def _metadata(name: str, before: Any, after: Any) -> str:
    if isinstance(before, Mapping):
        keys = sorted(
            key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
        )
        more = f" and {len(keys) - _MOST_PATHS} more" if len(keys) > _MOST_PATHS else ""
        return f"{name} changed: {', '.join(keys[:_MOST_PATHS])}{more}"
    return f"{name} now {', '.join(after) or 'none'}"


def _spec(old: Obj, new: Obj) -> list[str]:
    row = WORKLOADS.get(new.kind)
    paths = list(differences(old.spec, new.spec, "spec"))
    if not paths:
        return []
    phrases = []
    named = {}
    if row is not None:
        named[".".join(row.groups)] = "scaled"
        if row.size:
            named[".".join(row.size)] = "size"
    elif new.kind == "StatefulSet":
        named["spec.replicas"] = "scaled"
    for path, before, after in paths[:_MOST_PATHS]:
        phrases.append(f"{named.get(path, path)} {_value(before)}→{_value(after)}")
    if len(paths) > _MOST_PATHS:
        phrases.append(f"and {len(paths) - _MOST_PATHS} more fields of the spec")
    return phrases


def differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Leaves that differ, as (path, old, new); a missing leaf is None."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}[{_item(after, index)}]")
    elif old != new:
        yield path, old, new


def _item(value: Any, index: int) -> str:
    return str(value["name"]) if isinstance(value, Mapping) and "name" in value else str(index)


def _value(value: Any) -> str:
    if isinstance(value, Mapping | list):
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = "unset" if value is None else str(value)
    return text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 1] + "…"


def _flips(old: Obj, new: Obj) -> list[str]:
    """Changes of readiness: conditions, ready counts, and the graph's state."""
    if new.kind == "Pod":
        return [] if old.ready == new.ready else ["Ready" if new.ready else "no longer Ready"]
    phrases = []
    for condition in new.status.get("conditions") or ():
        before = (old.condition(condition["type"]) or {}).get("status", "unset")
        if before != condition.get("status"):
            reason = f" ({condition['reason']})" if condition.get("reason") else ""
            phrases.append(f"{condition['type']} {before}→{condition.get('status')}{reason}")
    if new.kind in WORKLOADS or new.kind == "StatefulSet":
        before, after = (o.at("status", "readyReplicas", default=0) for o in (old, new))
        if before != after:
            phrases.append(f"ready {before}→{after} of {new.at('spec', 'replicas', default=1)}")
    if new.kind == GRAPH_KIND and old.status.get("state") != new.status.get("state"):
        phrases.append(f"state {old.status.get('state', 'unset')}→{new.status.get('state')}")
    return phrases
