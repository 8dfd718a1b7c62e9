"""One kind, recorded: list, watch from that version, for ever; gap marks where it cannot be."""

import threading
import time
from collections import deque
from typing import Any

from conformance.history.records import EventType, Gap, Unseen
from conformance.kube import Api, Resource
from conformance.kube.watch import (
    LIFE_SECONDS,
    SILENCE_SECONDS,
    ForbiddenError,
    NotServedError,
    WatchExpiredError,
    WatchSilentError,
    refusal,
    watch_events,
)
from conformance.model.errors import InfraError
from conformance.record.files import Recording
from conformance.record.sink import KindRecord, OnEvent, Sink

_LIST_SECONDS = 60.0
_BACKOFF = (0.1, 0.2, 0.5, 1.0, 2.0)
_TRIES_FIRST_LIST = 5
_TOLERATED_SECONDS = 1.0
"""A broken watch that is open again this soon lost nothing and hardly delayed anything."""
_HELD_BACK_SECONDS = 2.0
"""An event this soon after a silent watch was replaced is taken for one that it had held back."""
_DELIVERED_SECONDS = 30.0

# Kinds that get no bookmarks: the API server keeps no watch cache for them. Their watch is ended by
# the server before it looks silent, and goes on from a revision that others have long passed.
_NO_BOOKMARKS = {"events"}
_LIFE_WITHOUT = 45.0


class RevisionClock:
    """The highest revision that any kind has shown. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._past: deque[tuple[float, int]] = deque()
        self.revision = 0

    def saw(self, revision: int) -> None:
        """Some kind's event, bookmark or list had this revision."""
        with self._lock:
            self.revision = max(self.revision, revision)

    def tick(self) -> None:
        """Remember where the clock stands now."""
        now = time.monotonic()
        with self._lock:
            self._past.append((now, self.revision))
            while len(self._past) > 1 and self._past[1][0] <= now - _DELIVERED_SECONDS:
                self._past.popleft()

    def delivered(self) -> int:
        """A revision known for at least 30 s; a watch that is alive has delivered everything up to
        it (kinds were seen at most 0.21 s apart). 0 if the clock is younger."""
        with self._lock:
            at, revision = self._past[0] if self._past else (time.monotonic(), 0)
        return revision if at <= time.monotonic() - _DELIVERED_SECONDS else 0


class Watcher(threading.Thread):
    """Records one kind until `stop()`. `late_reason` is set for a kind that appeared while the
    recorder ran: it then starts with a gap mark. A kind that the identity may not list and watch is
    marked as unseen, and the watcher ends."""

    def __init__(
        self,
        *,
        api: Api,
        resource: Resource,
        sink: Sink,
        clock: RevisionClock,
        on_event: OnEvent,
        silence: float = SILENCE_SECONDS,
        late_reason: str = "",
    ) -> None:
        super().__init__(name=f"watch {resource}", daemon=True)
        self.resource = resource
        """May be set to another version of the same kind; used from the next connection on."""
        self.listed = threading.Event()
        """Set after the first list, and once there can be none."""
        self.failed = ""
        """Why it ended, if nothing else can heal that."""
        self.unseen = ""
        """Why nothing of the kind may be recorded."""
        self.retired = False
        """May be set where the kind is being removed: it ends once that is no longer served."""
        self.list_revision = 0
        self.open = False
        """The watch stands right now."""
        self._api, self._sink, self._clock = api, sink, clock
        self._silence = silence
        self._record = KindRecord(sink, on_event)
        self._halt = threading.Event()
        self._late = bool(late_reason)
        self._must_list = True
        self._gap_reason = late_reason
        """Of the gap that the next list closes."""
        self._revision = clock.revision
        self._bookmarked = False
        self._failures = 0
        self._broken_at = 0.0
        self._opened_at = 0.0
        self._held_back = ""

    def stop(self) -> None:
        """End at the next event or reconnection; the thread is a daemon and needs no join."""
        self._halt.set()

    def run(self) -> None:
        """List and watch until stopped."""
        while not self._halt.is_set():
            try:
                if self._must_list:
                    self._list()
                self._watch()
            except WatchSilentError as error:
                # A watch from the last revision brings whatever this stream kept to itself, or 410.
                # An idle kind on a busy machine is silent, too: that alone is no gap.
                self._held_back = str(error)
            except WatchExpiredError as error:
                self._gap_reason, self._must_list = str(error), True
            except InfraError as error:
                if isinstance(error, ForbiddenError) and not self._opened_at:
                    self._mark_unseen(str(error))
                elif isinstance(error, NotServedError) and self.retired:
                    self._end_record()
                else:
                    # A right that was taken away may come back, too: until then the watch is down.
                    self._pause(str(error))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self._gap_reason = f"an event of {self.resource} could not be read: {error!r}"
                self._must_list = True
                self._pause(self._gap_reason)
            except OSError as error:
                self._give_up(f"the record cannot be written: {error}")
            finally:
                self.open = False
        self.listed.set()

    def _list(self) -> None:
        answer = self._api.request("GET", self.resource.path(), timeout=_LIST_SECONDS)
        if not answer.ok:
            raise refusal(self.resource, answer)
        now, body = time.time(), answer.body
        revision = int(body["metadata"]["resourceVersion"])
        if self._gap_reason:
            self._gap(self._gap_reason, now, revision)
        present: set[str] = set()
        # Items of a typed list come without kind and version.
        head = {"apiVersion": self.resource.api_version, "kind": self.resource.kind}
        for item in body.get("items") or ():
            present.add(str(item["metadata"]["uid"]))
            self._record.record(EventType.LISTED, {**head, **item}, now)
        self._record.keep_only(present, revision=revision, at=now)
        self.list_revision = self._revision = revision
        self._must_list, self._broken_at = False, 0.0
        self._clock.saw(revision)
        if not self.listed.is_set():
            self._sink.sign(Recording(at=now, resource=str(self.resource)))
            self.listed.set()

    def _watch(self) -> None:
        """Until the server ends the watch in an orderly way."""
        stream = watch_events(
            self._api, self.resource, self._revision, silence=self._silence,
            life=_LIFE_WITHOUT if self.resource.plural in _NO_BOOKMARKS else LIFE_SECONDS,
            on_open=self._opened,
        )  # fmt: skip
        for type_, obj in stream:
            self._take(type_, obj)
            if self._halt.is_set():
                return
        if not self._bookmarked:
            self._revision = max(self._revision, self._clock.delivered())

    def _opened(self) -> None:
        """The watch goes on from where it broke: no event is lost, but their times are late."""
        self.open, self._failures = True, 0
        broken_at, self._broken_at = self._broken_at, 0.0
        now = self._opened_at = time.time()
        if broken_at and now - broken_at > _TOLERATED_SECONDS:
            reason = f"the watch of {self.resource} was broken for {now - broken_at:.1f} s"
            self._gap(reason, now, self._clock.revision)

    def _take(self, type_: str, obj: dict[str, Any]) -> None:
        now, revision = time.time(), int(obj["metadata"]["resourceVersion"])
        if type_ == "BOOKMARK":
            self._bookmarked = True
        else:
            reason, self._held_back = self._held_back, ""
            # What comes at once after a silent stream was replaced had been held back by it: nothing
            # is lost, but nobody knows when it happened.
            if reason and now - self._opened_at < _HELD_BACK_SECONDS:
                self._gap(reason, now, revision)
            self._record.record(EventType(type_), obj, now)
        self._revision = max(self._revision, revision)
        self._clock.saw(revision)

    def _pause(self, reason: str) -> None:
        """Before another try, each time longer; the first list must come at last."""
        self._broken_at = self._broken_at or time.time()
        if not self.listed.is_set() and not self._late and self._failures >= _TRIES_FIRST_LIST:
            self._give_up(reason)
        self._halt.wait(_BACKOFF[min(self._failures, len(_BACKOFF) - 1)])
        self._failures += 1

    def _give_up(self, reason: str) -> None:
        self.failed = reason
        self._halt.set()

    def _mark_unseen(self, reason: str) -> None:
        kind, group, name = self.resource.kind, self.resource.group, str(self.resource)
        mark = Unseen(at=time.time(), kind=kind, group=group, resource=name, reason=reason)
        self._sink.sign(mark)
        self.unseen = reason
        self._halt.set()

    def _end_record(self) -> None:
        """The kind is no longer served; its last objects went unseen."""
        self._halt.set()
        if self._record:
            now, revision = time.time(), self._clock.revision
            self._gap(f"{self.resource} was removed together with its objects", now, revision)
            self._record.keep_only(set(), revision=revision, at=now)

    def _gap(self, reason: str, now: float, revision: int) -> None:
        self._sink.sign(
            Gap(
                at=now, reason=reason, kind=self.resource.kind, from_revision=self._revision,
                to_revision=revision,
            )
        )  # fmt: skip
        self._gap_reason = ""
