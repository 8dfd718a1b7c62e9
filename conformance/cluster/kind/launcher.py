"""Runs kind for pytest-kind, which neither keeps what kind says nor ends it with the test run.

`launcher.py LOG KIND ARGUMENT...`, standard library only. What kind says goes to LOG, its answer to
`get` and `version` to standard output. kind and its docker commands end with this process, and this
process ends with the thread that started it, a `kill -9` included."""

import functools
import os
import signal
import subprocess
import sys
from types import FrameType

from conformance.cluster.processes.owner import die_with_parent

_ANSWERS = {"get", "version"}


def main(argv: list[str]) -> int:
    """The exit code of kind; 128 and the signal's number after one."""
    log, command = argv[1], argv[2:]
    parent = os.getppid()
    running: list[subprocess.Popen[bytes]] = []

    def end(number: int, _frame: FrameType | None) -> None:
        for child in running:
            os.killpg(child.pid, signal.SIGKILL)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    die_with_parent(signal.SIGTERM, parent=parent)
    with open(log, "ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if command[1:2] and command[1] in _ANSWERS else output,
            stderr=output,
            start_new_session=True,
            # kind goes if even this process is killed.
            preexec_fn=functools.partial(die_with_parent, parent=os.getpid()),
        )
    running.append(child)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
