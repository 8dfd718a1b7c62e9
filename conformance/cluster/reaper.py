"""The process that owns a control plane's processes, so that none outlives the test run.

Started by `conformance.cluster.supervise` as a script of its own, standard library only. It holds
one end of a socket whose other end lives in the owner (pytest). However the owner ends - normally,
by Ctrl-C, by `kill -9` - the socket closes, and the reaper kills everything that it started and
removes the directory with the keys. If the reaper itself is killed, the kernel's parent-death
signal ends its children; the directory is then removed by the next start, which finds its lock
free.

Requests and replies are JSON, one a line:

- {"op": "spawn", "name", "argv", "env", "cwd", "log"}, answered by {"spawned": name, "pid"} or
  {"failed": name, "error"};
- {"op": "signal", "name", "signal"}, not answered;
- {"op": "stop", "order": [[name, signal, grace], ...]}: the socket closes when all is gone;
- unasked: {"exited": name, "pid", "code"}; a code below zero is the signal that ended it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOCK_NAME = "reaper.lock"

_libc = ctypes.CDLL(None, use_errno=True)
_reaper_pid = os.getpid()


def _prepare_child() -> None:
    """Runs between fork and exec: the child must die with the reaper, and hear what it does not."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != _reaper_pid:
        os.kill(os.getpid(), signal.SIGKILL)  # it died before the line above: no signal will come
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


class Reaper:
    """One control plane's processes. Single-threaded: the parent-death signal is tied to the thread
    that forked (prctl(2)), which here lives as long as the process."""

    def __init__(self, *, channel: socket.socket, directory: str, owner: int) -> None:
        self._channel = channel
        self._directory = directory
        self._owner = owner
        self._buffer = b""
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def run(self) -> None:
        """Serve until the owner says stop or is gone, then clean up."""
        order: list[tuple[str, int, float]] = []
        try:
            order = self._serve()
        finally:
            for name, number, grace in order:
                self._end(name, number=number, grace=grace)
            self._kill_all()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _serve(self) -> list[tuple[str, int, float]]:
        selector = selectors.DefaultSelector()
        selector.register(self._channel, selectors.EVENT_READ, "channel")
        # A forked copy of the owner may hold the socket open; the owner's pidfd cannot be held
        # open.
        try:
            selector.register(os.pidfd_open(self._owner), selectors.EVENT_READ, "owner")
        except ProcessLookupError:
            return []
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        stopping: list[bool] = []
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        selector.register(wake_read, selectors.EVENT_READ, "signal")
        while not stopping:
            for key, _ in selector.select():
                if key.data == "owner":
                    return []
                if key.data == "signal":
                    os.read(wake_read, 4096)
                    self._report_exits()
                    continue
                data = self._channel.recv(1 << 16)
                if not data:
                    return []
                self._buffer += data
                while b"\n" in self._buffer:
                    line, self._buffer = self._buffer.split(b"\n", 1)
                    request = json.loads(line)
                    if request["op"] == "stop":
                        return [(name, number, grace) for name, number, grace in request["order"]]
                    self._handle(request)
        return []

    def _handle(self, request: dict[str, Any]) -> None:
        if request["op"] == "spawn":
            self._spawn(request)
        elif request["op"] == "signal":
            child = self._children.get(request["name"])
            if child is not None and child.returncode is None:
                _signal_group(child.pid, request["signal"])

    def _spawn(self, request: dict[str, Any]) -> None:
        name = request["name"]
        try:
            with open(request["log"], "ab") as log:
                child = subprocess.Popen(
                    request["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=request["env"],
                    cwd=request["cwd"],
                    start_new_session=True,
                    preexec_fn=_prepare_child,
                )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self.reply({"failed": name, "error": str(error)})
            return
        self._children[name] = child
        self.reply({"spawned": name, "pid": child.pid})

    def _report_exits(self) -> None:
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[name]
                # What the program started must not outlive it either.
                _signal_group(child.pid, signal.SIGKILL)
                self.reply({"exited": name, "pid": child.pid, "code": child.returncode})
        own = {child.pid for child in self._children.values()}
        for pid in _children_of_self():
            if pid not in own:
                _reap(pid)

    def reply(self, message: dict[str, Any]) -> None:
        """Send a line to the owner."""
        # If the owner is gone, the next look at the channel ends the loop.
        with contextlib.suppress(OSError):
            self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _end(self, name: str, *, number: int, grace: float) -> None:
        child = self._children.get(name)
        if child is None or child.poll() is not None:
            return
        _signal_group(child.pid, number)
        try:
            child.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            _signal_group(child.pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Children first, then whatever they left behind: orphans come to the subreaper, which
        kills until it has no child."""
        for child in self._children.values():
            _signal_group(child.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            for pid in _children_of_self():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                _reap(pid)
            time.sleep(0.005)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _children_of_self() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as handle:
            return [int(pid) for pid in handle.read().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return []


def main(argv: list[str]) -> int:
    """`reaper.py FD PREFIX OWNER_PID`: serve the socket FD for the process OWNER_PID, over a new
    private directory whose path begins with PREFIX."""
    channel = socket.socket(fileno=int(argv[1]))
    prefix, owner = argv[2], int(argv[3])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    # Made here and not by the owner: there is no checkpoint at which it exists and nobody removes it.
    directory = f"{prefix}{os.urandom(6).hex()}"
    os.mkdir(directory, 0o700)
    lock = os.open(os.path.join(directory, LOCK_NAME), os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    reaper = Reaper(channel=channel, directory=directory, owner=owner)
    reaper.reply({"ready": directory})
    reaper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
