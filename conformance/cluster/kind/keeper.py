"""The process that sees to the end of a kind cluster, however its owner ends.

Started by `conformance.cluster.kind.places` as a script of its own, standard library only. It holds
the lock of the cluster's directory for as long as the owner uses the cluster. When the owner ends
without a word (an exception, `kill -9`), it removes the cluster's containers and the directory -
unless the cluster is kept. If the keeper itself is killed, the next run finds the lock free.

`keeper.py FD OWNER_PID DIRECTORY CLUSTER DOCKER WORD`. Replies on the socket FD, one JSON a line:
{"ready": true} or {"busy": pid of the owner that holds the lock}. Requests, a word a line:

- `keep`: the cluster is whole and outlives its owner;
- `lose`: it does not;
- `done`: the owner removed the cluster; remove the directory and end.

WORD is what holds until the owner says something else.
"""

from __future__ import annotations

import contextlib
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

LOCK_NAME = "owner.lock"
CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""kind's label of a cluster's containers."""

AUDIT = "/var/log/dgd-conformance"
"""In the node: the directory of the audit log. A kind node with this mount is one of ours."""

QUIET_SECONDS = 3.0
"""Without a container, after which none will come: a `docker run` that was under way at the
owner's death may still make one."""

TRY_SECONDS = 120.0
"""For Docker to remove them."""


def take(directory: str, owner: int) -> tuple[int, int]:
    """(lock, 0), or (-1, pid of the holder). The file tells people who holds it."""
    lock = os.open(os.path.join(directory, LOCK_NAME), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode("ascii", "replace").strip()
        os.close(lock)
        return -1, int(holder) if holder.isdigit() else 1
    os.truncate(lock, 0)
    os.write(lock, f"{owner}\n".encode())
    return lock, 0


def remove_containers(docker: str, cluster: str, *, quiet: float = QUIET_SECONDS) -> bool:
    """Remove the containers of a cluster of ours and their volumes, until none was there for
    `quiet` seconds. False if Docker did not do so."""
    filters = ["--filter", f"label={CLUSTER_LABEL}={cluster}", "--filter", f"volume={AUDIT}"]
    deadline = time.monotonic() + TRY_SECONDS
    since = time.monotonic()
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            listed = subprocess.run(
                [docker, "ps", "-aq", *filters],
                capture_output=True, text=True, check=True, timeout=30,
            )  # fmt: skip
            containers = listed.stdout.split()
            if not containers and time.monotonic() - since >= quiet:
                return True
            if containers:
                subprocess.run(
                    [docker, "rm", "--force", "--volumes", *containers],
                    capture_output=True, check=False, timeout=60,
                )  # fmt: skip
                since = time.monotonic()
                if not quiet:
                    continue
        time.sleep(0.2)
    return False


def _serve(channel: socket.socket, owner: int, word: str) -> str:
    """The last word of the owner, once it is gone or done."""
    selector = selectors.DefaultSelector()
    selector.register(channel, selectors.EVENT_READ, "channel")
    # A forked copy of the owner may hold the socket open; the owner's pidfd cannot be held open.
    gone = False
    try:
        selector.register(os.pidfd_open(owner), selectors.EVENT_READ, "owner")
    except ProcessLookupError:
        # What it said before it went still counts.
        gone = True
    buffer = b""
    while True:
        events = {key.data for key, _ in selector.select(0 if gone else None)}
        if "channel" in events:
            data = channel.recv(4096)
            *words, buffer = (buffer + data).split(b"\n")
            word = words[-1].decode() if words else word
            if not data or word == "done":
                return word
        elif gone or "owner" in events:
            return word


def main(argv: list[str]) -> int:
    """See the top of this file."""
    channel = socket.socket(fileno=int(argv[1]))
    owner, directory, cluster, docker, word = int(argv[2]), *argv[3:7]
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    lock, holder = take(directory, owner)
    reply = {"busy": holder} if lock < 0 else {"ready": True}
    with contextlib.suppress(OSError):
        channel.sendall(json.dumps(reply).encode() + b"\n")
    if lock < 0:
        return 1
    word = _serve(channel, owner, word)
    if word == "keep":
        return 0
    # What cannot be removed is found by the next run: its directory stays, with a free lock.
    if word == "done" or remove_containers(docker, cluster):
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
