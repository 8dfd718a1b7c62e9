"""A reaper as its owner sees it: `ReaperProcess`, and how scripts without site-packages are run."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import conformance
from conformance.model.errors import InfraError

REPLY_SECONDS = 15.0
"""A reaper answers in 0.1 s; this long means that it is gone or the machine hangs."""

_RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); del sys.argv[:2]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def script_command(path: str) -> list[str]:
    """The command that runs a script of this package, to which its arguments are added."""
    # -I -S: neither site-packages nor the environment may slow it down or change what it is.
    root = Path(conformance.__file__).parents[1]
    return [sys.executable, "-I", "-S", "-c", _RUN, str(root), path]


class ReaperProcess:
    """A script that cleans up when this process ends, however it does."""

    def __init__(self, script: str, *arguments: str, failure: str) -> None:
        """Start it with a socket, this process' id and `arguments`. Raises InfraError, which begins
        with `failure`, if it does not answer."""
        self.channel, theirs = socket.socketpair()
        nothing = subprocess.DEVNULL
        with theirs:
            given = [str(theirs.fileno()), str(os.getpid()), *arguments]
            self.process = subprocess.Popen(
                [*script_command(script), *given], pass_fds=[theirs.fileno()], cwd="/",
                start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing,
            )  # fmt: skip
        try:
            self.channel.settimeout(REPLY_SECONDS)
            # One short line, sent at once: it does not come in pieces.
            self.greeting: dict[str, Any] = json.loads(self.channel.recv(4096))
            self.channel.settimeout(None)
        except BaseException as error:
            self.close(REPLY_SECONDS)
            if not isinstance(error, (OSError, ValueError)):
                raise
            raise InfraError(f"{failure} within {REPLY_SECONDS:.0f} s") from error

    def tell(self, line: str) -> None:
        """Send it a line. Raises OSError if it is gone."""
        self.channel.sendall(f"{line}\n".encode())

    def close(self, timeout: float) -> None:
        """Hang up, and wait until it has cleaned up; after `timeout` seconds it is killed."""
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_WR)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.channel.close()
