"""Every noun, number, list and author in a sentence, said once."""

from collections.abc import Iterable

from conformance.model.graph import short_kind
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


def noun(obj: Obj) -> str:
    """`Deployment agg-worker`; components and graphs by their short names."""
    return f"{short_kind(obj.kind)} {obj.name}"


def subject(obj: Obj) -> str:
    """`Kind/name`, on which known failures match."""
    return f"{obj.kind}/{obj.name}"


def join(words: Iterable[str], *, most: int = 3) -> str:
    """`a`, `a and b`, `a, b and c`, or the first few and how many more."""
    items = list(words)
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def nouns(objects: Iterable[Obj]) -> str:
    """The objects by kind and name, as a list."""
    return join(noun(obj) for obj in objects)


def count(number: int, word: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def verb(number: int, one: str, many: str) -> str:
    """The form that goes with so many: `is` or `are`."""
    return one if number == 1 else many


def seconds(value: float) -> str:
    """`2.3 s`; whole numbers without a fraction. What was seen before its cause counts as 0 s."""
    rounded = max(0.0, round(value, 1))
    return f"{rounded:.0f} s" if rounded == int(rounded) else f"{rounded:.1f} s"


def by(actor: Actor) -> str:
    """`the operator`: who did it."""
    return _ACTORS[actor]


def owned_by(state: State, obj: Obj) -> str:
    """`controlled by DCD x`, or `without an owner`."""
    owner = describe_owner(state, obj)
    if owner == "nobody":
        return "without an owner"
    return f"{'controlled' if obj.controller else 'owned'} by {owner}"
