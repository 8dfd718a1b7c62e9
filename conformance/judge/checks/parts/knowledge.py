"""Since when an operator knew what a graph asks for, by what it had done. Part of `status-truth`.

How long a cache lags depends on the machine; what an operator has written does not. It knows a
generation if its status names that generation, or once it has written a child for it.
"""

from __future__ import annotations

from conformance.history.records import Event
from conformance.judge.case import Case
from conformance.judge.changes import Act, Change
from conformance.judge.intent import intent
from conformance.judge.state.size import images_in
from conformance.judge.writers import of_graph
from conformance.model.graph import Graph, Service
from conformance.model.kinds import Actor, workload_kind
from conformance.model.state import Obj

_Wish = tuple[int, int, str]


def known_since(case: Case, claim: Event) -> int | None:
    """The revision from which on the operator knew the generation that the graph has at a status write.

    That is the revision of the spec itself if the status names its generation, if there was no other,
    or if the operator wrote it (defaults, say); else that of its first write of a child for it. None if
    nothing shows that the operator had looked at it."""
    root = claim.obj
    life = case.history.lives[root.uid]
    events = [event for event in life.events if event.revision <= claim.revision]
    written = next(event for event in events if event.obj.generation == root.generation)
    before = [event.obj for event in events if event.obj.generation < root.generation]
    named = claimed_generation(case, root) >= root.generation
    # Whatever is said of an object that had one spec only is said of that spec.
    if named or not before or case.log.writer_of(written) is Actor.OPERATOR:
        return written.revision
    below = case.lineage.below(root.uid)
    old = intent(before[-1])
    new = intent(root)
    for change in case.log.changes(written.at - case.bounds.out_of_order, claim.at):
        revision = change.event.revision
        if change.obj.uid not in below or not written.revision < revision < claim.revision:
            continue
        own = case.log.writer(change) is Actor.OPERATOR and change.moves and of_graph(change.obj)
        if own and _is_for(case, change, old, new):
            return revision
    return None


def claimed_generation(case: Case, root: Obj) -> int:
    """The generation of which Ready is claimed: the condition's, else the status's, else 0."""
    condition = root.condition(case.profile.status.ready_condition) or {}
    value = condition.get("observedGeneration") or root.observed_generation
    return int(value or 0)


def _is_for(case: Case, change: Change, old: Graph | None, new: Graph | None) -> bool:
    """True for a write that an operator makes only if it has read the new spec: a child gets what the
    new spec asks for and the old one did not, or goes. Where the two differ neither in size nor in
    number nor image, any write to a child of that service counts."""
    place = case.lineage.place(change.obj.uid)
    if new is None or place is None:
        return False
    now, then = _service(new, place.service), _service(old, place.service)
    if now == then:
        return False
    if change.act is Act.DELETED or now is None or then is None or _wish(now) == _wish(then):
        return True
    shown = _shown(change.obj)
    differing = (i for i, wish in enumerate(_wish(now)) if wish != _wish(then)[i])
    return shown is not None and any(shown[i] == _wish(now)[i] for i in differing)


def _service(graph: Graph | None, name: str) -> Service | None:
    services = graph.services if graph is not None else ()
    return next((service for service in services if service.name.lower() == name), None)


def _wish(service: Service) -> _Wish:
    return service.size, service.groups, service.image


def _shown(obj: Obj) -> _Wish | None:
    """What a component or a workload asks for; None for any other object."""
    row = workload_kind(obj)
    if row is not None:
        templates = (template for _, template in row.templates_of(obj))
        images = [image for one in templates for image in images_in(one.get("spec") or {})]
        return row.size_of(obj), row.groups_of(obj), images[0] if images else ""
    asked = intent(obj)
    return _wish(asked.services[0]) if asked is not None else None
