"""Words of findings: one sentence names objects, owner, creator and duration (design §9)."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.history import History
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.ownership import describe_owner
from conformance.model.state import Obj, State

_SHORT = {COMPONENT_KIND: "DCD", GRAPH_KIND: "DGD"}
_BY = {
    Actor.OPERATOR: "the operator",
    Actor.LWS_CONTROLLER: "the LWS controller",
    Actor.PLATFORM: "Kubernetes",
    Actor.SUITE: "the suite",
    Actor.UNKNOWN: "an unknown writer",
}


def seconds(value: float) -> str:
    """`2.3 s`; whole numbers without a fraction."""
    rounded = round(value, 1)
    return f"{rounded:.0f} s" if rounded == int(rounded) else f"{rounded:.1f} s"


def listing(items: Iterable[str], *, limit: int = 4) -> str:
    """`a, b and c`; beyond `limit` how many more there are."""
    texts = list(items)
    if len(texts) > limit:
        return f"{', '.join(texts[:limit])} and {len(texts) - limit} more"
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def named(obj: Obj) -> str:
    """`Deployment x`, with DGD and DCD short."""
    return f"{_SHORT.get(obj.kind, obj.kind)} {obj.name}"


def subject(obj: Obj) -> str:
    """`Kind/name`, as findings name objects."""
    return f"{obj.kind}/{obj.name}"


def by(layer: Actor) -> str:
    """`the operator`: who did it."""
    return _BY[layer]


def origin(history: History, state: State, obj: Obj) -> str:
    """`controlled by DCD x, created by the operator`."""
    owner = describe_owner(state, obj)
    verb = "controlled by" if obj.controller else "owned by"
    return f"{verb} {owner}, created by {by(log_of(history).creator(obj.uid))}"


def plural(count: int, word: str) -> str:
    """`1 write`, `2 writes`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
