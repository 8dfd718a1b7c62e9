"""Is a process still there? For tests of what must not be left running."""

import time
from pathlib import Path


def alive(pid: int) -> bool:
    """False also for one that only waits to be collected. It may go between open and read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_gone(pid: int, seconds: float = 10) -> None:
    """Fails if it still lives after so many seconds."""
    end = time.monotonic() + seconds
    while alive(pid):
        assert time.monotonic() < end, f"process {pid} still lives"
        time.sleep(0.02)
