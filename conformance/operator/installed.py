"""An installed operator as a run sees it, process or pods: `InstalledOperator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from conformance.operator.probes import Probe


class InstalledOperator(Protocol):
    """Installed, ready and probed. `close` removes what has to be removed."""

    facts: dict[str, Any]
    """How it was installed. Plain data."""
    served: dict[str, list[str]]
    """Resource → API versions that the installed CRDs serve."""
    probes: list[Probe]
    seconds: dict[str, float]
    """Milestone → seconds since the installation began."""

    @property
    def users(self) -> Sequence[str]:
        """User names under which it writes, as in the audit log."""

    @property
    def log_path(self) -> Path:
        """Its log: output of all its starts, growing."""

    @property
    def control(self) -> Mapping[str, Any] | None:
        """Plain data from which another process gets the power to stop and start it; None if only
        its owner has that."""

    def alive(self) -> bool:
        """True if it runs just now."""

    def stop(self) -> None:
        """End it in an orderly way, and wait until it is gone."""

    def kill(self) -> None:
        """End it at once, as a node failure would."""

    def start(self) -> None:
        """Start it again and wait until it is ready."""

    def close(self) -> None:
        """End it for good, and remove what `install` made where that does not go with the cluster."""
