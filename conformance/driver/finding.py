"""Finding the operator's own objects by what they belong to; their names are never assumed."""

from __future__ import annotations

from conformance.history.records import Fresh
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND
from conformance.model.ownership import attribute
from conformance.model.profile import Profile
from conformance.model.state import Obj, State


def component_of(state: State, graph: str, service: str, profile: Profile) -> Obj:
    """The component (DCD) of a graph's service. Raises InfraError if there is none."""
    for component in state.of_kind(COMPONENT_KIND):
        found = attribute(state, component, profile)
        if found.graph == graph and found.service.lower() == service.lower():
            return component
    raise InfraError(
        f"graph {graph} has no component for service {service}; the profile's `labels.service` may "
        "not be the label that the operator sets"
    )


def child_of(fresh: Fresh, kind: str, service: str, profile: Profile) -> Obj:
    """The controlled object of that kind which a fresh deploy has for a service. Raises InfraError
    if it has none."""
    state = State(Obj(raw) for raw in fresh.objects)
    for obj in state.of_kind(kind):
        found = attribute(state, obj, profile)
        if found.service.lower() == service.lower() and obj.controller:
            return obj
    raise InfraError(
        f"a fresh deploy of {fresh.graph.name} has no {kind} for service {service}"
        + (f": {fresh.problem}" if fresh.problem else "")
    )
