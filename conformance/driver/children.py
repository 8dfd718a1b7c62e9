"""The operator's own objects, found by what they belong to; their names are never assumed."""

from conformance.history.records import Fresh
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND
from conformance.model.kinds import of_platform, workload_kind
from conformance.model.ownership import attribute, owner_chain
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


def child_of(state: State, graph: str, kind: str, service: str, profile: Profile) -> Obj:
    """The child of that kind for a graph's service: one below the component or the graph, not what an
    LWS makes below it (its headless Service). Raises InfraError if there is none."""
    for obj in state.of_kind(kind):
        found = attribute(state, obj, profile)
        below = any(workload_kind(o) or of_platform(o) for o in owner_chain(state, obj))
        place = (found.graph, found.service.lower(), found.by)
        if place == (graph, service.lower(), "owner") and not below:
            return obj
    raise InfraError(f"graph {graph} has no {kind} for service {service}")


def fresh_child_of(fresh: Fresh, kind: str, service: str, profile: Profile) -> Obj:
    """The same of a fresh deploy. Raises InfraError if it has none."""
    try:
        state = State(Obj(raw) for raw in fresh.objects)
        return child_of(state, fresh.graph.name, kind, service, profile)
    except InfraError as error:
        problem = f": {fresh.problem}" if fresh.problem else ""
        raise InfraError(f"in a fresh deploy, {error}{problem}") from error


def has_child(fresh: Fresh, kind: str, service: str, profile: Profile) -> bool:
    """True if a fresh deploy has such a child. Raises InfraError if it has none and never settled."""
    try:
        fresh_child_of(fresh, kind, service, profile)
    except InfraError:
        if fresh.problem:
            raise InfraError(fresh.problem) from None
        return False
    return True
