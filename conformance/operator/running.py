"""An installed operator: its process, its profile, and what was found about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.history.records import OperatorEvent
from conformance.model.bounds import Bounds
from conformance.model.profile import Profile
from conformance.operator.cluster import Process
from conformance.operator.ports import FixedPorts
from conformance.operator.probes import Probe
from conformance.operator.process import OperatorProcess
from conformance.operator.profiles import LoadedProfile


class RunningOperator(OperatorProcess):
    """What `install` returns. Use as a context manager, or call `close`."""

    def __init__(
        self,
        process: Process,
        *,
        loaded: LoadedProfile,
        held: FixedPorts,
        ready_url: str,
        bounds: Bounds,
        on_event: Callable[[OperatorEvent], None] | None,
        facts: Mapping[str, Any],
        served: Mapping[str, list[str]],
    ) -> None:
        """`held` is closed with the operator."""
        self.loaded = loaded
        self.facts: dict[str, Any] = dict(facts)
        """How it was installed: user, rights, ports, digest of the program. Plain data."""
        self.served: dict[str, list[str]] = dict(served)
        """Resource → API versions that the installed CRDs serve."""
        self.probes: list[Probe] = []
        """What the live API showed of each declared feature."""
        self.seconds: dict[str, float] = {}
        """Milestone → seconds since the installation began."""
        self._held = held
        super().__init__(
            process,
            name=loaded.name,
            ready_url=ready_url,
            ready_within=bounds.install,
            on_event=on_event,
        )

    @property
    def users(self) -> Sequence[str]:
        """User names under which it writes, as in the audit log."""
        return (self.profile.identity_user,)

    @property
    def control(self) -> Mapping[str, Any] | None:
        """None: only the process that started it can stop it."""
        return None

    @property
    def profile(self) -> Profile:
        """The profile it was installed with."""
        return self.loaded.profile

    def close(self) -> None:
        """End it for good and give its fixed ports up."""
        super().close()
        self._held.close()
