"""What became of the objects concerned: a unified diff of trimmed YAML, before and after."""

import copy
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from conformance.evidence import kinds
from conformance.evidence.excerpt import Excerpt
from conformance.history.history import History
from conformance.judge.wording import count, subject
from conformance.model.graph import GRAPH_KIND
from conformance.model.ownership import attribute
from conformance.model.state import Obj, State
from conformance.model.verdict import Finding

# Set by the API server, different in each run, and no help to a reader.
_HIDDEN_METADATA = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "selfLink")
_HIDDEN_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_HIDDEN_CONDITION = ("lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime")

Key = tuple[str, str, str]


def render(
    history: History,
    excerpt: Excerpt,
    findings: Iterable[Finding] = (),
    *,
    limit: int | None = None,
) -> str:
    """Diffs of the objects concerned that changed, the findings' own subjects first. With `limit` at
    most so many lines, and how many were left out.

    Concerned are graphs, components, workloads, gang objects and Services of the services that the
    steps touch (of all services if a step names none), and every subject of a finding. A subject that
    did not change is named as unchanged, since that is often the fault.
    """
    subjects = {finding.subject for finding in findings}
    before = _concerned(history, excerpt, excerpt.before, subjects)
    after = _concerned(history, excerpt, excerpt.after, subjects)
    lines: list[str] = []
    keys = sorted(before.keys() | after.keys(), key=lambda key: (kinds.place(key[0]), key))
    for key in sorted(keys, key=lambda key: _named(key) not in subjects):
        changed = _diff(_named(key), before.get(key), after.get(key))
        if not changed and _named(key) in subjects:
            changed = [f"= {_named(key)}: the same object, unchanged"]
        lines += changed
    if limit is not None and len(lines) > limit:
        lines[limit:] = [f"… {count(len(lines) - limit, 'more line')}"]
    return "\n".join(lines)


def trimmed(obj: Obj) -> dict[str, Any]:
    """The object without what the API server sets by itself."""
    data = copy.deepcopy(dict(obj.raw))
    metadata, status = data.get("metadata") or {}, data.get("status")
    annotations = metadata.get("annotations") or {}
    annotations.pop(_HIDDEN_ANNOTATION, None)
    _drop(metadata, *_HIDDEN_METADATA, *([] if annotations else ["annotations"]))
    for owner in metadata.get("ownerReferences") or ():
        owner.pop("uid", None)
    for condition in (status.get("conditions") if isinstance(status, Mapping) else None) or ():
        _drop(condition, *_HIDDEN_CONDITION)
    return data


def _drop(data: dict[str, Any], *names: str) -> None:
    for name in names:
        data.pop(name, None)


def _concerned(
    history: History, excerpt: Excerpt, state: State, subjects: set[str]
) -> dict[Key, Obj]:
    services = {service for step in excerpt.steps for service in step.services}
    everywhere = not services or any(not step.services for step in excerpt.steps if step.judged)

    def concerned(obj: Obj) -> bool:
        if subject(obj) in subjects:
            return True
        if not kinds.asked_for(obj.kind, history.profile):
            return False
        service = attribute(state, obj, history.profile).service
        return everywhere or obj.kind == GRAPH_KIND or service in {"", *services}

    return {(obj.kind, obj.namespace, obj.name): obj for obj in state if concerned(obj)}


def _named(key: Key) -> str:
    return f"{key[0]}/{key[2]}"


def _diff(name: str, old: Obj | None, new: Obj | None) -> list[str]:
    if old is not None and new is not None and old.uid != new.uid:
        # Two objects that share a name: their difference is not a change of one object.
        return [*_diff(name, old, None), *_diff(name, None, new)]
    left = f"before/{name}" if old else "/dev/null"
    right = f"after/{name}" if new else "/dev/null"
    return list(difflib.unified_diff(_yaml(old), _yaml(new), left, right, lineterm="", n=2))


def _yaml(obj: Obj | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(trimmed(obj), sort_keys=False, allow_unicode=True, width=96)
    return text.splitlines()
