"""Who owns what, by uid; and to which graph, component and service an object belongs.

The owner chain by uid up to the graph comes first (it may pass through a Pod: an LWS's worker
StatefulSet is owned by the leader pod); then the component's own service name or label; then
the profile's label rule; else nothing.
"""

from dataclasses import dataclass

from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, short_kind
from conformance.model.profile import Profile
from conformance.model.state import Obj, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Where an object belongs. Empty strings mean that it could not be told."""

    graph: str = ""
    """Name of the graph (DGD)."""
    graph_uid: str = ""
    component: str = ""
    """Name of the component (DCD) it is under, or is itself."""
    component_uid: str = ""
    service: str = ""
    """Name of the service, in the graph's own spelling where the labels give it."""
    by: str = ""
    """`owner`, `label`, or empty: how it was found."""


def owner_chain(state: State, obj: Obj) -> list[Obj]:
    """The living owners of an object, nearest first, following the controller (else first) owner."""
    chain: list[Obj] = []
    seen = {obj.uid}
    current = obj
    while True:
        reference = current.controller or (current.owners[0] if current.owners else None)
        owner = state.get(str(reference.get("uid", ""))) if reference else None
        if owner is None or owner.uid in seen:
            return chain
        chain.append(owner)
        seen.add(owner.uid)
        current = owner


def dead_owners(state: State, obj: Obj) -> list[str]:
    """`Kind name` of each owner reference whose uid no longer (or never) exists."""
    return [
        f"{owner.get('kind')} {owner.get('name')}"
        for owner in obj.owners
        if state.get(str(owner.get("uid", ""))) is None
    ]


def service_of_component(component: Obj, profile: Profile) -> str:
    """The service that a component stands for: its spec's own name, else the profile's label."""
    name = component.at("spec", "serviceName") or component.at("spec", "name")
    return str(name or component.labels.get(profile.labels.service, ""))


def attribute(state: State, obj: Obj, profile: Profile) -> Attribution:
    """Where the object belongs, by owners first and by the profile's labels second."""
    chain = [obj, *owner_chain(state, obj)]
    component = next((o for o in chain if o.kind == COMPONENT_KIND), None)
    graph = next((o for o in chain if o.kind == GRAPH_KIND), None)
    if graph is None and component is None:
        return _by_label(state, obj, profile)
    service = service_of_component(component, profile) if component else ""
    if not service and obj is not graph:
        service = next((o.labels.get(profile.labels.service, "") for o in chain), "")
    return Attribution(
        graph=graph.name if graph else "",
        graph_uid=graph.uid if graph else "",
        component=component.name if component else "",
        component_uid=component.uid if component else "",
        service=service,
        by="owner",
    )


def _by_label(state: State, obj: Obj, profile: Profile) -> Attribution:
    name = obj.labels.get(profile.labels.graph, "")
    graph = state.named(GRAPH_KIND, name, obj.namespace) if name else None
    return Attribution(
        graph=name,
        graph_uid=graph.uid if graph else "",
        service=obj.labels.get(profile.labels.service, ""),
        by="label" if name else "",
    )


def describe_owner(state: State, obj: Obj) -> str:
    """`DCD x` style text of the controlling owner for a sentence; says so when there is none."""
    reference = obj.controller or (obj.owners[0] if obj.owners else None)
    if reference is None:
        return "nobody"
    alive = state.get(str(reference.get("uid", ""))) is not None
    kind = short_kind(str(reference.get("kind")))
    return f"{kind} {reference.get('name')}" + ("" if alive else " (which is gone)")
