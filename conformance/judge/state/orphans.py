"""Everything in the namespace is owned by something alive and wanted, or needs no owner. What
nobody owns and no label gives to a graph is left to the checker, which knows who wrote it."""

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.wording import count, join, noun, nouns
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor, of_platform
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName

_NAME = CheckerName.ORPHANS


def orphans(snapshot: Snapshot) -> list[Mismatch]:
    """Objects without a living owner, of gone graphs, or of services that the graph has not."""
    strays = snapshot.strays
    rows: list[Mismatch | None] = [_stray(obj, snapshot) for obj in strays]
    for obj in snapshot.objects:
        if not (obj.uid in snapshot.roots or obj in strays or snapshot.needs_no_owner(obj)):
            rows.append(_graph(obj) if obj.kind == GRAPH_KIND else _unowned(obj, snapshot))
    return [row for row in rows if row is not None]


def unattributed(snapshot: Snapshot) -> list[Obj]:
    """Objects that nobody of the namespace owns and no label gives to a graph: findings only if the
    operator wrote them, which a state alone does not tell."""
    return [
        obj
        for obj in snapshot.objects
        if obj.uid not in snapshot.roots
        and obj.kind not in (GRAPH_KIND, COMPONENT_KIND)
        and not _answered_for(obj, snapshot)
        and not snapshot.needs_no_owner(obj)
        and not snapshot.places[obj.uid].graph
        and not snapshot.places[obj.uid].component
    ]


def _answered_for(obj: Obj, snapshot: Snapshot) -> bool:
    """True if its owners are gone, or the topmost of them is judged itself or may have no children.
    A cluster-scoped object, or one of others', answers for nothing below it."""
    if not obj.owners:
        return False
    chain = snapshot.chain(obj)
    return not chain or chain[-1] in snapshot.objects or snapshot.needs_no_owner(chain[-1])


def _graph(obj: Obj) -> Mismatch:
    state = "is still being deleted" if obj.deleting else "still exists"
    held = _held(obj) if obj.deleting else ""
    message = f"{noun(obj)} {state}{f', {held}' if held else ''}"
    return mismatch(CheckerName.DELETION, message, obj, place=(obj.name, ""))


def _held(obj: Obj) -> str:
    return f"held by finalizer {join(obj.finalizers)}" if obj.finalizers else ""


def _stray(obj: Obj, snapshot: Snapshot) -> Mismatch:
    place = snapshot.places[obj.uid]
    below = snapshot.state.descendants(obj.uid)
    workloads = [o for o in below if snapshot.is_workload(o)]
    pods = sum(o.kind == "Pod" for o in below)
    with_ = f" with {nouns(workloads)} and {count(pods, 'pod')}" if workloads else ""
    if place.service:
        name = f"{noun(obj)} of service {place.service}"
        message = f"{name} still exists{with_}, and the graph has no such service"
    else:
        message = f"{noun(obj)} still exists{with_}, and belongs to no service of the graph"
    return mismatch(_NAME, message, obj, place=(place.graph, place.service))


def _unowned(obj: Obj, snapshot: Snapshot) -> Mismatch | None:
    chain, where = snapshot.chain(obj), snapshot.places[obj.uid]
    place = (where.graph, where.service)
    if chain:
        # Judged at the top of the tree. A retained object excuses itself, not its children.
        if not snapshot.needs_no_owner(chain[-1]):
            return None
        below = f"{noun(chain[-1])}, which may outlive a graph but may not have children"
        return mismatch(_NAME, f"{noun(obj)} still exists below {below}", obj, place=place)
    name = noun(obj) + (f" of service {where.service}" if where.service else "")
    if obj.owners:
        gone = f"its owner {join(dead_owners(snapshot.state, obj))} is gone"
        # The garbage collector removes what has lost its owners, unless a finalizer holds it.
        held = f" ({_held(obj)})" if obj.finalizers else ""
        blame = Actor.PLATFORM if of_platform(obj) and not held else Actor.OPERATOR
        message = f"{name} still exists, and {gone}{held}"
        return mismatch(_NAME, message, obj, place=place, blame=blame)
    if obj.kind == COMPONENT_KIND:
        message = f"{name} still exists, and no graph owns it"
    elif where.graph:
        message = f"{name} has no owner and would outlive its component"
    else:
        return None
    graph = where.graph or obj.labels.get(snapshot.profile.labels.graph, "")
    of_gone_graph = bool(where.graph) and not where.graph_uid
    checker = CheckerName.DELETION if of_gone_graph else _NAME
    return mismatch(checker, message, obj, place=(graph, where.service))
