"""Was a claim of Ready true at some time? The states that a status write may have been based on.
Part of `status-truth`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from conformance.history.records import Event, EventType
from conformance.judge.case import Case
from conformance.judge.checks.parts.knowledge import known_since
from conformance.judge.intent import intent
from conformance.judge.mismatch import Mismatch
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.size import rollout, size_as_reported
from conformance.judge.state.status import ready_claim, unobserved
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.state import Obj, State


def ready_writes(case: Case) -> Iterator[Event]:
    """Each status write by the operator (or by one who cannot be told) that claims Ready=True of a
    graph or bare component."""
    for life in case.history.lives.values():
        kind = life.first.kind
        if life.first.namespace != case.namespace or life.uid in case.others:
            continue
        if kind != GRAPH_KIND and (kind != COMPONENT_KIND or life.first.owners):
            continue
        for before, event in pairwise(life.events):
            # Only changes count: a create drops the status, and a list is no write.
            changed = before.obj.status != event.obj.status
            if event.type is not EventType.MODIFIED or not changed or event.obj.deleting:
                continue
            if ready_claim(event.obj, case.profile) is not True:
                continue
            if case.log.writer_of(event) in (Actor.OPERATOR, Actor.UNKNOWN):
                yield event


def untrue(case: Case, state: State, root: Obj) -> list[Mismatch]:
    """What contradicts Ready=True of the graph, by its own spec as it stands in that state.

    What is on its way out already (dying pods, workloads being deleted) contradicts nothing: an
    operator need not wait for it.
    """
    asked = intent(root)
    if asked is None:
        return []
    graphs = (asked,) if root.kind == GRAPH_KIND else ()
    components = (asked,) if root.kind == COMPONENT_KIND else ()
    staying = (obj for obj in state if not obj.deleting or obj.kind == GRAPH_KIND)
    rest = State(staying, revision=state.revision, at=state.at)
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
    since = known_since(case, event) if last else None
    if since is None:
        return []
    for other in reversed(history.events):
        if other.revision < since:
            break
        if other.revision < event.revision:
            state = history.at(other.revision)
            then = state.get(root.uid)
            if then is not None and not untrue(case, state, then):
                return []
    return last


def based_on(case: Case, event: Event) -> list[int]:
    """The revisions on which a status write may have been based, oldest first."""
    history = case.history
    begin = event.at - case.bounds.claim_window
    within = [e.revision for e in history.between(begin, event.at) if e.revision < event.revision]
    # The state that the window began with counts, too.
    return [history.revision_at(begin), *within]
