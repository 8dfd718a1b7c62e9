"""Everything in the namespace is owned by something alive and wanted, or needs no owner.

What nobody owns and no label gives to a graph is left to the checker, which knows who wrote it.
"""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import count, join, noun, nouns, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor, of_platform
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def orphans(snapshot: Snapshot) -> list[Mismatch]:
    """Objects without a living owner, of gone graphs, or of services that the graph has not."""
    found = [_stray(obj, snapshot) for obj in snapshot.strays]
    strays = {obj.uid for obj in snapshot.strays}
    for obj in snapshot.objects:
        if obj.uid in snapshot.roots or obj.uid in strays or snapshot.needs_no_owner(obj):
            continue
        row = _graph(obj) if obj.kind == GRAPH_KIND else _unowned(obj, snapshot)
        if row is not None:
            found.append(row)
    return found


def unattributed(snapshot: Snapshot) -> list[Obj]:
    """Objects that nobody of the namespace owns and no label gives to a graph: findings only if the
    operator wrote them, which a state alone does not tell."""
    looked_at = {obj.uid for obj in snapshot.objects}
    return [
        obj
        for obj in snapshot.objects
        if obj.uid not in snapshot.roots
        and obj.kind not in (GRAPH_KIND, COMPONENT_KIND)
        and not _answered_for(obj, snapshot, looked_at)
        and not snapshot.needs_no_owner(obj)
        and not snapshot.places[obj.uid].graph
        and not snapshot.places[obj.uid].component
    ]


def _answered_for(obj: Obj, snapshot: Snapshot, looked_at: set[str]) -> bool:
    """True if the object is told of elsewhere: its owners are gone, or the topmost of them is judged
    itself or may have no children. A cluster-scoped object, or one of others', answers for nothing
    below it."""
    if not obj.owners:
        return False
    chain = snapshot.chain(obj)
    return not chain or chain[-1].uid in looked_at or snapshot.needs_no_owner(chain[-1])


def _graph(obj: Obj) -> Mismatch:
    state = "is still being deleted" if obj.deleting else "still exists"
    waits = obj.finalizers and obj.deleting
    held = f", held by finalizer {join(obj.finalizers)}" if waits else ""
    return _mismatch(obj, f"{noun(obj)} {state}{held}", graph=obj.name, deletion=True)


def _stray(obj: Obj, snapshot: Snapshot) -> Mismatch:
    place = snapshot.places[obj.uid]
    below = snapshot.state.descendants(obj.uid)
    workloads = [o for o in below if snapshot.is_workload(o)]
    pods = sum(o.kind == "Pod" for o in below)
    with_ = f" with {nouns(workloads)} and {count(pods, 'pod')}" if workloads else ""
    if place.service:
        message = (
            f"{noun(obj)} of service {place.service} still exists{with_}, and the graph has no "
            "such service"
        )
    else:
        message = f"{noun(obj)} still exists{with_}, and belongs to no service of the graph"
    return _mismatch(obj, message, graph=place.graph, service=place.service)


def _unowned(obj: Obj, snapshot: Snapshot) -> Mismatch | None:
    chain, place = snapshot.chain(obj), snapshot.places[obj.uid]
    if chain:
        # Judged at the top of the tree. A retained object excuses itself, not its children.
        if not snapshot.needs_no_owner(chain[-1]):
            return None
        return _mismatch(
            obj, f"{noun(obj)} still exists below {noun(chain[-1])}, which may outlive a graph "
            "but may not have children", graph=place.graph, service=place.service,
        )  # fmt: skip
    of = f" of service {place.service}" if place.service else ""
    if obj.owners:
        gone = join(dead_owners(snapshot.state, obj))
        # The garbage collector removes what has lost its owners, unless a finalizer holds it.
        held = f" (held by finalizer {join(obj.finalizers)})" if obj.finalizers else ""
        blame = Actor.PLATFORM if of_platform(obj) and not held else Actor.OPERATOR
        return _mismatch(
            obj, f"{noun(obj)}{of} still exists, and its owner {gone} is gone{held}",
            graph=place.graph, service=place.service, blame=blame,
        )  # fmt: skip
    if obj.kind == COMPONENT_KIND:
        message = f"{noun(obj)}{of} still exists, and no graph owns it"
    elif place.graph:
        message = f"{noun(obj)}{of} has no owner and would outlive its component"
    else:
        return None
    graph = place.graph or obj.labels.get(snapshot.profile.labels.graph, "")
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
