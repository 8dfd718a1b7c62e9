"""Who wrote what, and which writes count against rest: a create, a delete, or a change of more than
the status, by the operator or what may be the operator."""

from dataclasses import dataclass
from typing import TypeVar

from conformance.history.records import Event, EventType, Header, Record, Write
from conformance.judge.authors import Authors, actor_of_user
from conformance.judge.changes import Act, Change, change_of
from conformance.model.bounds import ARRIVAL_SLACK
from conformance.model.kinds import Actor, Role, role_of
from conformance.model.state import Obj

_Timed = TypeVar("_Timed", Change, Write)


def of_graph(obj: Obj) -> bool:
    """True for a graph, a component, or a direct child of one of a kind that operators make."""
    return role_of(obj) in (Role.GRAPH, Role.COMPONENT, Role.CHILD)


def _counts(writer: Actor, obj: Obj) -> bool:
    """True if a write of that author to that object counts. The platform keeps fields of its own in
    others' objects, and what nobody can be named for below a workload is most likely the platform's."""
    if writer is Actor.OPERATOR:
        return role_of(obj) is not Role.EVIDENCE
    return writer is Actor.UNKNOWN and of_graph(obj)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWrite:
    """A change that counts against rest. `writer` is OPERATOR, or UNKNOWN where it may be."""

    change: Change
    writer: Actor


class WriteLog:
    """Changes and requests, in the order they were added: `changes`, `requests` and `counted` tell
    of the header's namespace, authors are known of every change.

    `add` takes records one by one, so that the driver can ask ten times a second while a history
    comes in; the questions look only at the time asked about: `start` < time <= `end`.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._authors = Authors(header)
        self._known: dict[str, Obj] = {}
        self._changes: list[Change] = []
        self._created: dict[str, Change] = {}
        self._requests: list[Write] = []
        self._by_event: dict[tuple[str, int], Change] = {}
        self._writers: dict[tuple[str, int, Act], set[Actor]] = {}

    def add(self, record: Record) -> None:
        """Take one record in. Events of one object must come in their order."""
        if isinstance(record, Write) and record.resource != "leases":
            self._authors.add(record)
            self._writers.clear()
            own = record.namespace == self._header.namespace and record.resource != "events"
            if own and self._by_operator(record):
                self._requests.append(record)
        elif isinstance(record, Event):
            self._add_event(record)

    def _by_operator(self, write: Write) -> bool:
        return actor_of_user(self._header, write.user) is Actor.OPERATOR

    def _add_event(self, event: Event) -> None:
        obj = event.obj
        before = self._known.get(obj.uid)
        gone = event.type is EventType.DELETED
        if before is not None and obj.revision <= before.revision and not gone:
            return
        change = change_of(event, before)
        if gone:
            self._known.pop(obj.uid, None)
        else:
            self._known[obj.uid] = obj
        if change is None:
            return
        self._by_event[obj.uid, event.revision] = change
        if change.act is Act.CREATED:
            self._created[obj.uid] = change
        if obj.namespace == self._header.namespace:
            self._changes.append(change)

    def changes(self, start: float, end: float) -> list[Change]:
        """Every change, status and the platform's objects included."""
        return _between(self._changes, start, end)

    def requests(self, start: float, end: float) -> list[Write]:
        """The operator's mutating requests by time of answer, refused ones and no-ops included, as
        the audit log has them; not for Events, which are sent late, at a rate of their own."""
        return _between(self._requests, start, end)

    def too_many(self, start: float, end: float, *, allowed: int) -> float | None:
        """The time (epoch seconds) of the newest request after which only `allowed` more follow
        until `end`; None if there are no more than these since `start`."""
        requests = sorted(write.at for write in self.requests(start, end))
        return requests[-allowed - 1] if len(requests) > allowed else None

    def tries(self, obj: Obj, start: float, end: float) -> list[Write]:
        """The operator's requests to write or delete that object, by time of receipt, refused ones
        included. Only the audit log has them."""
        return [
            write
            for write in self._authors.about(obj)
            if start < write.received_at <= end
            and write.verb != "create"
            and self._by_operator(write)
        ]

    def counted(self, start: float, end: float) -> list[CountedWrite]:
        """The counted writes, oldest first."""
        found = (
            CountedWrite(change=change, writer=self.writer(change))
            for change in self.changes(start, end)
            if change.weighs
        )
        return [one for one in found if _counts(one.writer, one.change.obj)]

    @property
    def operator_wrote(self) -> bool:
        """True if the audit log has any request of the operator in this namespace at all."""
        return bool(self._requests)

    def creator(self, uid: str) -> Actor:
        """Who created the object; unknown if its creation was not recorded."""
        change = self._created.get(uid)
        return Actor.UNKNOWN if change is None else self.writer(change)

    def writer_of(self, event: Event) -> Actor:
        """Whose request an event shows; unknown if it changed nothing that is known."""
        change = self._by_event.get((event.obj.uid, event.revision))
        return Actor.UNKNOWN if change is None else self.writer(change)

    def writer(self, change: Change) -> Actor:
        """Whose request made the change; `unknown writer` if the evidence fits more than one."""
        actors = self.writers(change)
        return next(iter(actors)) if len(actors) == 1 else Actor.UNKNOWN

    def writers(self, change: Change) -> set[Actor]:
        """Everybody whose request may have made the change, as far as the evidence tells."""
        key = (change.obj.uid, change.event.revision, change.act)
        if key not in self._writers:
            born = self._created.get(change.obj.uid)
            self._writers[key] = self._authors.of(change, born=born)
        return self._writers[key]


def _between(items: list[_Timed], start: float, end: float) -> list[_Timed]:
    """Those with `start` < time <= `end`, without a look at what is far older."""
    found: list[_Timed] = []
    for item in reversed(items):
        if item.at < start - ARRIVAL_SLACK:
            break
        if start < item.at <= end:
            found.append(item)
    return found[::-1]
