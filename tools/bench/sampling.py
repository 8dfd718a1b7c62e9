"""Runs a command, and samples the wall time, processor time by program, and memory of its processes."""

import re
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

SAMPLE_SECONDS = 0.5
_NAMES = (
    (r"conformance\.record", "recorder"),
    (r"-m reference\b", "operator"),
    (r"-u -c import sys;exec\(eval", "workers"),
    (r"-m pytest", "controller"),
    (r"processes/reaper|cluster/reaper", "reaper"),
)


@dataclass(kw_only=True)
class Usage:
    """What one run used. Times are seconds, memory is MiB of resident pages, shared ones counted in
    each process."""

    exit_code: int = 0
    wall: float = 0.0
    processor: float = 0.0
    memory: float = 0.0
    """At its peak."""
    by_program: dict[str, float] = field(default_factory=dict)
    """Seconds of processor time."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def run(command: Sequence[str], *, cwd: Path, log: Path, env: Mapping[str, str]) -> Usage:
    """Run a command to its end; its output goes to `log`."""
    began = time.monotonic()
    used: dict[int, tuple[str, float]] = {}
    peak = 0.0
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        # A part of the control plane is a child of the reaper, and that one of the run's own session.
        family = {process.pid}
        while process.poll() is None:
            peak = max(peak, _look(family, used))
            time.sleep(SAMPLE_SECONDS)
    programs: Counter[str] = Counter()
    for name, seconds in used.values():
        programs[name] += seconds
    return Usage(
        exit_code=process.returncode, wall=round(time.monotonic() - began, 2), memory=round(peak, 1),
        processor=round(programs.total(), 2),
        by_program={name: round(seconds, 2) for name, seconds in programs.most_common()},
    )  # fmt: skip


def _look(family: set[int], used: dict[int, tuple[str, float]]) -> float:
    """Take all living members of the family in, new children too; returns their memory in MiB."""
    living: dict[int, psutil.Process] = {}
    children: dict[int, set[int]] = defaultdict(set)
    for process in psutil.process_iter(["ppid"]):
        living[process.pid] = process
        children[process.info["ppid"]].add(process.pid)
    queue = [pid for pid in family if pid in children or pid in living]
    while queue:
        for child in children[queue.pop()] - family:
            family.add(child)
            queue.append(child)
    memory = 0.0
    for pid in family & living.keys():
        try:
            with living[pid].oneshot():
                times = living[pid].cpu_times()
                used[pid] = program(living[pid].cmdline()), times.user + times.system
                memory += living[pid].memory_info().rss / 2**20
        except psutil.Error:  # it has ended
            continue
    return memory


def program(argv: Sequence[str]) -> str:
    """The program that a command line is of."""
    line = " ".join(argv)
    for pattern, name in _NAMES:
        if re.search(pattern, line):
            return name
    return Path(argv[0]).name if argv else "ended"
