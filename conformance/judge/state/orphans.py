"""Everything in the namespace is owned by something alive and wanted, or needs no owner.

What nobody owns and no label gives to a graph is left to the checker, which knows who wrote it.
"""

from __future__ import annotations

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import View, is_workload
from conformance.judge.state.words import call, counted, listed, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, Actor
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def orphans(view: View) -> list[Mismatch]:
    """Objects without a living owner, of gone graphs, or of services that the graph has not."""
    found = [_stray(obj, view) for obj in view.strays]
    strays = {obj.uid for obj in view.strays}
    for obj in view.objects:
        if obj.uid in view.roots or obj.uid in strays or view.needs_no_owner(obj):
            continue
        row = _graph(obj) if obj.kind == GRAPH_KIND else _unowned(obj, view)
        if row is not None:
            found.append(row)
    return found


def unattributed(view: View) -> list[Obj]:
    """Objects that nobody of the namespace owns and no label gives to a graph: findings only if the
    operator wrote them, which a state alone does not tell."""
    looked_at = {obj.uid for obj in view.objects}
    return [
        obj
        for obj in view.objects
        if obj.uid not in view.roots
        and obj.kind not in (GRAPH_KIND, COMPONENT_KIND)
        and not _answered_for(obj, view, looked_at)
        and not view.needs_no_owner(obj)
        and not view.places[obj.uid].graph
        and not view.places[obj.uid].component
    ]


def _answered_for(obj: Obj, view: View, looked_at: set[str]) -> bool:
    """True if the object is told of elsewhere: its owners are gone, or the topmost of them is judged
    itself or may have no children. A cluster-scoped object, or one of others', answers for nothing
    below it."""
    if not obj.owners:
        return False
    chain = view.chain(obj)
    return not chain or chain[-1].uid in looked_at or view.needs_no_owner(chain[-1])


def _graph(obj: Obj) -> Mismatch:
    state = "is still being deleted" if obj.deleting else "still exists"
    held = (
        f", held by finalizer {listed(obj.finalizers)}" if obj.finalizers and obj.deleting else ""
    )
    return _mismatch(obj, f"{call(obj)} {state}{held}", graph=obj.name, deletion=True)


def _stray(obj: Obj, view: View) -> Mismatch:
    place = view.places[obj.uid]
    below = view.state.descendants(obj.uid)
    workloads = [call(o) for o in below if is_workload(o)]
    pods = sum(o.kind == "Pod" for o in below)
    with_ = f" with {listed(workloads)} and {counted(pods, 'pod')}" if workloads else ""
    if place.service:
        message = (
            f"{call(obj)} of service {place.service} still exists{with_}, and the graph has no "
        )
        message += "such service"
    else:
        message = f"{call(obj)} still exists{with_}, and belongs to no service of the graph"
    return _mismatch(obj, message, graph=place.graph, service=place.service)


def _unowned(obj: Obj, view: View) -> Mismatch | None:
    chain, place = view.chain(obj), view.places[obj.uid]
    if chain:
        # Judged at the top of the tree. A retained object excuses itself, not its children.
        if not view.needs_no_owner(chain[-1]):
            return None
        return _mismatch(
            obj, f"{call(obj)} still exists below {call(chain[-1])}, which may outlive a graph "
            "but may not have children", graph=place.graph, service=place.service,
        )  # fmt: skip
    of = f" of service {place.service}" if place.service else ""
    if obj.owners:
        gone = listed(dead_owners(view.state, obj))
        # The garbage collector removes what has lost its owners, unless a finalizer holds it.
        held = f" (held by finalizer {listed(obj.finalizers)})" if obj.finalizers else ""
        blame = Actor.PLATFORM if obj.kind in PLATFORM_KINDS and not held else Actor.OPERATOR
        return _mismatch(
            obj, f"{call(obj)}{of} still exists, and its owner {gone} is gone{held}",
            graph=place.graph, service=place.service, blame=blame,
        )  # fmt: skip
    if obj.kind == COMPONENT_KIND:
        message = f"{call(obj)}{of} still exists, and no graph owns it"
    elif place.graph:
        message = f"{call(obj)}{of} has no owner and would outlive its component"
    else:
        return None
    graph = place.graph or obj.labels.get(view.profile.labels.graph, "")
    of_gone_graph = bool(place.graph) and not place.graph_uid
    return _mismatch(obj, message, graph=graph, service=place.service, deletion=of_gone_graph)


def _mismatch(
    obj: Obj,
    message: str,
    *,
    graph: str,
    service: str = "",
    blame: Actor = Actor.OPERATOR,
    deletion: bool = False,
) -> Mismatch:
    return Mismatch(
        checker=CheckerName.DELETION if deletion else CheckerName.ORPHANS,
        subject=subject(obj),
        message=message,
        graph=graph,
        service=service,
        objects=(obj.uid,),
        blame=blame,
    )
