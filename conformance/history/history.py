"""A recorded history, ordered by revision, with time travel.

One etcd numbers all writes, so events of all kinds are ordered by revision; arrival order is not
history (kinds were seen up to 0.21 s out of order). `at(revision)` is then exact, not sampled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from conformance.history.event_index import EventIndex
from conformance.history.records import (
    Checkpoint,
    Event,
    EventType,
    Foreign,
    Fresh,
    Gap,
    Header,
    Load,
    OperatorEvent,
    Record,
    Soak,
    Step,
    Tables,
    Unseen,
    Write,
)
from conformance.model.bounds import Bounds
from conformance.model.profile import Profile
from conformance.model.state import Obj, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One object from creation to deletion, by uid. `created_*` is None if it existed before the
    recording began, `deleted_*` if it still exists."""

    uid: str
    events: tuple[Event, ...]
    created_revision: int | None
    created_at: float | None
    deleted_at: float | None

    @property
    def last(self) -> Obj:
        return self.events[-1].obj

    @property
    def first(self) -> Obj:
        return self.events[0].obj


_R = TypeVar("_R")
_KEPT_STATES = 64


class History:
    """All records of one case. Raises ValueError if there is no header."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: list[Record] = list(records)
        self._by_type: dict[type, list[Record]] = defaultdict(list)
        for record in self.records:
            self._by_type[type(record)].append(record)
        headers = self._of(Header)
        if not headers:
            raise ValueError("a history needs a header record; this one has none")
        self.header = headers[0]

    def _of(self, kind: type[_R]) -> list[_R]:
        return [record for record in self._by_type[kind] if isinstance(record, kind)]

    @cached_property
    def profile(self) -> Profile:
        return Profile.model_validate(self.header.profile)

    @cached_property
    def bounds(self) -> Bounds:
        return Bounds.from_json(dict(self.header.bounds))

    @property
    def namespace(self) -> str:
        return self.header.namespace

    @cached_property
    def events(self) -> list[Event]:
        """Events by revision. A repeated event (an object served by two groups, a re-list of what
        was known) appears once."""
        seen: set[tuple[str, int, bool]] = set()
        ordered: list[Event] = []
        for event in sorted(self._of(Event), key=lambda event: (event.revision, event.at)):
            key = (event.obj.uid, event.revision, event.type is EventType.DELETED)
            if key not in seen:
                seen.add(key)
                ordered.append(event)
        return ordered

    @cached_property
    def steps(self) -> list[Step]:
        """What the suite did, by time of sending."""
        return sorted(self._of(Step), key=lambda step: step.sent_at)

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        return sorted(self._of(Checkpoint), key=lambda checkpoint: checkpoint.at)

    @cached_property
    def gaps(self) -> list[Gap]:
        return sorted(self._of(Gap), key=lambda gap: gap.at)

    @property
    def unseen(self) -> list[Unseen]:
        return self._of(Unseen)

    @cached_property
    def writes(self) -> list[Write]:
        """The audit log's mutating requests, by time of answer."""
        return sorted(self._of(Write), key=lambda write: write.at)

    @cached_property
    def operator_events(self) -> list[OperatorEvent]:
        return sorted(self._of(OperatorEvent), key=lambda event: event.at)

    @cached_property
    def loads(self) -> list[Load]:
        """How the operator was served, stretch by stretch."""
        return self._of(Load)

    @property
    def foreign(self) -> list[Foreign]:
        return self._of(Foreign)

    @property
    def fresh(self) -> list[Fresh]:
        return self._of(Fresh)

    @property
    def soaks(self) -> list[Soak]:
        return self._of(Soak)

    @property
    def tables(self) -> list[Tables]:
        return self._of(Tables)

    def steps_of(self, checkpoint: Checkpoint) -> list[Step]:
        """The steps that this checkpoint judges, in order."""
        names = set(checkpoint.steps)
        return [step for step in self.steps if step.name in names]

    def checkpoint_before(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """The checkpoint before this one."""
        index = self.checkpoints.index(checkpoint)
        return self.checkpoints[index - 1] if index else None

    @cached_property
    def lives(self) -> dict[str, Life]:
        """Every object that was ever seen, by uid."""
        events: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            events[event.obj.uid].append(event)
        return {uid: _life(uid, seen) for uid, seen in events.items()}

    @cached_property
    def _index(self) -> EventIndex:
        return EventIndex(self.events)

    @cached_property
    def _state(self) -> Callable[[int], State]:
        # Most checkers ask for the same few instants.
        return lru_cache(_KEPT_STATES)(self._index.state)

    def at(self, revision: int) -> State:
        """Everything as it stood once the write numbered `revision` was done."""
        return self._state(revision)

    def at_time(self, at: float) -> State:
        """Everything as it stood at that time, as far as events had arrived by then."""
        return self.at(self.revision_at(at))

    def at_checkpoint(self, checkpoint: Checkpoint) -> State:
        """Everything as it stood at a checkpoint."""
        return self.at(checkpoint.revision)

    def between(self, start: float, end: float) -> list[Event]:
        """Events that arrived in this time, in order of revision."""
        return self._index.between(start, end)

    def revision_at(self, at: float) -> int:
        """The highest revision that had arrived at that time; 0 if none."""
        return self._index.revision_at(at)


def _life(uid: str, events: list[Event]) -> Life:
    first, last = events[0], events[-1]
    added = first.type is EventType.ADDED
    gone = last.type is EventType.DELETED
    return Life(
        uid=uid,
        events=tuple(events),
        created_revision=first.revision if added else None,
        created_at=first.at if added else None,
        deleted_at=last.at if gone else None,
    )
