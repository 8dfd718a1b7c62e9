"""The result of a rule: one difference between a state and what is wanted of it."""

from dataclasses import dataclass

from conformance.judge.wording import subject
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One difference between a state and what is wanted; `checker` is the one that reports it.

    `message` is a clause that names the objects; the checker adds times, owner and creator.
    `objects` are uids, the one at fault first. `blame` is whose fault it is: a right workload with
    a wrong StatefulSet is not the operator's. `ending` marks what is on its way out already. `soft`
    is judged, but does not block the hold window, so that a case can go on with builds that always
    show it.
    """

    checker: CheckerName
    subject: str
    message: str
    graph: str = ""
    service: str = ""
    objects: tuple[str, ...] = ()
    blame: Actor = Actor.OPERATOR
    ending: bool = False
    soft: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """The names of its graph and its service."""
        return self.graph, self.service


def mismatch(
    checker: CheckerName,
    message: str,
    *objects: Obj,
    place: tuple[str, str],
    about: str = "",
    blame: Actor = Actor.OPERATOR,
    ending: bool = False,
    soft: bool = False,
) -> Mismatch:
    """A mismatch of the graph and service at `place`; `about` is its subject where that is not the
    first object."""
    return Mismatch(
        checker=checker,
        subject=about or subject(objects[0]),
        message=message,
        graph=place[0],
        service=place[1],
        objects=tuple(obj.uid for obj in objects),
        blame=blame,
        ending=ending,
        soft=soft,
    )
