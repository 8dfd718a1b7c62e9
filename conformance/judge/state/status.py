"""What a graph says of its readiness, and of which generation its status speaks. An absent field
claims nothing, except that a graph which never says Ready is not Ready."""

from collections.abc import Mapping
from typing import Any

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import noun
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, short_kind
from conformance.model.kinds import WORKLOADS
from conformance.model.profile import Profile
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

COMPONENT_CONDITIONS = ("Available", "Ready")
"""A bare component has no graph to say Ready for it; builds differ in which of these they write."""
_NAME = CheckerName.STATUS_TRUTH
# What a status may say anew without claiming anything else.
_NO_CLAIM = frozenset(
    {"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "message", "observedGeneration"}
)
# Kinds whose controllers act on spec and say so. Others have no observedGeneration, or none that
# says anything of the graph.
_OBSERVING = frozenset({GRAPH_KIND, COMPONENT_KIND, "StatefulSet", "ReplicaSet", *WORKLOADS})


def claim(status: Any) -> Any:
    """What a status claims: all of it but its times, messages and observedGeneration."""
    if isinstance(status, Mapping):
        return {key: claim(value) for key, value in status.items() if key not in _NO_CLAIM}
    return [claim(value) for value in status] if isinstance(status, list) else status


def ready_claim(root: Obj, profile: Profile) -> bool | None:
    """What the graph (or bare component) says of its readiness; None if it says nothing."""
    condition = _ready_condition(root, profile)
    return None if condition is None else condition.get("status") == "True"


def reason_given(root: Obj, profile: Profile) -> str:
    """Reason and message of a readiness condition that is not True; empty if there is none."""
    condition = _ready_condition(root, profile) or {}
    texts = (condition.get("reason"), condition.get("message"))
    return ": ".join(str(text) for text in texts if text)


def _ready_condition(root: Obj, profile: Profile) -> Mapping[str, Any] | None:
    bare = root.kind == COMPONENT_KIND
    names = COMPONENT_CONDITIONS if bare else (profile.status.ready_condition,)
    found = (root.condition(name) for name in names)
    return next((condition for condition in found if condition is not None), None)


def unready(snapshot: Snapshot) -> list[Mismatch]:
    """Graphs that do not (yet) say Ready. With a service at zero replicas both words are right,
    since builds differ in whether nothing can be ready."""
    found = []
    for graph, root, bare in snapshot.wanted_roots:
        place = (graph.name, "")
        if root is None:
            kind = short_kind(COMPONENT_KIND if bare else GRAPH_KIND)
            message, about = f"{kind} {graph.name} does not exist", f"{kind}/{graph.name}"
            found.append(mismatch(_NAME, message, place=place, about=about))
            continue
        said = ready_claim(root, snapshot.profile)
        if said is True or (bare and said is None) or any(not s.groups for s in graph.services):
            continue
        reason = reason_given(root, snapshot.profile)
        message = f"{noun(root)} does not say Ready" + (f" ({reason})" if reason else "")
        found.append(mismatch(_NAME, message, root, place=place))
    return found


def unobserved(snapshot: Snapshot) -> list[Mismatch]:
    """Objects under the wanted graphs whose status speaks of an older generation. A kind, or an era
    of an operator, without the field claims nothing."""
    found = []
    for obj in snapshot.objects:
        observed = _observed(obj, snapshot.profile)
        if observed is None or observed >= obj.generation:
            continue
        if obj.kind in _OBSERVING and snapshot.root_of(obj):
            where = snapshot.places[obj.uid]
            place = (where.graph or where.component, where.service)
            has = f"has generation {obj.generation}, and its status speaks of generation {observed}"
            found.append(mismatch(_NAME, f"{noun(obj)} {has}", obj, place=place))
    return found


def _observed(obj: Obj, profile: Profile) -> int | None:
    """The oldest generation that the status speaks of: its own word, and of a graph or component that
    of the condition which says Ready."""
    found = [obj.observed_generation]
    if obj.kind in (GRAPH_KIND, COMPONENT_KIND):
        ready = obj.condition(profile.status.ready_condition) or {}
        value = ready.get("observedGeneration")
        found.append(None if value is None else int(value))
    return min((value for value in found if value is not None), default=None)
