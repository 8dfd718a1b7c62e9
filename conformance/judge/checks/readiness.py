"""Pods of each service through a window: how many were ready, and which of them were lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.history import History
from conformance.history.records import Checkpoint, Event, EventType, Step
from conformance.judge.checks.family import Place, family_of, foreign_uids
from conformance.judge.checks.windows import Window
from conformance.model.kinds import LWS_WORKER_INDEX_LABEL
from conformance.model.state import Obj


@dataclass(frozen=True, slots=True, kw_only=True)
class Dip:
    """A stretch with fewer ready pods than `floor`. Times are epoch seconds."""

    start: float
    end: float
    lowest: int


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


def watch(
    history: History, within: Window, first: Step, checkpoint: Checkpoint
) -> dict[Place, Watched]:
    """Every service that had pods before the step `first`, followed up to the checkpoint."""
    family = family_of(history)
    strangers = foreign_uids(history)

    def place_of(pod: Obj) -> Place | None:
        ours = pod.namespace == history.namespace and pod.uid not in strangers
        return family.place(pod.uid) if ours else None

    base = max(within.after_revision, first.revision_before)
    state = history.at(base)
    watched: dict[Place, Watched] = {}
    ready: dict[Place, set[str]] = {}
    for pod in state.of_kind("Pod"):
        place = place_of(pod)
        if place is not None:
            row = watched.setdefault(place, Watched(place=place, base=base))
            row.baseline[pod.uid] = pod
            ready.setdefault(place, set())
            if pod.ready and _routable(pod):
                ready[place].add(pod.uid)
    for place, row in watched.items():
        row.counts.append((within.start, len(ready[place])))
    for event in history.events:
        if (
            event.revision <= base
            or event.revision > checkpoint.revision
            or event.at > checkpoint.at
        ):
            continue
        pod = event.obj
        place = place_of(pod) if pod.kind == "Pod" else None
        if place is None or place not in watched:
            continue
        _follow(watched[place], ready[place], event)
    return watched


def _follow(row: Watched, ready: set[str], event: Event) -> None:
    pod = event.obj
    here = event.type is not EventType.DELETED
    before = len(ready)
    if here and pod.ready and _routable(pod):
        ready.add(pod.uid)
    else:
        ready.discard(pod.uid)
    if len(ready) != before:
        row.counts.append((event.at, len(ready)))
    first = row.baseline.get(pod.uid)
    if first is None or not first.ready or any(e.obj.uid == pod.uid for e in row.lost):
        return
    if not here or not pod.ready:
        row.lost.append(event)


def _routable(pod: Obj) -> bool:
    """Single-node pods, and the leaders of groups: what a component Service sends requests to."""
    return pod.labels.get(LWS_WORKER_INDEX_LABEL, "0") == "0"
