"""How far the record of a whole control plane has come."""

from __future__ import annotations

import threading
import time
from collections import deque

_DELIVERED_SECONDS = 30.0


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
