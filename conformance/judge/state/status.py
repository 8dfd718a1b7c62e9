"""What a graph says of its readiness. An absent field claims nothing, except that a graph which never
says Ready is not Ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import noun, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph, short_kind
from conformance.model.profile import Profile
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

COMPONENT_CONDITIONS = ("Available", "Ready")
"""A bare component has no graph to say Ready for it; builds differ in which of these they write."""
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
        if root is None:
            kind = short_kind(COMPONENT_KIND if bare else GRAPH_KIND)
            about = f"{kind}/{graph.name}"
            message = f"{kind} {graph.name} does not exist"
            found.append(status_mismatch(graph, None, message, about=about))
            continue
        said = ready_claim(root, snapshot.profile)
        if said is True or (bare and said is None) or any(not s.groups for s in graph.services):
            continue
        reason = reason_given(root, snapshot.profile)
        says = "does not say Ready" + (f" ({reason})" if reason else "")
        found.append(status_mismatch(graph, root, f"{noun(root)} {says}"))
    return found


def status_mismatch(
    graph: Graph,
    obj: Obj | None,
    message: str,
    *,
    about: str = "",
    service: str = "",
    soft: bool = False,
) -> Mismatch:
    """A mismatch of status-truth: of a live object, or of one that is not there, by `Kind/name`."""
    return Mismatch(
        checker=CheckerName.STATUS_TRUTH,
        subject=subject(obj) if obj is not None else about,
        message=message,
        graph=graph.name,
        service=service,
        objects=(obj.uid,) if obj is not None else (),
        soft=soft,
    )
