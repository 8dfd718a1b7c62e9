"""Finds events and states among many events: by bisection and from kept states, never by a scan."""

import bisect
import itertools
from collections.abc import Sequence

from conformance.history.records import Event, EventType
from conformance.model.state import Obj, State

_SHORTEST_REPLAY = 64
"""Events between two kept states, at least."""


class EventIndex:
    """Over events in order of revision; their times of arrival may be in any order."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._revisions = [event.revision for event in events]
        # How late the latest of the first n events arrived.
        self._latest = [0.0, *itertools.accumulate((event.at for event in events), max)]
        self._by_arrival = sorted(range(len(events)), key=lambda index: events[index].at)
        self._arrivals = [events[index].at for index in self._by_arrival]
        self._highest = list(
            itertools.accumulate((self._revisions[index] for index in self._by_arrival), max)
        )
        self._objects = [event.obj for event in events]
        self._kept: list[tuple[int, dict[str, Obj]]] = [(0, {})]
        self._keep_states()

    def _keep_states(self) -> None:
        """Keep states as far apart as they are large: together they then take no more room than the
        events, and to go on from the nearest takes no longer than to copy it."""
        objects: dict[str, Obj] = {}
        kept_at = 0
        for count in range(1, len(self._events) + 1):
            self._apply(objects, count - 1)
            if count - kept_at >= max(_SHORTEST_REPLAY, len(objects)):
                self._kept.append((count, dict(objects)))
                kept_at = count

    def _apply(self, objects: dict[str, Obj], index: int) -> None:
        obj = self._objects[index]
        if self._events[index].type is EventType.DELETED:
            objects.pop(obj.uid, None)
        else:
            objects[obj.uid] = obj

    def state(self, revision: int) -> State:
        """Everything as it stood once the write numbered `revision` was done."""
        count = bisect.bisect_right(self._revisions, revision)
        nearest = bisect.bisect_right(self._kept, count, key=lambda kept: kept[0]) - 1
        start, kept = self._kept[nearest]
        objects = dict(kept)
        for index in range(start, count):
            self._apply(objects, index)
        return State(objects.values(), revision=revision, at=self._latest[count])

    def between(self, start: float, end: float) -> list[Event]:
        """Events that arrived in this time, in order of revision."""
        first = bisect.bisect_left(self._arrivals, start)
        last = bisect.bisect_right(self._arrivals, end)
        return [self._events[index] for index in sorted(self._by_arrival[first:last])]

    def revision_at(self, at: float) -> int:
        """The highest revision that had arrived at that time; 0 if none."""
        arrived = bisect.bisect_right(self._arrivals, at)
        return self._highest[arrived - 1] if arrived else 0
