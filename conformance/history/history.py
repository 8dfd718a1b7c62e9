"""A recorded history, ordered by revision, with time travel.

One etcd numbers all writes, so events of all kinds are ordered by revision; arrival order is not
history (kinds were seen up to 0.21 s out of order). `at(revision)` is then exact, not sampled.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from conformance.history.records import (
    Checkpoint,
    Event,
    EventType,
    Foreign,
    Fresh,
    Gap,
    Header,
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
    """One object from creation to deletion, by uid. `created_*` is None if it was there before the
    recording, `deleted_*` None if it still is."""

    uid: str
    events: tuple[Event, ...]
    created_revision: int | None
    created_at: float | None
    deleted_revision: int | None
    deleted_at: float | None

    @property
    def last(self) -> Obj:
        """The last seen state."""
        return self.events[-1].obj

    @property
    def first(self) -> Obj:
        """The first seen state."""
        return self.events[0].obj


_R = TypeVar("_R")


class History:
    """All records of one case. Raises ValueError if there is no header."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: list[Record] = list(records)
        headers = [r for r in self.records if isinstance(r, Header)]
        if not headers:
            raise ValueError("a history needs a header record; this one has none")
        self.header = headers[0]

    @cached_property
    def profile(self) -> Profile:
        """The profile the case was run with."""
        return Profile.model_validate(self.header.profile)

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds the case was run with."""
        return Bounds.from_json(dict(self.header.bounds))

    @property
    def namespace(self) -> str:
        """The case's own namespace."""
        return self.header.namespace

    @cached_property
    def events(self) -> list[Event]:
        """Events by revision. A repeated event (an object served by two groups, a re-list of what
        was known) appears once."""
        seen: set[tuple[str, int, bool]] = set()
        ordered: list[Event] = []
        for event in sorted(
            (r for r in self.records if isinstance(r, Event)), key=lambda e: (e.revision, e.at)
        ):
            key = (event.obj.uid, event.revision, event.type is EventType.DELETED)
            if key not in seen:
                seen.add(key)
                ordered.append(event)
        return ordered

    def _of(self, kind: type[_R]) -> list[_R]:
        return [r for r in self.records if isinstance(r, kind)]

    @cached_property
    def steps(self) -> list[Step]:
        """What the suite did, in order."""
        return sorted(self._of(Step), key=lambda step: step.sent_at)

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints, in order."""
        return sorted(self._of(Checkpoint), key=lambda checkpoint: checkpoint.at)

    @cached_property
    def gaps(self) -> list[Gap]:
        """Stretches in which changes may have been missed."""
        return sorted(self._of(Gap), key=lambda gap: gap.at)

    @property
    def unseen(self) -> list[Unseen]:
        """Kinds of which nothing could be recorded."""
        return self._of(Unseen)

    @cached_property
    def writes(self) -> list[Write]:
        """The audit log's mutating requests, by time of answer."""
        return sorted(self._of(Write), key=lambda write: write.at)

    @cached_property
    def operator_events(self) -> list[OperatorEvent]:
        """What happened to the operator, and its log."""
        return sorted(self._of(OperatorEvent), key=lambda event: event.at)

    @property
    def foreign(self) -> list[Foreign]:
        """Objects of others that the case put there."""
        return self._of(Foreign)

    @property
    def fresh(self) -> list[Fresh]:
        """Fresh deploys to compare with."""
        return self._of(Fresh)

    @property
    def soaks(self) -> list[Soak]:
        """Cases whose graphs still stood at the end of the run."""
        return self._of(Soak)

    @property
    def tables(self) -> list[Tables]:
        """Printed tables."""
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
    def _revisions(self) -> list[int]:
        return [event.revision for event in self.events]

    def at(self, revision: int) -> State:
        """Everything as it stood once the write numbered `revision` was done."""
        objects: dict[str, Obj] = {}
        last = 0.0
        for event in self.events[: bisect.bisect_right(self._revisions, revision)]:
            obj = event.obj
            last = max(last, event.at)
            if event.type is EventType.DELETED:
                objects.pop(obj.uid, None)
            else:
                objects[obj.uid] = obj
        return State(objects.values(), revision=revision, at=last)

    def at_time(self, at: float) -> State:
        """Everything as it stood at that time, as far as events had arrived by then."""
        arrived = [event.revision for event in self.events if event.at <= at]
        return self.at(max(arrived, default=0))

    def at_checkpoint(self, checkpoint: Checkpoint) -> State:
        """Everything as it stood at a checkpoint."""
        return self.at(checkpoint.revision)

    def states(self, after: int, until: int) -> Iterator[tuple[Event, State]]:
        """Each event with `after` < revision <= `until`, with the state right after it. The states
        are snapshots of their own: they may be kept."""
        objects = dict(self.at(after).objects)
        for event in self.events:
            if not after < event.revision <= until:
                continue
            obj = event.obj
            if event.type is EventType.DELETED:
                objects.pop(obj.uid, None)
            else:
                objects[obj.uid] = obj
            yield event, State(objects.values(), revision=event.revision, at=event.at)

    def between(self, start: float, end: float) -> list[Event]:
        """Events that arrived in this time, in revision order."""
        return [event for event in self.events if start <= event.at <= end]

    def revision_at(self, at: float) -> int:
        """The highest revision that had arrived at that time; 0 if none."""
        return max((event.revision for event in self.events if event.at <= at), default=0)

    def gap_within(self, start: float, end: float, kind: str | None = None) -> Gap | None:
        """The first gap that touches this time and kind (None: any kind)."""
        for gap in self.gaps:
            if start <= gap.at <= end and (kind is None or gap.kind in ("", kind)):
                return gap
        return None


def _life(uid: str, events: list[Event]) -> Life:
    first, last = events[0], events[-1]
    added = first.type is EventType.ADDED
    gone = last.type is EventType.DELETED
    return Life(
        uid=uid,
        events=tuple(events),
        created_revision=first.revision if added else None,
        created_at=first.at if added else None,
        deleted_revision=last.revision if gone else None,
        deleted_at=last.at if gone else None,
    )
