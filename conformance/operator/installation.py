"""The steps of an installation, in the order in which a real one must happen: `Installation`."""

from __future__ import annotations

import abc
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.cluster.protocol import Cluster
from conformance.kube import Api, apply_manifests
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.model.profile import Profile
from conformance.operator import probes
from conformance.operator.installed import InstalledOperator, OperatorEvents
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.profiles import LoadedProfile

WarmUp = Callable[[InstalledOperator], None]


@dataclass(kw_only=True, eq=False)
class Installation(abc.ABC):
    """One installation on one cluster. Subclasses say how each step is done."""

    cluster: Cluster
    loaded: LoadedProfile
    options: OperatorOptions
    bounds: Bounds
    logs: Path
    """Directory for the logs of its pods and the values of its chart."""
    events: OperatorEvents
    api: Api

    ending: contextlib.ExitStack = field(init=False, default_factory=contextlib.ExitStack)
    """What must be done to undo the installation, the last first."""
    _served: dict[str, list[str]] = field(init=False, default_factory=dict)
    _seconds: dict[str, float] = field(init=False, default_factory=dict)
    _began: float = field(init=False, default_factory=time.monotonic)

    @property
    def profile(self) -> Profile:
        return self.loaded.profile

    @property
    @abc.abstractmethod
    def namespace(self) -> str:
        """The operator's namespace, and that of manifests that name none."""

    def run(self, *, warm_up: WarmUp | None = None) -> InstalledOperator:
        """All steps. If one fails, what was started and made is ended and removed."""
        try:
            self._apply()
            self._reached("installed")
            operator = self._start()
            control = operator.control
            control.wait_ready()
            self._reached("ready")
            if not self._served:
                # Some operators bring their kinds themselves when they start.
                self._check_kinds()
            probes.wait_for_webhooks(
                self.api, self.profile, within=self.bounds.install, check=control.require_running
            )
            operator.probes = probes.check_features(self.api, self.profile, where=self.loaded.shown)
            self._reached("probed")
            if warm_up is not None:
                warm_up(operator)
                self._reached("warm")
            operator.served, operator.seconds = self._served, self._seconds
            control.supervise()
        except BaseException:
            # The first error is the one to tell.
            with contextlib.suppress(InfraError):
                self.ending.close()
            raise
        return operator

    @abc.abstractmethod
    def _apply(self) -> None:
        """Apply all that must be there before it starts; call `_check_kinds` if the kinds must be."""

    @abc.abstractmethod
    def _start(self) -> InstalledOperator:
        """Start it, or find it started."""

    def _check_kinds(self) -> None:
        """The kinds are there: compare their versions with the profile. Raises UsageError."""
        where = self.loaded.shown
        self._served = probes.check_versions(self.api, self.profile, where=where)
        self._reached("kinds served")

    def send(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Server-side apply; waits until CRDs are served."""
        apply_manifests(self.api, manifests, namespace=self.namespace)

    def _reached(self, milestone: str) -> None:
        self._seconds[milestone] = round(time.monotonic() - self._began, 3)
