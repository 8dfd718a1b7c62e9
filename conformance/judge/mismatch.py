"""The result of a rule: one difference between a state and what is wanted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.judge.snapshot import ServiceSnapshot
from conformance.judge.wording import subject
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One difference between a state and what is wanted; `checker` is the one that reports it.

    `message` is a clause that names the objects; the checker adds times, owner and creator.
    `objects` are their uids, the one at fault first. `blame` is the actor whose fault it is: a
    right workload with a wrong StatefulSet is not the operator's. `ending` marks what is on its way
    out already. `soft` is what nobody need wait for once all else matches: it is judged, but does not
    block the hold window, so that a case can go on with builds that always show it."""

    checker: CheckerName
    subject: str
    message: str
    graph: str = ""
    service: str = ""
    objects: tuple[str, ...] = ()
    blame: Actor = Actor.OPERATOR
    ending: bool = False
    soft: bool = False


def of_service(
    checker: CheckerName,
    service: ServiceSnapshot,
    objects: Sequence[Obj],
    message: str,
    *,
    blame: Actor = Actor.OPERATOR,
    ending: bool = False,
    about: str = "",
) -> Mismatch:
    """A mismatch of one service; `about` is its subject where that is not the first object."""
    first = subject(objects[0]) if objects else f"service/{service.name}"
    return Mismatch(
        checker=checker,
        subject=about or first,
        message=message,
        graph=service.graph.name,
        service=service.name,
        objects=tuple(obj.uid for obj in objects),
        blame=blame,
        ending=ending,
    )
