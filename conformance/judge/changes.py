"""What one recorded event changed of an object: which act, which parts."""

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.history.records import Event, EventType
from conformance.model.state import Obj


class Part(enum.StrEnum):
    """A part of an object that a write may change."""

    SPEC = "spec"
    """The spec; for kinds without one everything beside metadata and status (data, rules, ...)."""
    LABELS = "labels"
    ANNOTATIONS = "annotations"
    OWNERS = "owners"
    FINALIZERS = "finalizers"
    STATUS = "status"


class Act(enum.StrEnum):
    """What a recorded change did to the object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    """Asked to go: deletionTimestamp set, or gone at once."""
    GONE = "gone"
    """The end of a deletion that was asked for earlier; no write of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One recorded change of one object. `before` is None for a creation (or the first sight)."""

    event: Event
    before: Obj | None
    act: Act
    parts: tuple[Part, ...] = ()

    @property
    def obj(self) -> Obj:
        """As the change left it; for a deletion its last state."""
        return self.event.obj

    @property
    def at(self) -> float:
        """When the recorder saw it, seconds since the epoch."""
        return self.event.at

    @property
    def moves(self) -> bool:
        """True for a creation, a deletion, or another spec."""
        made_or_deleted = self.act in (Act.CREATED, Act.DELETED)
        return made_or_deleted or (self.act is Act.CHANGED and Part.SPEC in self.parts)

    @property
    def weighs(self) -> bool:
        """True if this is more than a status."""
        more = any(part is not Part.STATUS for part in self.parts)
        return self.moves or (self.act is Act.CHANGED and more)

    def __str__(self) -> str:
        changed = self.act is Act.CHANGED
        did = f"{', '.join(self.parts)} changed" if changed else self.act
        return f"{self.obj} ({did})"


def said_at(event: Obj) -> float | None:
    """When an Event object says that it happened last, seconds since the epoch (often whole ones);
    None if it does not say. Clients queue Events and limit their rate."""
    stamps = (event.raw.get("eventTime"), event.raw.get("lastTimestamp"))
    times = (datetime.datetime.fromisoformat(str(stamp)) for stamp in stamps if stamp)
    return max((time.timestamp() for time in times), default=None)


def content(obj: Obj) -> Mapping[str, Any]:
    """The spec; for kinds without one everything beside metadata and status."""
    if "spec" in obj.raw:
        return obj.spec
    skipped = ("apiVersion", "kind", "metadata", "status")
    return {key: value for key, value in obj.raw.items() if key not in skipped}


def changed_parts(before: Obj, after: Obj) -> tuple[Part, ...]:
    """The parts in which two states of one object differ; bookkeeping (versions, times) is none."""
    pairs = (
        (Part.SPEC, content(before), content(after)),
        (Part.LABELS, before.labels, after.labels),
        (Part.ANNOTATIONS, before.annotations, after.annotations),
        (Part.OWNERS, before.owners, after.owners),
        (Part.FINALIZERS, before.finalizers, after.finalizers),
        (Part.STATUS, before.status, after.status),
    )
    return tuple(part for part, old, new in pairs if old != new)


def change_of(event: Event, before: Obj | None) -> Change | None:
    """What the event changed, given the object as it was known. None if nothing worth a word."""
    asked = before is not None and before.deleting
    if event.type is EventType.DELETED:
        return Change(event=event, before=before, act=Act.GONE if asked else Act.DELETED)
    if before is None:
        # An object that was there when the recorder listed its kind was not created just now.
        listed = event.type is not EventType.ADDED
        return None if listed else Change(event=event, before=None, act=Act.CREATED)
    parts = changed_parts(before, event.obj)
    act = Act.DELETED if event.obj.deleting and not asked else Act.CHANGED
    if act is Act.CHANGED and not parts:
        return None
    return Change(event=event, before=before, act=act, parts=parts)
