"""An operator on a cluster, as a process or in pods: `InstalledOperator`, `OperatorControl`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from conformance.history.records import OperatorEvent
from conformance.model.errors import InfraError
from conformance.operator.events import OperatorEvents
from conformance.operator.probes import Probe
from conformance.operator.profiles import LoadedProfile


class StartError(InfraError):
    """The operator did not become ready: it ended, or the time was up."""


class OperatorControl(Protocol):
    """Stops, kills and starts one operator."""

    def alive(self) -> bool:
        """True if it runs just now."""

    def stop(self) -> None:
        """End it in an orderly way, and wait until it is gone. Raises InfraError if it stays."""

    def kill(self) -> None:
        """End it at once, as a node failure would."""

    def start(self) -> None:
        """Start it again and wait until it is ready. Raises StartError with the reason if it does not
        get there."""

    def wait_ready(self) -> None:
        """Wait until it is ready after a start. Raises StartError with the reason."""

    def require_running(self, when: str) -> None:
        """Raise StartError with the reason if it does not run; `when` says what was being done."""

    def supervise(self) -> None:
        """From now on see to it that it is started again after an exit that nobody asked for: the exit
        is on record, and other cases need an operator."""


@dataclass(kw_only=True, eq=False)
class InstalledOperator:
    """What `install` returns: ready, probed and warm. Use as a context manager, or call `close`."""

    loaded: LoadedProfile
    control: OperatorControl
    attachable: Mapping[str, Any] | None = None
    """Plain data from which another process gets the control (`pods.attach`); None if only its owner
    has it."""
    users: Sequence[str]
    """User names under which it writes, as in the audit log."""
    log_path: Path
    """Its log: output of all its starts, growing."""
    event_log: OperatorEvents
    ending: contextlib.ExitStack
    """What closes it."""
    served: dict[str, list[str]] = field(default_factory=dict)
    """Resource → API versions that the installed CRDs serve."""
    probes: list[Probe] = field(default_factory=list)
    """What the live API showed of each declared feature."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Milestone → seconds since the installation began."""

    @property
    def events(self) -> list[OperatorEvent]:
        """What happened to it so far, in order."""
        return self.event_log.so_far

    def close(self) -> None:
        """End it for good, and remove what `install` made where that does not go with the cluster.
        Raises InfraError if something stays; what can be removed is."""
        self.ending.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
