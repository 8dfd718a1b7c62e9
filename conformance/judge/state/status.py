"""What the status says: Ready once all is there, nothing Unknown, nothing about what is not there.

An absent field claims nothing, except that a graph which never says Ready is not Ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, listed, subject
from conformance.model.graph import COMPONENT_KIND, Graph
from conformance.model.kinds import WORKLOADS
from conformance.model.profile import LwsLayout, Profile
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

# A bare component has no graph to say Ready for it; builds differ in which of these they write.
_COMPONENT_CONDITIONS = ("Available", "Ready")
_NOT_READY_STATES = ("failed", "pending")
_READY_STATE = "successful"
# What a status may say anew without claiming anything else.
_NO_CLAIM = frozenset(
    {"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "message", "observedGeneration"}
)


def claim(status: Any) -> Any:
    """What a status claims: all of it but its times, messages and observedGeneration."""
    if isinstance(status, Mapping):
        return {key: claim(value) for key, value in status.items() if key not in _NO_CLAIM}
    return [claim(value) for value in status] if isinstance(status, list) else status


def ready_claim(root: Obj, profile: Profile) -> bool | None:
    """What the graph (or bare component) says of its readiness; None if it says nothing."""
    for name in _conditions(root, profile):
        condition = root.condition(name)
        if condition is not None:
            return condition.get("status") == "True"
    return None


def _conditions(root: Obj, profile: Profile) -> tuple[str, ...]:
    bare = root.kind == COMPONENT_KIND
    return _COMPONENT_CONDITIONS if bare else (profile.status.ready_condition,)


def reason_given(root: Obj, profile: Profile) -> str:
    """Reason and message of a readiness condition that is not True; empty if there is none."""
    for name in _conditions(root, profile):
        condition = root.condition(name)
        if condition is not None:
            texts = (condition.get("reason"), condition.get("message"))
            return ": ".join(str(text) for text in texts if text)
    return ""


def unready(view: View) -> list[Mismatch]:
    """Graphs that do not (yet) say Ready. With a service at zero replicas both words are right,
    since builds differ in whether nothing can be ready."""
    found = []
    for graph, root, bare in _roots(view):
        if root is None:
            kind = "DCD" if bare else "DGD"
            message = f"{kind} {graph.name} does not exist"
            found.append(_mismatch(f"{kind}/{graph.name}", message, graph))
            continue
        claim = ready_claim(root, view.profile)
        if claim is True or (bare and claim is None) or any(not s.groups for s in graph.services):
            continue
        reason = reason_given(root, view.profile)
        says = "does not say Ready" + (f" ({reason})" if reason else "")
        found.append(_mismatch(subject(root), f"{call(root)} {says}", graph, root))
    return found


def false_claims(view: View) -> list[Mismatch]:
    """What the status says and is not so, whatever Ready says."""
    found = []
    for graph, root, bare in _roots(view):
        if root is None:
            continue
        parts = [part for part in view.parts if part.root is not None and part.root.uid == root.uid]
        components = [c for part in parts for c in part.components if c.uid != root.uid]
        for obj in (root, *components):
            found += _unknown_conditions(obj, graph)
        found += _state(root, graph, view)
        found += [row for part in parts for row in _idle(part)]
        if not bare:
            for key in view.profile.status.service_maps:
                found += _service_map(root, key, graph, parts, view)
    return found


def _roots(view: View) -> Iterable[tuple[Graph, Obj | None, bool]]:
    by_name = {(root.kind == COMPONENT_KIND, root.name): root for root in view.roots.values()}
    for bare, graphs in ((False, view.wanted.graphs), (True, view.wanted.components)):
        for graph in graphs:
            yield graph, by_name.get((bare, graph.name)), bare


def _unknown_conditions(obj: Obj, graph: Graph) -> list[Mismatch]:
    unknown = [
        str(condition.get("type"))
        for condition in obj.status.get("conditions") or ()
        if condition.get("status") == "Unknown"
    ]
    if not unknown:
        return []
    word = "condition" if len(unknown) == 1 else "conditions"
    message = f"{call(obj)} has {word} {listed(unknown)} Unknown"
    return [_mismatch(subject(obj), message, graph, obj, soft=True)]


def idle_claims(view: View) -> list[Mismatch]:
    """Components that say Available although not one pod of their service is ready."""
    return [row for part in view.parts for row in _idle(part)]


def _idle(part: Part) -> list[Mismatch]:
    if part.bare or not part.service.groups or any(pod.ready for pod in part.pods):
        return []
    return [
        _mismatch(
            subject(component),
            f"{call(component)} says {name}, and no pod of service {part.name} is ready",
            part.graph, component, service=part.name,
        )
        for component in part.components
        for name in _COMPONENT_CONDITIONS
        if (component.condition(name) or {}).get("status") == "True"
    ]  # fmt: skip


def _state(root: Obj, graph: Graph, view: View) -> list[Mismatch]:
    state, ready = root.status.get("state"), ready_claim(root, view.profile)
    if ready is True and state in _NOT_READY_STATES:
        message = f"{call(root)} says Ready and state {state} at once"
    elif ready is False and state == _READY_STATE:
        message = f"{call(root)} says that it is not Ready and state {state} at once"
    else:
        return []
    return [_mismatch(subject(root), message, graph, root)]


def _service_map(
    root: Obj, key: str, graph: Graph, parts: list[Part], view: View
) -> list[Mismatch]:
    entries = root.status.get(key)
    if not isinstance(entries, Mapping) or not entries:
        return []
    found = []
    names = {service.name for service in graph.services}
    for name in sorted(entries.keys() - names):
        message = f"status.{key} of {call(root)} still names service {name}, which the spec has not"
        found.append(_mismatch(subject(root), message, graph, root, service=name))
    for name in sorted(names - entries.keys()):
        message = f"status.{key} of {call(root)} lacks service {name} of the spec"
        # At zero replicas there is nothing to speak of: untrue, but nothing to wait for.
        soft = not graph.service(name).groups
        found.append(_mismatch(subject(root), message, graph, root, service=name, soft=soft))
    for part in parts:
        entry = entries.get(part.name)
        if isinstance(entry, Mapping):
            found += _entry(root, key, entry, part, view)
    return found


def _entry(root: Obj, key: str, entry: Mapping[str, Any], part: Part, view: View) -> list[Mismatch]:
    where = f"status.{key}.{part.name} of {call(root)}"
    kind = str(entry.get("componentKind") or "")
    one = entry.get("componentName")
    names = entry.get("componentNames") or ([one] if one else [])
    found = []
    # At zero replicas the workload may be gone, and the entry then has nothing to name.
    if kind and part.service.groups:
        own = {w.name for w in part.workloads if w.kind == kind}
        if kind not in WORKLOADS or kind == COMPONENT_KIND:
            own = {o.name for o in view.objects if o.kind == kind and view.root_of(o) is part.root}
        for name in names:
            if name not in own:
                message = f"{where} names {kind} {name}, which is not a workload of that service"
                found.append(_mismatch(subject(root), message, part.graph, root, service=part.name))
    # Where each replica is a workload of its own, the name of one stands for them all.
    all_alike = (
        kind == view.profile.multinode.kind
        and view.profile.multinode.layout is LwsLayout.PER_REPLICA
    )
    spoken_of = {
        workload.uid
        for workload in part.workloads
        if (not kind or workload.kind == kind)
        and (not names or all_alike or workload.name in names)
    }
    pods = [p for p in part.live_pods if any(o.uid in spoken_of for o in view.chain(p))]
    for field, living in (
        ("replicas", len(pods)),
        ("readyReplicas", sum(pod.ready for pod in pods)),
    ):
        value = entry.get(field)
        # A count may be of groups or of pods.
        low, high = living // max(1, part.service.size), living
        if value is not None and not low <= int(value) <= high:
            message = f"{where} says {field} {value}, and there are {high} such pods"
            found.append(_mismatch(subject(root), message, part.graph, root, service=part.name))
    return found


def _mismatch(
    subject_: str,
    message: str,
    graph: Graph,
    root: Obj | None = None,
    *,
    service: str = "",
    soft: bool = False,
) -> Mismatch:
    return Mismatch(
        checker=CheckerName.STATUS_TRUTH,
        subject=subject_,
        message=message,
        graph=graph.name,
        service=service,
        objects=(root.uid,) if root is not None else (),
        soft=soft,
    )
