"""How objects and numbers are called in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.state import Obj

_SHORT = {COMPONENT_KIND: "DCD", GRAPH_KIND: "DGD"}


def call(obj: Obj) -> str:
    """`Deployment agg-worker`; components and graphs by their short names."""
    return f"{_SHORT.get(obj.kind, obj.kind)} {obj.name}"


def subject(obj: Obj) -> str:
    """`Kind/name`, on which known failures match."""
    return f"{obj.kind}/{obj.name}"


def listed(words: Iterable[str], *, most: int = 3) -> str:
    """`a`, `a and b`, `a, b and c`, or the first few and how many more."""
    items: Sequence[str] = list(words)
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
