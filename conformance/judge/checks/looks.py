"""What a checker looks at: the state at each checkpoint, with what was wanted of it then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Step
from conformance.judge.state.base import Mismatch, Sight, Wanted
from conformance.judge.state.blocked import blocked_in
from conformance.judge.state.match import mismatches_in
from conformance.judge.state.observed import unobserved_in
from conformance.judge.state.view import View
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.transition import ChangeKind


@dataclass(frozen=True)
class Look:
    """A checkpoint with everything that rules need. `steps` are those that it judges."""

    history: History
    checkpoint: Checkpoint
    view: View
    steps: tuple[Step, ...]

    @cached_property
    def mismatches(self) -> list[Mismatch]:
        """What does not match (for a blocked target: what is wrong all the same)."""
        if self.checkpoint.blocked:
            return blocked_in(self.view)
        return mismatches_in(self.view) + unobserved_in(self.view)

    @property
    def held(self) -> bool:
        """True if the driver saw the state match and stay so."""
        return self.checkpoint.end is CheckpointEnd.HELD

    @property
    def begins(self) -> float:
        """When the first step of this checkpoint was sent (s since the epoch)."""
        return min((step.sent_at for step in self.steps), default=self.checkpoint.since)

    @property
    def rests_until(self) -> float:
        """When the next thing was done after this checkpoint, or the checkpoint itself if it is last.

        Cleaning up after the last checkpoint is journalled by nobody, so nothing is judged there.
        """
        later = [s.sent_at for s in self.history.steps if s.sent_at >= self.checkpoint.at]
        return min(later, default=self.checkpoint.at)


def creator(history: History, uid: str) -> Actor:
    """Who created the object, in the case's namespace or anywhere else."""
    return log_of(history).creator(uid)


_OTHERS: WeakKeyDictionary[History, frozenset[str]] = WeakKeyDictionary()
_LOOKS: WeakKeyDictionary[History, list[Look]] = WeakKeyDictionary()


def others_of(history: History) -> frozenset[str]:
    """uids of what is none of the operator's business: foreign objects, what was there before the
    case, and what the suite made beside graphs and components."""
    if history not in _OTHERS:
        _OTHERS[history] = _others(history)
    return _OTHERS[history]


def _others(history: History) -> frozenset[str]:
    found = {foreign.uid for foreign in history.foreign}
    first = min((step.sent_at for step in history.steps), default=0.0)
    for uid, life in history.lives.items():
        if life.first.namespace != history.namespace:
            continue
        if life.first.kind in (GRAPH_KIND, COMPONENT_KIND):
            continue
        before = life.created_revision is None and life.events[0].at <= first
        if before or creator(history, uid) is Actor.SUITE:
            found.add(uid)
    return frozenset(found)


def looks(history: History) -> list[Look]:
    """One look for each checkpoint at which something can be said, in order."""
    if history not in _LOOKS:
        _LOOKS[history] = [
            look_at(history, checkpoint)
            for checkpoint in history.checkpoints
            if checkpoint.end is not CheckpointEnd.INTERRUPTED
        ]
    return _LOOKS[history]


def look_at(history: History, checkpoint: Checkpoint) -> Look:
    """The look at one instant."""
    wanted = Wanted(
        namespace=history.namespace,
        graphs=checkpoint.graphs,
        components=checkpoint.components,
        profile=history.profile,
        others=others_of(history),
    )
    view = View(Sight(state=history.at_checkpoint(checkpoint), wanted=wanted))
    return Look(history, checkpoint, view, tuple(history.steps_of(checkpoint)))


def deleted_graphs(history: History) -> dict[str, float]:
    """Name of each graph and component that the suite deleted → when the API accepted that."""
    return {
        step.target: step.answered_at
        for step in history.steps
        if ChangeKind.DELETE in step.kinds and step.accepted
    }


def relevant(steps: Iterable[Step], service: str) -> Step | None:
    """The last of the steps that names the service, else the last one."""
    last = None
    named = None
    for step in steps:
        last = step
        if service and service in step.services:
            named = step
    return named or last
