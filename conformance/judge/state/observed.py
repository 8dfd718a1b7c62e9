"""Whether what is there has been seen by those who must act on it (`status.observedGeneration`)."""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import noun, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

# Kinds, beside workloads, whose controllers act on spec and say so. Others have no
# observedGeneration, or none that says anything of the graph.
_KINDS = frozenset({GRAPH_KIND, COMPONENT_KIND, "StatefulSet", "ReplicaSet"})


def unobserved(snapshot: Snapshot) -> list[Mismatch]:
    """Objects under the wanted graphs whose status speaks of an older generation. A kind, or an era
    of an operator, without the field claims nothing."""
    found = []
    for obj in snapshot.objects:
        observed = _observed(obj, snapshot)
        if observed is None or observed >= obj.generation:
            continue
        if (obj.kind not in _KINDS and obj.kind not in WORKLOADS) or not snapshot.root_of(obj):
            continue
        place = snapshot.places[obj.uid]
        found.append(
            Mismatch(
                checker=CheckerName.STATUS_TRUTH,
                subject=subject(obj),
                message=f"{noun(obj)} has generation {obj.generation}, and its status speaks of "
                f"generation {observed}",
                graph=place.graph or place.component,
                service=place.service,
                objects=(obj.uid,),
            )
        )
    return found


def _observed(obj: Obj, snapshot: Snapshot) -> int | None:
    """The oldest generation that the status speaks of: its own word, and of a graph or component that
    of the condition which says Ready."""
    found = [obj.observed_generation]
    if obj.kind in (GRAPH_KIND, COMPONENT_KIND):
        ready = obj.condition(snapshot.profile.status.ready_condition) or {}
        value = ready.get("observedGeneration")
        found.append(None if value is None else int(value))
    return min((value for value in found if value is not None), default=None)
