"""One line that says what is being prepared and for how long, for a person and for a log."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

TTY_SECONDS = 0.5
"""Between two changes of the line on a terminal."""
LOG_SECONDS = 15.0
"""Between two lines elsewhere: CI systems end jobs that are silent for minutes."""


class Progress:
    """Reports steps on a stream; on a terminal in one line that updates."""

    def __init__(self, stream: TextIO | None = None, *, log_seconds: float = LOG_SECONDS) -> None:
        """`stream` None: standard error."""
        self._stream = sys.stderr if stream is None else stream
        self._tty = self._stream.isatty()
        self._log_seconds = log_seconds
        self._width = 0

    def say(self, text: str) -> None:
        """A line that stays."""
        clear = "\r" + " " * self._width + "\r" if self._width else ""
        self._write(f"{clear}{text}\n", width=0)

    @contextlib.contextmanager
    def step(self, what: str, *, detail: Callable[[], str] = str) -> Iterator[None]:
        """Report `what` with its elapsed time until the block ends. `detail`: what it is at now."""
        began = time.monotonic()
        ended = threading.Event()

        def line() -> str:
            note = detail()
            return f"{what}, {int(time.monotonic() - began)} s" + (f" ({note})" if note else "")

        def report() -> None:
            interval = TTY_SECONDS if self._tty else self._log_seconds
            while not ended.wait(interval):
                self._update(line()) if self._tty else self.say(line())

        if not self._tty:
            self.say(what)
        thread = threading.Thread(target=report, name="progress", daemon=True)
        thread.start()
        outcome = "interrupted"
        try:
            yield
            outcome = "done"
        except Exception:
            outcome = "failed"
            raise
        finally:
            ended.set()
            thread.join()
            self.say(f"{what}: {outcome} after {int(time.monotonic() - began)} s")

    def _update(self, text: str) -> None:
        shown = text[:150]
        self._write("\r" + shown.ljust(self._width), width=len(shown))

    def _write(self, text: str, *, width: int) -> None:
        """`width`: of the line that is on the terminal then, and may change."""
        self._stream.write(text)
        self._stream.flush()
        self._width = width
