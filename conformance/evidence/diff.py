"""What became of the objects concerned: a unified diff of trimmed YAML, before and after."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from conformance.evidence.scene import Scene
from conformance.history.history import History
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import POD_GROUP, WORKLOADS
from conformance.model.ownership import attribute
from conformance.model.state import Obj, State
from conformance.model.verdict import Finding

_WORKLOADS = [row.kind for row in WORKLOADS.values() if not row.when_declared]
_KINDS = (GRAPH_KIND, COMPONENT_KIND, *_WORKLOADS, POD_GROUP, "Service")
# Set by the API server, different in each run, and no help to a reader.
_HIDDEN_METADATA = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "selfLink")
_HIDDEN_ANNOTATIONS = ("kubectl.kubernetes.io/last-applied-configuration",)
_HIDDEN_CONDITION = ("lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime")

Key = tuple[str, str, str]


def render(
    history: History, scene: Scene, findings: Iterable[Finding] = (), *, limit: int | None = None
) -> str:
    """Diffs of the objects concerned that changed, the findings' own subjects first.

    Concerned are graphs, components, workloads, gang objects and Services of the services that the
    steps touch (of all services if a step names none), and every subject of a finding. With `limit`
    at most so many lines, and how many were left out. Empty if nothing changed; a subject that did
    not change is said to be unchanged, since that is often the fault.
    """
    subjects = {finding.subject for finding in findings}
    before = _concerned(history, scene, scene.before, subjects)
    after = _concerned(history, scene, scene.after, subjects)
    keys = sorted(before.keys() | after.keys(), key=lambda key: _rank(key, subjects))
    lines: list[str] = []
    for key in keys:
        changed = _diff(key, before.get(key), after.get(key))
        if not changed and f"{key[0]}/{key[2]}" in subjects:
            changed = [f"= {key[0]}/{key[2]}: the same object, unchanged"]
        lines += changed
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], f"… {len(lines) - limit} more lines"]
    return "\n".join(lines)


def trimmed(obj: Obj) -> dict[str, Any]:
    """The object without what the API server sets by itself."""
    data = copy.deepcopy(dict(obj.raw))
    metadata = data.get("metadata") or {}
    for name in _HIDDEN_METADATA:
        metadata.pop(name, None)
    annotations = metadata.get("annotations") or {}
    for name in _HIDDEN_ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        metadata.pop("annotations", None)
    for owner in metadata.get("ownerReferences") or ():
        owner.pop("uid", None)
    status = data.get("status")
    if isinstance(status, Mapping):
        for condition in status.get("conditions") or ():
            for name in _HIDDEN_CONDITION:
                condition.pop(name, None)
    return data


def _concerned(history: History, scene: Scene, state: State, subjects: set[str]) -> dict[Key, Obj]:
    services = {service for step in scene.steps for service in step.services}
    everywhere = not services or any(not step.services for step in scene.steps if step.judged)
    found: dict[Key, Obj] = {}
    for obj in state:
        key = (obj.kind, obj.namespace, obj.name)
        if f"{obj.kind}/{obj.name}" in subjects:
            found[key] = obj
        elif obj.kind in _KINDS:
            service = attribute(state, obj, history.profile).service
            if everywhere or obj.kind == GRAPH_KIND or not service or service in services:
                found[key] = obj
    return found


def _rank(key: Key, subjects: set[str]) -> tuple[int, int, Key]:
    kind, _, name = key
    place = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return (0 if f"{kind}/{name}" in subjects else 1, place, key)


def _diff(key: Key, old: Obj | None, new: Obj | None) -> list[str]:
    kind, _, name = key
    if old is not None and new is not None and old.uid != new.uid:
        # Two objects that share a name: their difference is not a change of one object.
        return [*_diff(key, old, None), *_diff(key, None, new)]
    left = f"before/{kind}/{name}" if old else "/dev/null"
    right = f"after/{kind}/{name}" if new else "/dev/null"
    return list(difflib.unified_diff(_yaml(old), _yaml(new), left, right, lineterm="", n=2))


def _yaml(obj: Obj | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(trimmed(obj), sort_keys=False, allow_unicode=True, width=96)
    return text.splitlines()
