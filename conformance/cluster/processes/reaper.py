"""The process that owns a control plane's processes, so that none outlives the test run.

A script of its own, standard library only. However its owner (pytest) ends - normally, by Ctrl-C, by
`kill -9` - it kills everything that it started and removes the directory with the keys. If the reaper
itself is killed, the kernel's parent-death signal ends its children; the next start then finds the
directory's lock free and removes the directory.

`reaper.py FD OWNER_PID PREFIX` makes a private directory whose path begins with PREFIX and replies
{"ready": directory}. Requests and replies are JSON, one a line:

- {"op": "spawn", "name", "argv", "env", "cwd", "log"}, answered by {"spawned": name, "pid"} or
  {"failed": name, "error"};
- {"op": "signal", "name", "signal"}, not answered;
- {"op": "stop", "order": [[name, signal, grace], ...]}: the socket closes when all is gone;
- unasked: {"exited": name, "pid", "code"}; a code below zero is the signal that ended it.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from conformance.cluster.processes import owner as owners
from conformance.cluster.processes.owner import Owner

_KILL_SECONDS = 10.0


def _prepare_child(reaper: int) -> None:
    """Runs between fork and exec: the child must die with the reaper, and hear what it does not."""
    owners.die_with_parent(parent=reaper)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


class Reaper:
    """One control plane's processes. Single-threaded: the parent-death signal is tied to the thread
    that forked (prctl(2)), which here lives as long as the process."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def run(self) -> None:
        """Serve until the owner says stop or is gone, then end all processes."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, _terminate)

        def woken() -> None:
            os.read(wake_read, 4096)
            self._report_exits()

        try:
            for line in self._owner.lines(wake_read, woken):
                request = json.loads(line)
                if request["op"] == "stop":
                    for step in request["order"]:
                        self._end(*step)
                    break
                if request["op"] == "spawn":
                    self._spawn(request)
                elif (child := self._children.get(request["name"])) is not None:
                    _signal_group(child.pid, request["signal"])
        finally:
            self._kill_all()

    def _spawn(self, request: dict[str, Any]) -> None:
        name = request["name"]
        try:
            with open(request["log"], "ab") as log:
                child = subprocess.Popen(
                    request["argv"], env=request["env"], cwd=request["cwd"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=functools.partial(_prepare_child, os.getpid()),
                )  # fmt: skip
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self._owner.tell({"failed": name, "error": str(error)})
            return
        self._children[name] = child
        self._owner.tell({"spawned": name, "pid": child.pid})

    def _report_exits(self) -> None:
        for name, child in list(self._children.items()):
            if child.poll() is not None:
                del self._children[name]
                # What the program started must not outlive it either.
                _signal_group(child.pid, signal.SIGKILL)
                self._owner.tell({"exited": name, "pid": child.pid, "code": child.returncode})
        for pid in owners.children() - {child.pid for child in self._children.values()}:
            _collect(pid)

    def _end(self, name: str, number: int, grace: float) -> None:
        child = self._children.get(name)
        if child is None or child.poll() is not None:
            return
        _signal_group(child.pid, number)
        try:
            child.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            _signal_group(child.pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Children first; what they left behind comes to the subreaper, which kills it as it comes."""
        for child in self._children.values():
            _signal_group(child.pid, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < deadline:
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            for pid in owners.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                _collect(pid)
            time.sleep(0.005)


def _terminate(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()  # by way of all `finally`


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _collect(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def main(argv: list[str]) -> int:
    """See the top of this file."""
    owners.ignore_signals()
    owners.adopt_orphans()
    owner = Owner(socket.socket(fileno=int(argv[1])), int(argv[2]))
    # Made here and not by the owner: at no time does it exist without somebody who removes it.
    directory = f"{argv[3]}{os.urandom(6).hex()}"
    os.mkdir(directory, 0o700)
    owners.lock(directory, owner.pid)
    owner.tell({"ready": directory})
    try:
        Reaper(owner).run()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
