"""A queue of keys in which a key waits at most once and is never worked on twice at a time."""

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS = 0.05
LONGEST_RETRY_SECONDS = 30.0


class WorkQueue(Generic[K]):
    """Deduplicating queue with delayed and rate-limited additions.

    A key added while it is being worked on is handed out again once that work is done: the
    worker may have read the state before the change that caused the addition.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._working: set[K] = set()
        self._delayed: list[tuple[float, int, K]] = []
        self._order = itertools.count()
        self._failures: dict[K, int] = {}
        self._closed = False

    def add(self, key: K) -> None:
        with self._condition:
            self._add(key)

    def add_after(self, key: K, seconds: float) -> None:
        with self._condition:
            heapq.heappush(self._delayed, (time.monotonic() + seconds, next(self._order), key))
            self._condition.notify()

    def retry(self, key: K) -> float:
        """Add the key again after a wait that doubles with each failure; returns the seconds."""
        with self._condition:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        wait = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(failures, 20))
        self.add_after(key, wait)
        return wait

    def forget(self, key: K) -> None:
        """The key's work succeeded: its next failure waits the shortest time again."""
        with self._condition:
            self._failures.pop(key, None)

    def get(self) -> K | None:
        """The next key, as soon as there is one; None once the queue is closed."""
        with self._condition:
            while not self._closed:
                self._promote()
                if self._ready:
                    key = self._ready.popleft()
                    self._dirty.discard(key)
                    self._working.add(key)
                    return key
                wait = self._delayed[0][0] - time.monotonic() if self._delayed else None
                self._condition.wait(wait)
            return None

    def done(self, key: K) -> None:
        with self._condition:
            self._working.discard(key)
            if key in self._dirty:
                self._ready.append(key)
                self._condition.notify()

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _add(self, key: K) -> None:
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._working:
            self._ready.append(key)
            self._condition.notify()

    def _promote(self) -> None:
        now = time.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            self._add(heapq.heappop(self._delayed)[2])
