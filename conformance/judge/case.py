"""One reading of a history, for every checker: owners, writers, windows, gaps and snapshots, each
worked out once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from conformance.history.history import History
from conformance.history.load import after_turn, before_turn
from conformance.history.records import Checkpoint, CheckpointEnd, Gap, OperatorEventKind, Step
from conformance.judge.findings import CheckResult
from conformance.judge.lineage import Lineage, Place
from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot, Wanted
from conformance.judge.state.match import mismatches_at
from conformance.judge.writers import WriteLog
from conformance.model.bounds import Bounds
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import Actor
from conformance.model.profile import Profile
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import Verdict

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time (epoch seconds, `start` < t <= `end`) with the revisions it covers."""

    start: float
    end: float
    after_revision: int
    until_revision: int

    @property
    def length(self) -> float:
        return self.end - self.start

    def touched_by(self, gap: Gap) -> bool:
        """True if the gap was noticed in it, or hides some of its revisions: one from a to b hides
        what happened after a, until b."""
        hides = gap.from_revision < self.until_revision and gap.to_revision > self.after_revision
        return hides or self.start <= gap.at <= self.end


@dataclass(frozen=True, eq=False)
class CasePoint:
    """A checkpoint with the snapshot that it judges, and the steps that led to it. Times are seconds
    since the epoch."""

    case: Case
    checkpoint: Checkpoint

    @property
    def name(self) -> str:
        return self.checkpoint.name

    @property
    def at(self) -> float:
        return self.checkpoint.at

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self.case.history.steps_of(self.checkpoint))

    @property
    def last_step(self) -> str:
        """Its name; empty if there is none."""
        return self.checkpoint.steps[-1] if self.checkpoint.steps else ""

    @cached_property
    def state(self) -> State:
        return self.case.history.at_checkpoint(self.checkpoint)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The state, with what was wanted of it then."""
        return self.case.snapshot(self.state, self.checkpoint.graphs, self.checkpoint.components)

    @cached_property
    def mismatches(self) -> list[Mismatch]:
        """What does not match; for a blocked target, what is wrong all the same."""
        return mismatches_at(self.snapshot, blocked_target=self.checkpoint.blocked)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs and bare components that must exist."""
        return (*self.checkpoint.graphs, *self.checkpoint.components)

    @property
    def held(self) -> bool:
        """True if the driver saw the state match and stay so."""
        return self.checkpoint.end is CheckpointEnd.HELD

    @property
    def late(self) -> bool:
        """True if the state did not match, and the operator had not had its turn by then."""
        return self.checkpoint.end is CheckpointEnd.LATE

    @property
    def missed(self) -> bool:
        """True if the driver stopped looking before the state had matched and stayed so."""
        return self.late or self.checkpoint.end is CheckpointEnd.DEADLINE

    def still_wrong(self, *, blamed: bool = True) -> Verdict:
        """What it means that something is wrong here: a violation, unless another is to blame, or the
        operator could not mend it yet."""
        return Verdict.VIOLATES if blamed and not self.late else Verdict.UNKNOWN

    @property
    def interrupted(self) -> bool:
        return self.checkpoint.end is CheckpointEnd.INTERRUPTED

    @property
    def begins(self) -> float:
        """When its first step was sent."""
        return min((step.sent_at for step in self.steps), default=self.checkpoint.since)

    @property
    def rests_until(self) -> float:
        """When the next thing was done. After the last checkpoint nothing is judged: cleaning up is
        journalled by nobody."""
        later = [step.sent_at for step in self.case.history.steps if step.sent_at >= self.at]
        return min(later, default=self.at)

    @cached_property
    def hold(self) -> Window:
        """The hold window that ends here; where the driver gave none, the bound's."""
        length = self.checkpoint.hold or self.case.bounds.hold
        return self.case.window(self.at - length, self.at)

    @cached_property
    def way(self) -> Window:
        """From its first step until it."""
        return self.case.window(self.begins, self.at)


class Case:
    """A history, read once. It owns all that is worked out of it, and is dropped with the judgement."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.namespace = history.namespace
        self._worked_out: dict[str, Any] = {}

    def worked_out(self, key: str, work: Callable[[Case], _T]) -> _T:
        """What `work` makes of this case, made once: for what several checkers share."""
        found: _T = self._worked_out[key] if key in self._worked_out else work(self)
        self._worked_out[key] = found
        return found

    @property
    def profile(self) -> Profile:
        return self.history.profile

    @property
    def bounds(self) -> Bounds:
        return self.history.bounds

    @cached_property
    def lineage(self) -> Lineage:
        return Lineage(self.history)

    @cached_property
    def log(self) -> WriteLog:
        """All changes and requests, with their authors."""
        log = WriteLog(self.history.header)
        for write in self.history.writes:
            log.add(write)
        for event in self.history.events:
            log.add(event)
        return log

    def creator(self, uid: str) -> Actor:
        """Who created the object, in the case's namespace or anywhere else."""
        return self.log.creator(uid)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """uids of what others put there, and of everything below it."""
        own = {foreign.uid for foreign in self.history.foreign}
        return frozenset(own.union(*(self.lineage.below(uid) for uid in own)))

    @cached_property
    def others(self) -> frozenset[str]:
        """uids of what is not the operator's: foreign objects, what was there before the case, and what
        the suite made beside graphs. A snapshot tells what is below them: an operator may hide a
        workload there."""
        begun = min((step.sent_at for step in self.history.steps), default=0.0)
        found = {foreign.uid for foreign in self.history.foreign}
        for uid, life in self.history.lives.items():
            graphs = life.first.kind in (GRAPH_KIND, COMPONENT_KIND)
            if graphs or life.first.namespace != self.namespace:
                continue
            before = life.created_revision is None and life.events[0].at <= begun
            if before or self.creator(uid) is Actor.SUITE:
                found.add(uid)
        return frozenset(found)

    def snapshot(
        self, state: State, graphs: tuple[Graph, ...], components: tuple[Graph, ...] = ()
    ) -> Snapshot:
        """The state with what is wanted of it, and of no other's object."""
        wanted = Wanted(
            namespace=self.namespace, graphs=graphs, components=components,
            profile=self.profile, others=self.others,
        )  # fmt: skip
        return Snapshot(state, wanted)

    @cached_property
    def points(self) -> list[CasePoint]:
        """Every checkpoint, in order."""
        return [CasePoint(self, checkpoint) for checkpoint in self.history.checkpoints]

    @cached_property
    def seen(self) -> list[CasePoint]:
        """The checkpoints at which something can be said."""
        return [point for point in self.points if not point.interrupted]

    @cached_property
    def judged(self) -> list[CasePoint]:
        """Those that count; arranging ones do not."""
        return [point for point in self.points if point.checkpoint.judged]

    def point_of(self, step: Step) -> CasePoint | None:
        """The checkpoint that judges a step."""
        return next((p for p in self.points if step.name in p.checkpoint.steps), None)

    def before(self, point: CasePoint) -> CasePoint | None:
        """The checkpoint before that one."""
        index = self.points.index(point)
        return self.points[index - 1] if index else None

    def window(self, start: float, end: float) -> Window:
        """The window between two times."""
        after, until = self.history.revision_at(start), self.history.revision_at(end)
        return Window(start=start, end=end, after_revision=after, until_revision=until)

    def after_turn(self, start: float, seconds: float) -> float:
        """The time at which the operator has had its turn for so many seconds since `start`."""
        return after_turn(self.history.loads, start, seconds)

    def before_turn(self, end: float, seconds: float) -> float:
        """The time from which the operator had its turn for so many seconds until `end`."""
        return before_turn(self.history.loads, end, seconds)

    def gap_in(self, window: Window) -> Gap | None:
        """The first gap that touches the window."""
        return next((gap for gap in self.history.gaps if window.touched_by(gap)), None)

    @cached_property
    def deletions(self) -> dict[str, float]:
        """Name of each graph and component that the suite deleted → when the API accepted that."""
        return {
            step.target: step.answered_at
            for step in self.history.steps
            if ChangeKind.DELETE in step.kinds and step.accepted
        }

    def place_of(self, obj: Obj) -> Place | None:
        """The service that an object of the case's namespace serves; None for others' objects."""
        ours = obj.namespace == self.namespace and obj.uid not in self.foreign
        return self.lineage.place(obj.uid) if ours else None

    def operator_starts(self, after: float, until: float) -> list[float]:
        """When the operator was started, with `after` < time <= `until`."""
        return [
            event.at
            for event in self.history.operator_events
            if event.kind is OperatorEventKind.STARTED and after < event.at <= until
        ]


Check = Callable[[Case], CheckResult]
"""A checker: pure, the same history gives the same result."""
