"""Admission: how many graphs are deployed or changed at once on one control plane.

Waiting and hold windows cost nothing and overlap freely. Deploying and changing is work for operator
and platform, and is admitted as they bear it: one more graph after each that went at ease, fewer after
one that did not. Workers share the number and the places through files and locks.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock, Timeout

from conformance.driver.waiting import until
from conformance.history.load import processor_share
from conformance.history.records import Load

FIRST = 6.0
"""Graphs at once, before anything is known of the machine."""
_LEAST, _MOST = 4.0, 64.0
_FEWER = 0.8
"""By which the number is multiplied after a graph that did not go at ease."""
REACTION_AT_EASE = 2.0
"""Seconds from a request to the operator's first write about it, or twice the shortest that was seen.
An operator that limits its own rate has a longer queue than that once too many wait in it."""
SHARE_AT_EASE = 0.4
"""Of the processor time that operator and platform ask for: more at once only makes each slower."""
_LONGEST_STAY = 5.0
"""Seconds after which a graph that is not reached yet gives its place to others: few at a time take
1-2 s each, so its operator is stuck, or waits."""
_POLL = 0.1


class Admission:
    """The places of one control plane, as one case sees them."""

    def __init__(self, directory: Path) -> None:
        """`directory` is shared by all workers that use the control plane."""
        self._directory = directory
        self._pace = directory / "pace"
        self._lock = FileLock(directory / "pace.lock", thread_local=False)
        directory.mkdir(parents=True, exist_ok=True)

    def enter(self) -> Place:
        """Wait for a place."""
        place = until(self._free_place, every=_POLL)
        assert place is not None
        return place

    def places(self) -> float:
        """How many there are at present."""
        return self._learnt()[0]

    def learn(self, reaction: float, share: float) -> None:
        """Make one place more, or fewer, after a graph to which the operator reacted after so many
        seconds, with that share of the processor (0 to 1)."""
        with self._lock:
            places, shortest = self._learnt()
            shortest = min(shortest, reaction)
            soon = reaction <= max(REACTION_AT_EASE, 2 * shortest)
            places = places + 1.0 if soon and share >= SHARE_AT_EASE else places * _FEWER
            self._pace.write_text(f"{min(_MOST, max(_LEAST, places)):.2f} {shortest:.2f}")

    def _learnt(self) -> tuple[float, float]:
        """Places, and the shortest reaction in seconds."""
        try:
            places, shortest = self._pace.read_text().split()
        except (OSError, ValueError):  # nobody has written it yet, or somebody does just now
            return FIRST, math.inf
        return float(places), float(shortest)

    def _free_place(self) -> Place | None:
        for number in range(int(self.places())):
            lock = FileLock(self._directory / f"place-{number}.lock", thread_local=False)
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0)
                return Place(self, lock)
        return None


class Place:
    """One place, taken until `leave`. The kernel frees it if its worker dies."""

    def __init__(self, admission: Admission, lock: FileLock) -> None:
        self._admission = admission
        self._lock = lock
        self._since = time.time()

    def leave(self, loads: Iterable[Load] = ()) -> None:
        """Give the place to others. `loads` say how it went; a place that was left is left once."""
        if not self._lock.is_locked:
            return
        self._lock.release()
        seen = [load for load in loads if load.at > self._since]
        reacted = next((load.at for load in seen if load.here), None)
        # An operator that did nothing here says nothing.
        if reacted is not None:
            share = statistics.fmean(processor_share(load) for load in seen)
            self._admission.learn(reacted - self._since, share)

    @property
    def overdue(self) -> bool:
        """True once it was kept so long that others should have it."""
        return time.time() - self._since > _LONGEST_STAY
