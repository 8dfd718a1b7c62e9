"""What reapers need, which start without site-packages: standard library only."""

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LOCK_NAME = "reaper.lock"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int = signal.SIGKILL, *, parent: int = 0) -> None:
    """Have the kernel send this process a signal when the thread that forked it ends (prctl(2)).
    `parent`: the process id of that thread's process, which may be gone already."""
    _libc.prctl(_PR_SET_PDEATHSIG, number)
    if parent and os.getppid() != parent:
        os.kill(os.getpid(), number)  # it died before the line above: no signal will come


def adopt_orphans() -> None:
    """Become the parent of whatever the children leave behind."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children() -> set[int]:
    """Processes that this one started or adopted and did not yet see the end of; none where nobody
    says (a kernel without CONFIG_PROC_CHILDREN)."""
    found: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in path.read_text(encoding="ascii").split()}
    return found


def ignore_signals() -> None:
    """Ignore what a terminal sends to everybody: the owner decides what it means."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


def lock(directory: str, owner: int) -> int:
    """Lock a directory until this process ends, and note the owner in it for people. Returns 0, or the
    process id of the owner that has it."""
    file = os.open(os.path.join(directory, LOCK_NAME), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(file, 32).decode("ascii", "replace").strip()
        os.close(file)
        return int(holder) if holder.isdigit() else 1
    os.truncate(file, 0)
    os.write(file, f"{owner}\n".encode())
    return 0


class Owner:
    """The process that a reaper belongs to, at the other end of a socket."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.pid = pid
        self._channel = channel
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ, "channel")
        self._gone = False
        # A forked copy of the owner may hold the socket open; the owner's pidfd cannot be held open.
        try:
            self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, "owner")
        except ProcessLookupError:
            self._gone = True

    def lines(
        self, watched: int | None = None, woken: Callable[[], None] = lambda: None
    ) -> Iterator[bytes]:
        """What the owner says, until it hangs up or is gone; what it said before still counts.
        `woken` is called when the file descriptor `watched` can be read."""
        if watched is not None:
            self._selector.register(watched, selectors.EVENT_READ, "watched")
        rest = b""
        while True:
            events = {key.data for key, _ in self._selector.select(0 if self._gone else None)}
            if "watched" in events:
                woken()
            if "channel" in events:
                data = b""
                with contextlib.suppress(OSError):
                    data = self._channel.recv(1 << 16)
                *lines, rest = (rest + data).split(b"\n")
                yield from lines
                if not data:
                    return
            elif self._gone or "owner" in events:
                return

    def tell(self, message: dict[str, Any]) -> None:
        """Send a line. If the owner is gone, `lines` ends."""
        with contextlib.suppress(OSError):
            self._channel.sendall(json.dumps(message).encode() + b"\n")
