"""Directories that reapers lock: where a cluster's own is made, and how abandoned ones are found."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from conformance.cluster.processes.owner import LOCK_NAME

PREFIX = "dgd-conformance-cluster-"

MEMORY = Path("/dev/shm")

MEMORY_NEEDED = 2 << 30
"""Free bytes; a run of an hour was seen to need a tenth of them."""

YOUNG_SECONDS = 60.0
"""A directory without a lock is one whose reaper is just starting, or crashed before."""


def prefix() -> Path:
    """With what a new cluster's path begins: in memory if there is room, since etcd and the audit log
    then cost no disk access."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED and os.access(MEMORY, os.W_OK):
            return MEMORY / PREFIX
    return Path(tempfile.gettempdir(), PREFIX)


def sweep() -> list[Path]:
    """Remove directories whose reaper was killed together with its owner, and return them."""
    removed = []
    for parent in {MEMORY, Path(tempfile.gettempdir())}:
        for directory in parent.glob(f"{PREFIX}*"):
            with unused(directory) as abandoned:
                if abandoned:
                    shutil.rmtree(directory, ignore_errors=True)
                    removed.append(directory)
    return removed


@contextlib.contextmanager
def unused(directory: Path) -> Iterator[bool]:
    """Whether nobody uses the directory; nobody begins to while the block runs. A reaper locks its
    directory for as long as it lives."""
    try:
        descriptor = os.open(directory / LOCK_NAME, os.O_RDWR)
    except FileNotFoundError:
        yield not directory.exists() or time.time() - directory.stat().st_mtime > YOUNG_SECONDS
        return
    except OSError:
        yield False  # another user's
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
