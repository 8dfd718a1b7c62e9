"""The result of a rule: something in a state that does not match the graphs."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.model.graph import Graph
from conformance.model.profile import Profile
from conformance.model.state import State
from conformance.model.verdict import CheckerName


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What must exist at a moment. A bare component is a one-service Graph under the component's
    name; `overlap_excused` names services that may have two generations just now (rollout)."""

    namespace: str
    graphs: tuple[Graph, ...]
    components: tuple[Graph, ...]
    profile: Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One difference between a state and what is wanted; `checker` is the one that reports it."""

    checker: CheckerName
    subject: str
    message: str
    graph: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A state together with what is wanted of it: the input of every rule."""

    state: State
    wanted: Wanted
