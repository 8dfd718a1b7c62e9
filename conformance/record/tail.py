"""What a test worker reads of the record while it is written: one namespace, live."""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from conformance.history.history import History
from conformance.history.records import JSON_LINES, Event, EventType, Gap, Header, Record, Unseen
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.state import Obj, State
from conformance.record.elsewhere import Elsewhere
from conformance.record.files import LoadSign, RecordFiles


class Tail(RecordFiles):
    """The record of one namespace, and of what elsewhere concerns it, as it grows (see `Elsewhere`,
    also for `other_namespaces`). Make it before the namespace: gap marks count from then on. `lag`:
    how many seconds the recorder may show no sign of life. `alone`: no other case runs, so what the
    operator does elsewhere is no excuse. Not thread-safe."""

    def __init__(
        self,
        directory: Path,
        namespace: str,
        *,
        other_namespaces: bool = False,
        lag: float = Bounds().recorder_lag,
        alone: bool = False,
    ) -> None:
        if not namespace:
            raise ValueError("a Tail needs a namespace, found an empty name")
        super().__init__(directory, lag=lag)
        self._alone = alone
        self.namespace = namespace
        self.records: list[Record] = []
        """Everything so far, in order of reading; those of one kind in order of revision."""
        self.since = time.time()
        self.last_event_at = 0.0
        """When the last event of the namespace arrived at the recorder; 0 before the first."""
        self.revision = 0
        """The highest revision of any event so far."""
        self.unseen: dict[tuple[str, str], Unseen] = {}
        """(kind, group) → mark, of what the recorder may not see."""
        self._elsewhere = Elsewhere(self, namespace, other_namespaces=other_namespaces)
        self._lost = ""
        self._objects: dict[str, Obj] = {}
        # (kind, group) → events in the namespace; within a kind they come in order of revision.
        self._events: dict[tuple[str, str], list[Event]] = defaultdict(list)
        self._state: State | None = None

    def poll(self) -> list[Record]:
        """Records since the last call. Raises InfraError once the recorder is dead or silent; the
        records then hold a gap mark, so that nobody takes the silence for peace."""
        start = len(self.records)
        for line in self.lines(self.namespace):
            self._take(JSON_LINES.decode(line))
        for record in self._elsewhere.records():
            self._take(record)
        # Last: whatever gap came before the events above is then known too.
        for sign in self.signs():
            if isinstance(sign, Unseen):
                # Of whatever time: what was unseen before the case is unseen in it, too.
                self.unseen[sign.kind, sign.group] = sign
                self.records.append(sign)
            elif isinstance(sign, Gap) and sign.at >= self.since:
                self.records.append(sign)
            elif isinstance(sign, LoadSign) and sign.at >= self.since:
                load = sign.seen_from(self.namespace)
                self.records.append(dataclasses.replace(load, elsewhere=0) if self._alone else load)
        self._check_alive()
        return self.records[start:]

    def state(self) -> State:
        """Everything as far as it is known now. Kinds may be some 0.2 s apart, `History.at` is
        exact. The same object until something changes."""
        if self._state is None:
            self._state = State(
                self._objects.values(), revision=self.revision, at=self.last_event_at
            )
        return self._state

    def kinds(self) -> set[tuple[str, str]]:
        """(kind, group) of everything ever seen in the namespace."""
        return set(self._events)

    def recorded_at(self, kind: str, group: str, revision: int) -> dict[str, int]:
        """uid → revision of the namespace's objects of a kind as they stood at that revision, as
        far as it is known."""
        standing: dict[str, int] = {}
        for event in self._events.get((kind, group), ()):
            if event.revision > revision:
                continue
            if event.type is EventType.DELETED:
                standing.pop(event.obj.uid, None)
            else:
                standing[event.obj.uid] = event.revision
        return standing

    def history(self, header: Header, extra: Iterable[Record] = ()) -> History:
        """All of it, with what the suite itself journalled."""
        return History([header, *self.records, *extra])

    def _take(self, record: Record) -> None:
        self.records.append(record)
        if not isinstance(record, Event):
            return
        obj = record.obj
        self.revision = max(self.revision, record.revision)
        if obj.namespace == self.namespace:
            if obj.kind in (GRAPH_KIND, COMPONENT_KIND):
                self._elsewhere.know(obj.uid)
            self._events[obj.kind, obj.group].append(record)
            self.last_event_at = max(self.last_event_at, record.at)
        # Events of one object come in order; those of different kinds need none here.
        if record.type is EventType.DELETED:
            self._objects.pop(obj.uid, None)
        else:
            self._objects[obj.uid] = obj
        self._state = None

    def _check_alive(self) -> None:
        beat = self.heartbeat
        silent = time.time() - (beat.at if beat is not None else self.since)
        if not self._lost:
            if beat is not None and beat.stopped:
                self._lost = "the recorder was stopped before the case ended"
            elif silent > self._lag:
                self._lost = (
                    f"the recorder showed no sign of life for {silent:.1f} s, "
                    f"expected one within {self._lag:g} s; it is dead or starved"
                )
            else:
                return
            self.records.append(Gap(at=time.time(), reason=self._lost))
        raise InfraError(self._lost)
