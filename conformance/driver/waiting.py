"""Polling, and the line that says meanwhile what is awaited."""

import contextlib
import math
import operator
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

# Nobody reads faster than this.
_SECONDS = 2.0
_T = TypeVar("_T")


def until(look: Callable[[], _T], *, every: float, within: float = math.inf) -> _T:
    """Look `every` so many seconds until the answer is true, and return it; the last one, None or
    False, if none was `within` so many seconds. What `look` raises is raised."""
    looks = Retrying(
        retry=retry_if_result(operator.not_),
        wait=wait_fixed(every),
        stop=stop_after_delay(within),
        retry_error_callback=lambda state: state.outcome and state.outcome.result(),
    )
    return looks(look)


@dataclass(slots=True)
class WaitLine:
    """The present wait of one worker, in a file that the run's controller shows."""

    path: Path | None
    case: str = ""
    _last: float = 0.0

    def show(self, what: Callable[[], str], *, elapsed: float, bound: float) -> None:
        """Note what is awaited, for how long already and of which bound (seconds). `what` is asked
        only when a line is due, since describing a state costs more than looking at it."""
        now = time.monotonic()
        if self.path is None or now - self._last < _SECONDS:
            return
        self._last = now
        # A lost line must never fail a case.
        with contextlib.suppress(OSError):
            self.path.write_text(f"{self.case}: {what()}, {elapsed:.1f} s of {bound:.0f} s\n")

    def clear(self) -> None:
        """Nothing is awaited any more."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
