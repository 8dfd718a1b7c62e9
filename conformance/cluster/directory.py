"""The directory of one cluster: where it is made, and how one that lost its reaper is found again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from conformance.cluster.reaper import LOCK_NAME

PREFIX = "dgd-conformance-cluster-"

MEMORY = Path("/dev/shm")

MEMORY_NEEDED = 2 << 30
"""Free bytes of /dev/shm below which the ordinary temporary directory is taken. A run of an hour
was seen to need a tenth of it."""


def prefix() -> Path:
    """With what a new cluster's path begins: in memory if there is room, since etcd and the audit log
    then cost no disk access."""
    return _parent() / PREFIX


def sweep() -> list[Path]:
    """Remove directories of clusters whose reaper was killed together with its owner, and return
    them. A reaper locks its directory for as long as it lives, so a lock that can be had has no
    owner."""
    removed = []
    for parent in {MEMORY, Path(tempfile.gettempdir())}:
        for directory in parent.glob(f"{PREFIX}*"):
            try:
                descriptor = os.open(directory / LOCK_NAME, os.O_RDWR)
            except OSError:
                continue  # another user's, or one whose reaper is just starting
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
                removed.append(directory)
            except BlockingIOError:
                pass
            finally:
                os.close(descriptor)
    return removed


def _parent() -> Path:
    with contextlib.suppress(OSError):
        state = os.statvfs(MEMORY)
        if state.f_bavail * state.f_frsize >= MEMORY_NEEDED and os.access(MEMORY, os.W_OK):
            return MEMORY
    return Path(tempfile.gettempdir())
