"""The result of a rule: something in a state that does not match the graphs."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.model.graph import Graph
from conformance.model.kinds import Actor
from conformance.model.profile import Profile
from conformance.model.state import State
from conformance.model.verdict import CheckerName


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What must exist at a checkpoint. A bare component is a one-service Graph under the component's
    name. `others` are uids of objects that are nobody's business here: what the suite put beside
    the graphs (foreign objects, prerequisites). They and what is below them are left out."""

    namespace: str
    graphs: tuple[Graph, ...]
    components: tuple[Graph, ...]
    profile: Profile
    others: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One difference between a state and what is wanted; `checker` is the one that reports it.

    `message` is a clause that names the objects; the checker adds times, owner and creator.
    `objects` are their uids, the one at fault first. `blame` is the layer whose fault it is: a
    right workload with a wrong StatefulSet is not the operator's. `ending` marks what is on its way
    out already. `soft` is what nobody need wait for once all else matches: it is judged, but keeps
    no hold window from beginning, so that a case can go on with builds that always show it."""

    checker: CheckerName
    subject: str
    message: str
    graph: str = ""
    service: str = ""
    objects: tuple[str, ...] = ()
    blame: Actor = Actor.OPERATOR
    ending: bool = False
    soft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A state together with what is wanted of it: the input of every rule."""

    state: State
    wanted: Wanted
