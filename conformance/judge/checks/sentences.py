"""Findings as one sentence each: objects, service, duration, change, owner, creator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.history.history import History
from conformance.judge.checks.deeds import deed
from conformance.judge.checks.looks import Look, creator, relevant
from conformance.judge.state.base import Mismatch
from conformance.judge.state.words import call, listed
from conformance.model.kinds import Actor
from conformance.model.ownership import describe_owner
from conformance.model.state import Obj, State

_ACTORS = {
    Actor.OPERATOR: "the operator",
    Actor.LWS_CONTROLLER: "the LWS controller",
    Actor.PLATFORM: "Kubernetes",
    Actor.SUITE: "the suite",
    Actor.UNKNOWN: "an unknown writer",
}


def layer(value: Actor) -> str:
    """`the operator`, `Kubernetes`, ..."""
    return _ACTORS[value]


def created_by(history: History, uid: str) -> str:
    """`created by the operator`."""
    return f"created by {layer(creator(history, uid))}"


def elapsed(look: Look, service: str = "") -> str:
    """`30.0 s after multinode was added to service VllmDecodeWorker`."""
    checkpoint = look.checkpoint
    step = relevant(look.steps, service)
    if step is None:
        return f"at {checkpoint.name}"
    since = checkpoint.at - (
        step.answered_at if step.name in checkpoint.steps else checkpoint.since
    )
    return f"{since:.1f} s after {deed(step)}"


def origin(history: History, state: State, objects: Sequence[Obj]) -> str:
    """`it is controlled by DCD a, created by the operator`; those that are alike share a clause."""
    if not objects:
        return ""
    first, *rest = objects
    facts = [(describe_owner(state, obj), created_by(history, obj.uid)) for obj in objects]
    if not rest:
        return f"it is {_controlled(facts[0][0])}, {facts[0][1]}"
    if len(set(facts)) == 1:
        both = "both" if len(objects) == 2 else "all"
        names = f"it and {listed(map(call, rest))}"
        return f"{names} are {both} {_controlled(facts[0][0])}, {facts[0][1]}"
    clauses = [
        f"{'it' if obj is first else call(obj)} is {_controlled(owner)}, {by}"
        for obj, (owner, by) in zip(objects, facts, strict=True)
    ]
    return listed(clauses, most=4)


def _controlled(owner: str) -> str:
    return "owned by nobody" if owner == "nobody" else f"controlled by {owner}"


def sentence(look: Look, row: Mismatch) -> str:
    """A mismatch with times, owner and creator."""
    objects = known(look, row.objects[:1])
    tail = origin(look.history, look.view.state, objects)
    operators = row.blame is Actor.OPERATOR or row.ending
    blame = "" if operators else f"; the fault is with {layer(row.blame)}"
    about = f"; {tail}" if tail else ""
    if about and not row.message.startswith(call(objects[0])):
        about = f"; {call(objects[0])}{tail.removeprefix('it')}"
    return f"{row.message}, {elapsed(look, row.service)}{about}{blame}"


def known(look: Look, uids: Iterable[str]) -> list[Obj]:
    """The objects with those uids, as far as they exist at that checkpoint."""
    found = (look.view.state.get(uid) for uid in uids)
    return [obj for obj in found if obj is not None]
