"""What one write did to an object, in a few phrases."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.evidence.excerpt import shortened
from conformance.judge.wording import count, join
from conformance.model.graph import GRAPH_KIND, short_kind
from conformance.model.kinds import POD_GROUP, WORKLOADS
from conformance.model.state import Obj

_MOST_PATHS = 3
_VALUE_WIDTH = 48


def created(obj: Obj) -> str:
    """`created (2 groups of 3 pods)`."""
    row = WORKLOADS.get(obj.kind)
    if obj.kind == POD_GROUP:
        return f"created (minMember {obj.at('spec', 'minMember', default='unset')})"
    if row is None:
        return "created"
    size = f", size {obj.at(*row.size, default=1)}" if row.size else ""
    return f"created (replicas {obj.at(*row.groups, default=1)}{size})"


def changed(old: Obj, new: Obj) -> list[str]:
    """A phrase for each thing that a write changed; empty if a reader would look for none of them."""
    phrases: list[str] = []
    if new.deleting and not old.deleting:
        waits = f", waiting for {', '.join(new.finalizers)}" if new.finalizers else ""
        phrases.append(f"deletion requested{waits}")
    if new.kind == "Pod":
        return phrases + _flips(old, new)
    phrases += _spec(old, new)
    for name in ("labels", "annotations", "finalizers"):
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if isinstance(before, Mapping):
            keys = {
                key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
            }
            phrases.append(f"{name} changed: {join(sorted(keys), most=_MOST_PATHS)}")
        else:
            phrases.append(f"{name} now {', '.join(after) or 'none'}")
    if [o.get("uid") for o in old.owners] != [o.get("uid") for o in new.owners]:
        owners = join(f"{short_kind(str(o.get('kind')))} {o.get('name')}" for o in new.owners)
        phrases.append(f"now owned by {owners}" if owners else "now without an owner")
    return phrases + _flips(old, new)


def _spec(old: Obj, new: Obj) -> list[str]:
    row = WORKLOADS.get(new.kind)
    named = {".".join(row.groups) if row else "spec.replicas": "scaled"}
    if row is not None and row.size:
        named[".".join(row.size)] = "size"
    found = list(differences(old.spec, new.spec, "spec"))
    phrases = [
        f"{named.get(path, path)} {_value(before)}→{_value(after)}"
        for path, before, after in found[:_MOST_PATHS]
    ]
    more = len(found) - _MOST_PATHS
    return phrases if more <= 0 else [*phrases, f"and {count(more, 'more field')} of the spec"]


def differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Leaves that differ, as (path, old, new); a missing leaf is None."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            named = isinstance(after, Mapping) and "name" in after
            item = after["name"] if named else index
            yield from differences(before, after, f"{path}[{item}]")
    elif old != new:
        yield path, old, new


def _value(value: Any) -> str:
    if isinstance(value, Mapping | list):
        value = json.dumps(value, ensure_ascii=False)
    return "unset" if value is None else shortened(str(value), _VALUE_WIDTH)


def _flips(old: Obj, new: Obj) -> list[str]:
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
