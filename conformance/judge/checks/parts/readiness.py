"""Pods of each service through a window: how many were ready, and which of them were lost.
Part of `availability`."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.records import Event, EventType, Step
from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.lineage import Place
from conformance.model.kinds import takes_requests
from conformance.model.state import Obj


@dataclass(frozen=True, slots=True, kw_only=True)
class Dip:
    """A stretch with fewer ready pods than `floor`. Times are epoch seconds."""

    start: float
    end: float
    lowest: int

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(slots=True)
class Watched:
    """One service through the window of a checkpoint. `counts` are (time, ready routable pods)."""

    place: Place
    base: int
    """The revision just before the change."""
    baseline: dict[str, Obj] = field(default_factory=dict)
    """uid → pod, as they were at `base`."""
    counts: list[tuple[float, int]] = field(default_factory=list)
    lost: list[Event] = field(default_factory=list)
    """Events by which a pod of the baseline was deleted or stopped being ready."""
    _ready: set[str] = field(default_factory=set)

    def begin(self, at: float) -> None:
        """Count what is ready in the baseline."""
        pods = self.baseline.values()
        self._ready = {pod.uid for pod in pods if pod.ready and takes_requests(pod)}
        self.counts.append((at, len(self._ready)))

    def follow(self, event: Event) -> None:
        """Take in what happened to one of the service's pods."""
        pod = event.obj
        here = event.type is not EventType.DELETED and pod.ready
        before = len(self._ready)
        if here and takes_requests(pod):
            self._ready.add(pod.uid)
        else:
            self._ready.discard(pod.uid)
        if len(self._ready) != before:
            self.counts.append((event.at, len(self._ready)))
        first = self.baseline.get(pod.uid)
        known = any(lost.obj.uid == pod.uid for lost in self.lost)
        if first is not None and first.ready and not here and not known:
            self.lost.append(event)

    def dips(self, floor: int, end: float) -> list[Dip]:
        """Where fewer than `floor` pods were ready."""
        found: list[Dip] = []
        since: float | None = None
        lowest = 0
        for at, count in [*self.counts, (end, floor)]:
            if count < floor:
                lowest = count if since is None else min(lowest, count)
                since = at if since is None else since
            elif since is not None:
                found.append(Dip(start=since, end=at, lowest=lowest))
                since = None
        return found

    @property
    def ready(self) -> int:
        """Ready routable pods at the end."""
        return self.counts[-1][1]


def watch(case: Case, window: Window, first: Step, point: CasePoint) -> dict[Place, Watched]:
    """Every service that had pods before the step `first`, followed up to the checkpoint."""
    base = max(window.after_revision, first.revision_before)
    watched: dict[Place, Watched] = {}
    for pod in case.history.at(base).of_kind("Pod"):
        place = case.place_of(pod)
        if place is not None:
            row = watched.setdefault(place, Watched(place=place, base=base))
            row.baseline[pod.uid] = pod
    for row in watched.values():
        row.begin(window.start)
    for event in case.history.events:
        late = event.revision > point.checkpoint.revision or event.at > point.at
        if event.obj.kind != "Pod" or event.revision <= base or late:
            continue
        place = case.place_of(event.obj)
        if place in watched:
            watched[place].follow(event)
    return watched
