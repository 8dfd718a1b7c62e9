"""Was a claim of Ready true at some time since the operator knew what the graph asks for? How long a
cache lags depends on the machine; what an operator has written does not. Part of `status-truth`."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.history.records import Event, EventType
from conformance.judge.case import Case
from conformance.judge.changes import Act, Change
from conformance.judge.checks.parts.services import Wish, service_of, wish
from conformance.judge.intent import intent
from conformance.judge.mismatch import Mismatch
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.size import main_image, rollout, size_as_reported
from conformance.judge.state.status import ready_claim, unobserved
from conformance.judge.writers import of_graph
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import Actor, workload_kind
from conformance.model.state import Obj, State


def ready_writes(case: Case) -> Iterator[Event]:
    """Each status write by the operator (or by one who cannot be told) that claims Ready=True of a
    graph or bare component."""
    for life in case.history.lives.values():
        first = life.first
        root = first.kind == GRAPH_KIND or (first.kind == COMPONENT_KIND and not first.owners)
        if not root or first.namespace != case.namespace or life.uid in case.others:
            continue
        for before, event in pairwise(life.events):
            # Only changes count: a create drops the status, and a list is no write.
            changed = before.obj.status != event.obj.status
            if event.type is not EventType.MODIFIED or not changed or event.obj.deleting:
                continue
            claims = ready_claim(event.obj, case.profile) is True
            if claims and case.log.writer_of(event) in (Actor.OPERATOR, Actor.UNKNOWN):
                yield event


def untrue(case: Case, state: State, root: Obj) -> list[Mismatch]:
    """What contradicts Ready=True of the graph, by its own spec as it stands in that state. What is on
    its way out already contradicts nothing: an operator need not wait for it."""
    asked = intent(root)
    if asked is None:
        return []
    staying = (obj for obj in state if not obj.deleting or obj.kind == GRAPH_KIND)
    rest = State(staying, revision=state.revision, at=state.at)
    graphs, components = ((asked,), ()) if root.kind == GRAPH_KIND else ((), (asked,))
    snapshot = case.snapshot(rest, graphs, components)
    # The graph's own observedGeneration is what the claim is of, not a contradiction to it. That of a
    # workload explains sizes, and so goes before them.
    unseen = [row for row in unobserved(snapshot) if root.uid not in row.objects]
    return [*coexistence(snapshot), *unseen, *size_as_reported(snapshot), *rollout(snapshot)]


def contradictions(case: Case, event: Event) -> list[Mismatch]:
    """What contradicted a claim of Ready when it was written; empty if the claim was true at some
    revision since the operator knew what the graph asks for, or if nothing shows that it knew."""
    history, root = case.history, event.obj
    last = untrue(case, history.at(event.revision), root)
    since = _known_since(case, event) if last else None
    if since is None:
        return []
    for other in reversed(history.events):
        if since <= other.revision < event.revision:
            state = history.at(other.revision)
            then = state.get(root.uid)
            if then is not None and not untrue(case, state, then):
                return []
    return last


def was_well(case: Case, event: Event) -> bool:
    """True if nothing contradicted Ready for as long as an operator's cache may lag."""
    history = case.history
    begin = case.before_turn(event.at, case.bounds.claim_window)
    within = [e.revision for e in history.between(begin, event.at) if e.revision < event.revision]
    # The state that the window began with counts, too.
    states = (history.at(revision) for revision in (history.revision_at(begin), *within))
    return not any(untrue(case, state, event.obj) for state in states)


def claimed_generation(case: Case, root: Obj) -> int:
    """The generation of which Ready is claimed: the condition's, else the status's, else 0."""
    condition = root.condition(case.profile.status.ready_condition) or {}
    return int(condition.get("observedGeneration") or root.observed_generation or 0)


def _known_since(case: Case, claim: Event) -> int | None:
    """The revision from which on the operator knew the generation that the graph has at a status write:
    that of the spec if the status names its generation, if there was no other, or if the operator
    wrote it (defaults, say); else that of its first write of a child for it. None if there is none."""
    root, log = claim.obj, case.log
    seen = case.history.lives[root.uid].events
    events = [event for event in seen if event.revision <= claim.revision]
    written = next(event for event in events if event.obj.generation == root.generation)
    before = [event.obj for event in events if event.obj.generation < root.generation]
    named = claimed_generation(case, root) >= root.generation
    # Whatever is said of an object that had one spec only is said of that spec.
    if named or not before or log.writer_of(written) is Actor.OPERATOR:
        return written.revision
    below = case.lineage.below(root.uid)
    old, new = intent(before[-1]), intent(root)
    for change in log.changes(written.at - case.bounds.out_of_order, claim.at):
        revision = change.event.revision
        if change.obj.uid not in below or not written.revision < revision < claim.revision:
            continue
        own = log.writer(change) is Actor.OPERATOR and change.moves and of_graph(change.obj)
        if own and _is_for(case, change, old, new):
            return revision
    return None


def _is_for(case: Case, change: Change, old: Graph | None, new: Graph | None) -> bool:
    """True for a write that an operator makes only if it has read the new spec: a child gets what that
    asks for and the old one did not, or goes. Where their wishes are alike any write counts."""
    place = case.lineage.place(change.obj.uid)
    if new is None or place is None:
        return False
    now, then = service_of(new, place.service), service_of(old, place.service)
    if now == then:
        return False
    if change.act is Act.DELETED or now is None or then is None or wish(now) == wish(then):
        return True
    rows = zip(wish(now), wish(then), shown(change.obj) or (), strict=False)
    return any(asked != before and asked == given for asked, before, given in rows)


def shown(obj: Obj) -> Wish | None:
    """What a component or a workload asks for; None for any other object."""
    row = workload_kind(obj)
    if row is not None:
        templates = (template.get("spec") or {} for _, template in row.templates_of(obj))
        return row.size_of(obj), row.groups_of(obj), main_image(next(templates, {}))
    asked = intent(obj)
    return wish(asked.services[0]) if asked is not None else None
