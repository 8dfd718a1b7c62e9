"""What operator and control plane got of the processors they asked for, from Linux' /proc.

The kernel counts for each thread how long it ran and how long it was ready to run and waited
(Documentation/scheduler/sched-stats.rst: `/proc/<pid>/task/<tid>/schedstat`, in nanoseconds).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

_PROC = Path("/proc")
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What can be measured: process ids of the operator and of the programs below it, as far as they
    run on this machine, and the users under which it writes."""

    operator: tuple[int, ...] = ()
    platform: tuple[int, ...] = ()
    users: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """Namespaces of the operator's own: what it writes there is no work for anybody's graph."""

    @staticmethod
    def file(directory: Path) -> Path:
        """Where the owner of the cluster notes them beside its record."""
        return directory / "measured"

    def write(self, directory: Path) -> None:
        """Atomically. Raises OSError."""
        temporary = directory / ".measured"
        temporary.write_bytes(_MEASURED.dump_json(self))
        temporary.replace(self.file(directory))

    @classmethod
    def read(cls, directory: Path) -> Measured:
        """Those that were noted; none before that."""
        try:
            return _MEASURED.validate_json(cls.file(directory).read_bytes())
        except (OSError, ValueError):
            return cls()


_MEASURED = TypeAdapter(Measured)


@dataclass(frozen=True, slots=True)
class _Used:
    """Seconds that the threads of a process ran, and that they waited for a processor."""

    ran: float = 0.0
    waited: float = 0.0


@dataclass(slots=True)
class Meter:
    """Compares what each process used with what it asked for, from one look to the next."""

    proc: Path = _PROC
    _threads: dict[tuple[int, str], _Used] = field(default_factory=dict)
    _looked_at: float | None = None

    def look(self, measured: Measured) -> tuple[float, float]:
        """The shares that operator and platform got since the last look, from 0 to 1; 1 for what asked
        for nothing, or is not known."""
        now = time.monotonic()
        seconds = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        known, self._threads = self._threads, {}
        operator = [self._used(pid, known) for pid in measured.operator]
        platform = [self._used(pid, known) for pid in measured.platform]
        return _least(operator, seconds), _least(platform, seconds)

    def _used(self, pid: int, known: Mapping[tuple[int, str], _Used]) -> _Used:
        """What one process used since the last look; nothing if it was not known then."""
        ran = waited = 0.0
        for thread in _threads(self.proc / str(pid) / "task"):
            total = _read(thread)
            if total is None:
                continue
            self._threads[pid, thread.name] = total
            before = known.get((pid, thread.name))
            if before is not None:
                ran += total.ran - before.ran
                waited += total.waited - before.waited
        return _Used(ran, waited)


def _least(used: Iterable[_Used], seconds: float) -> float:
    return min((got(one.ran, one.waited, seconds) for one in used), default=1.0)


def got(ran: float, waited: float, seconds: float) -> float:
    """The share of a stretch of so many seconds of which waiting took nothing. A process that asks for
    little loses no more than it waited; one that asks for all goes on as much slower as its share is
    smaller."""
    if not waited or not seconds:
        return 1.0
    return max(1.0 - waited / seconds, ran / (ran + waited))


def _threads(tasks: Path) -> list[Path]:
    try:
        return list(tasks.iterdir())
    except OSError:  # it has ended
        return []


def _read(thread: Path) -> _Used | None:
    try:
        ran, waited, _ = (thread / "schedstat").read_text().split()
    except (OSError, ValueError):
        return None
    return _Used(int(ran) / _NANOSECONDS, int(waited) / _NANOSECONDS)
