"""Was a claim of Ready true at some time? The states that a status write may have been based on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from conformance.history.history import History
from conformance.history.records import Event, EventType
from conformance.judge.state.base import Mismatch, Sight, Wanted
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.intent import intent
from conformance.judge.state.observed import unobserved_in
from conformance.judge.state.rollout import rollout
from conformance.judge.state.size import size_as_reported
from conformance.judge.state.status import ready_claim
from conformance.judge.state.view import View
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.state import Obj, State


def ready_writes(history: History, others: frozenset[str]) -> Iterator[Event]:
    """Each status write by the operator (or by one who cannot be told) that claims Ready=True of a
    graph or bare component."""
    for life in history.lives.values():
        kind = life.first.kind
        if life.first.namespace != history.namespace or life.uid in others:
            continue
        if kind != GRAPH_KIND and (kind != COMPONENT_KIND or life.first.owners):
            continue
        for before, event in pairwise(life.events):
            # Only changes count: a create drops the status, and a list is no write.
            changed = before.obj.status != event.obj.status
            if event.type is not EventType.MODIFIED or not changed or event.obj.deleting:
                continue
            if ready_claim(event.obj, history.profile) is not True:
                continue
            if log_of(history).writer_of(event) in (Actor.OPERATOR, Actor.UNKNOWN):
                yield event


def untrue(state: State, root: Obj, history: History, others: frozenset[str]) -> list[Mismatch]:
    """What contradicts Ready=True of the graph, by its own spec as it stands in that state.

    What is on its way out already (dying pods, workloads being deleted) contradicts nothing: an
    operator need not wait for it.
    """
    asked = intent(root)
    if asked is None:
        return []
    graph = (asked,) if root.kind == GRAPH_KIND else ()
    component = (asked,) if root.kind == COMPONENT_KIND else ()
    staying = (obj for obj in state if not obj.deleting or obj.kind == GRAPH_KIND)
    wanted = Wanted(
        namespace=history.namespace,
        graphs=graph,
        components=component,
        profile=history.profile,
        others=others,
    )
    view = View(Sight(state=State(staying, revision=state.revision, at=state.at), wanted=wanted))
    # The graph's own observedGeneration is what the claim is of, not a contradiction to it. That of a
    # workload explains sizes, and so goes before them.
    unseen = [row for row in unobserved_in(view) if root.uid not in row.objects]
    return [*coexistence(view), *unseen, *size_as_reported(view), *rollout(view)]


def claimed_generation(root: Obj, history: History) -> int:
    """The generation of which Ready is claimed: the condition's, else the status's, else 0."""
    condition = root.condition(history.profile.status.ready_condition) or {}
    value = condition.get("observedGeneration") or root.observed_generation
    return int(value or 0)


def was_true(history: History, event: Event, others: frozenset[str]) -> list[Mismatch]:
    """Empty if the claim held at some revision within `claim_window` before the write; else what
    contradicted it when it was written."""
    root = event.obj
    claimed = claimed_generation(root, history)
    last = untrue(history.at(event.revision), root, history, others)
    if not last:
        return []
    for revision in reversed(window(history, event)):
        state = history.at(revision)
        then = state.get(root.uid)
        # A claim about a generation is not excused by what was true of an older one.
        if then is None or then.generation < claimed:
            break
        if not untrue(state, then, history, others):
            return []
    return last


def window(history: History, event: Event) -> list[int]:
    """The revisions on which a status write may have been based, oldest first."""
    begin = event.at - history.bounds.claim_window
    within = [e.revision for e in history.between(begin, event.at) if e.revision < event.revision]
    # The state that the window began with counts, too.
    return [history.revision_at(begin), *within]
