"""The process that sees to the end of a kind cluster, however its owner ends.

A script, standard library only. It holds the lock of the cluster's directory for as long as the owner
uses the cluster. When the owner ends, it removes the cluster's containers and the directory, unless the
cluster is kept. If the reaper itself is killed, the next run finds the lock free.

`reaper.py FD OWNER_PID DIRECTORY CLUSTER DOCKER WORD`. It replies on the socket FD, in JSON:
{"ready": true} or {"busy": pid of the owner that holds the lock}. The owner says, a word a line,
whether the cluster outlives it: `keep` or `lose`. WORD holds until then.
"""

import contextlib
import shutil
import socket
import subprocess
import sys
import time

from conformance.cluster.processes import owner as owners
from conformance.cluster.processes.owner import Owner

CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""kind's label of a cluster's containers."""
AUDIT = "/var/log/dgd-conformance"
"""In the node: the directory of the audit log. A kind node with this mount is one of ours."""
QUIET_SECONDS = 3.0
"""Without a container, after which none will come: a `docker run` that was under way at the
owner's death may still make one."""
TRY_SECONDS = 120.0
"""For Docker to remove them."""


def remove_containers(docker: str, cluster: str, *, quiet: float = QUIET_SECONDS) -> bool:
    """Remove the containers of a cluster of ours and their volumes, until none was there for
    `quiet` seconds. False if Docker did not do so."""
    filters = ["--filter", f"label={CLUSTER_LABEL}={cluster}", "--filter", f"volume={AUDIT}"]
    since = time.monotonic()
    deadline = since + TRY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            listed = subprocess.run(
                [docker, "ps", "-aq", *filters], capture_output=True, check=True, timeout=30
            )
            containers = listed.stdout.decode().split()
            if containers:
                remove = [docker, "rm", "--force", "--volumes", *containers]
                subprocess.run(remove, capture_output=True, check=False, timeout=60)
                since = time.monotonic()
            elif time.monotonic() - since >= quiet:
                return True
        time.sleep(0.2)
    return False


def last_word(owner: Owner, word: str) -> str:
    """What the owner said last, once it is gone; `word` if it said nothing."""
    for line in owner.lines():
        word = line.decode()
    return word


def main(argv: list[str]) -> int:
    """See the top of this file."""
    owners.ignore_signals()
    owner = Owner(socket.socket(fileno=int(argv[1])), int(argv[2]))
    directory, cluster, docker, word = argv[3:7]
    holder = owners.lock(directory, owner.pid)
    owner.tell({"busy": holder} if holder else {"ready": True})
    if holder:
        return 1
    # What cannot be removed is found by the next run: its directory stays, with a free lock.
    if last_word(owner, word) == "lose" and remove_containers(docker, cluster):
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
