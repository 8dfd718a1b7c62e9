"""What counts as a crash in an operator's log: the one definition for its owner, recorder and judge.

A Go panic, a fatal error of the Go runtime, a fatal signal, and a panic that controller-runtime
recovered from are crashes wherever they stand. A Python traceback is one only if the program ended
with it: programs log the tracebacks of errors that they handled, too, and go on.
"""

import re

# The Go runtime writes the first three at the start of a line; controller-runtime logs the last when
# it recovers from a panic of a reconciler, which then goes on as if nothing had happened.
_CRASH = re.compile(r"^(?:panic: |fatal error: |\[signal SIG)|Observed a panic")
_SIGNAL = "[signal SIG"
_TRACEBACK = "Traceback (most recent call last)"
# A log line of its own after a traceback: RFC 3339 or Python's time stamp, JSON, or klog's header.
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\{|[IWEF]\d{4} \d\d:\d\d:\d\d")


def is_crash(line: str) -> bool:
    """True if the line alone shows a crash. No traceback does: see `CrashScanner`."""
    return _CRASH.search(line) is not None


class CrashScanner:
    """Reads a log line by line, and tells each crash once."""

    def __init__(self) -> None:
        self._crashed = False
        self._traceback = ""

    def read(self, line: str) -> bool:
        """Take the next line; True if a crash begins with it."""
        # "panic: ..." is followed by "[signal SIGSEGV: ..." if a signal was its cause.
        goes_on = self._crashed and line.startswith(_SIGNAL)
        self._crashed = is_crash(line)
        if line.startswith(_TRACEBACK):
            self._traceback = line
        elif _LOG_LINE.match(line):
            self._traceback = ""
        return self._crashed and not goes_on

    def ended(self) -> str:
        """The program ended by itself. The first line of the traceback that it ended with, empty if
        it logged anything after the last one."""
        traceback, self._traceback = self._traceback, ""
        return traceback
