"""Whether what is there has been seen by those who must act on it (`status.observedGeneration`)."""

from __future__ import annotations

from conformance.judge.state.base import Mismatch, Sight
from conformance.judge.state.view import View
from conformance.judge.state.words import call, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

# Kinds whose controllers act on spec and say so. Others have no observedGeneration, or none that
# says anything of the graph.
_KINDS = frozenset(
    {GRAPH_KIND, COMPONENT_KIND, "Deployment", "LeaderWorkerSet", "StatefulSet", "ReplicaSet",
     "PodCliqueSet", "DisaggregatedSet"}
)  # fmt: skip


def unobserved(sight: Sight) -> list[Mismatch]:
    """Objects under the wanted graphs whose status speaks of an older generation. A kind, or an era
    of an operator, without the field claims nothing."""
    return unobserved_in(View(sight))


def _observed(obj: Obj, view: View) -> int | None:
    """The oldest generation that the status speaks of: its own word, and of a graph or component that
    of the condition which says Ready."""
    found = [obj.observed_generation]
    if obj.kind in (GRAPH_KIND, COMPONENT_KIND):
        ready = obj.condition(view.profile.status.ready_condition) or {}
        value = ready.get("observedGeneration")
        found.append(None if value is None else int(value))
    return min((value for value in found if value is not None), default=None)


def unobserved_in(view: View) -> list[Mismatch]:
    """As `unobserved`, of a view that is already built."""
    found = []
    for obj in view.objects:
        observed = _observed(obj, view)
        if obj.kind not in _KINDS or observed is None or observed >= obj.generation:
            continue
        if view.root_of(obj) is None:
            continue
        place = view.places[obj.uid]
        found.append(
            Mismatch(
                checker=CheckerName.STATUS_TRUTH,
                subject=subject(obj),
                message=f"{call(obj)} has generation {obj.generation}, and its status speaks of "
                f"generation {observed}",
                graph=place.graph or place.component,
                service=place.service,
                objects=(obj.uid,),
            )
        )
    return found
