"""What a case waits for just now, for the person who watches the run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Nobody reads faster than this.
_SECONDS = 2.0


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
