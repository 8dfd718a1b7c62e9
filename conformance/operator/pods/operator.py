"""An installed operator in pods: `PodOperator`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.history.records import OperatorEvent
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.profile import Profile
from conformance.operator.pods.control import PodControl
from conformance.operator.pods.deployed import Target
from conformance.operator.pods.watcher import Watcher
from conformance.operator.probes import Probe
from conformance.operator.profiles import LoadedProfile


class PodOperator(PodControl):
    """What `install_in_pods` returns. Use as a context manager, or call `close`."""

    def __init__(
        self,
        api: Api,
        target: Target,
        *,
        loaded: LoadedProfile,
        kubeconfig: Path,
        log: Path,
        user: str,
        facts: Mapping[str, Any],
        on_event: Callable[[OperatorEvent], None] | None,
        remove: Callable[[], None] | None = None,
    ) -> None:
        """Watches its pods from now on. `remove` undoes the installation; None where it goes with
        the cluster, or was not ours."""
        super().__init__(api, target)
        self.loaded = loaded
        self.facts: dict[str, Any] = dict(facts)
        """How it was installed: kind, image, user, faults. Plain data."""
        self.served: dict[str, list[str]] = {}
        """Resource → API versions that the installed CRDs serve."""
        self.probes: list[Probe] = []
        """What the live API showed of each declared feature."""
        self.seconds: dict[str, float] = {}
        """Milestone → seconds since the installation began."""
        self._user = user
        self._remove = remove
        self._watcher = Watcher(self.deployed, kubeconfig=kubeconfig, log=log, on_event=on_event)

    def __enter__(self) -> PodOperator:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def profile(self) -> Profile:
        """The profile it was installed with."""
        return self.loaded.profile

    @property
    def users(self) -> list[str]:
        """Its ServiceAccount, as in the audit log."""
        return [self._user]

    @property
    def log_path(self) -> Path:
        """Its log: all pods, all restarts."""
        return self._watcher.logs.path

    @property
    def log_problem(self) -> str:
        """Why its log could not be read; empty if all went well."""
        return self._watcher.logs.problem

    @property
    def events(self) -> list[OperatorEvent]:
        """What happened to it so far, in order."""
        return self._watcher.events

    @property
    def control(self) -> dict[str, Any]:
        """Plain data for `attach`."""
        return self.target.to_json()

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log."""
        return self._watcher.logs.tail(lines)

    def close(self) -> None:
        """Remove it where that is needed, and stop watching it. Raises InfraError if something that
        was to be removed stays; what can be removed is."""
        remove, self._remove = self._remove, None
        with contextlib.ExitStack() as ending:
            if remove is None:
                ending.callback(self._forget_ends)
            ending.callback(self._watcher.close, gone=remove is not None)
            if remove is not None:
                self._watcher.look_away()
                remove()

    def _forget_ends(self) -> None:
        # Best effort: of an operator that runs, the note says nothing to anybody.
        with contextlib.suppress(InfraError):
            self.forget_ends()


def service_account(deployment: Mapping[str, Any]) -> str:
    """User name of the pods that a Deployment makes."""
    spec = deployment["spec"]["template"]["spec"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    return f"system:serviceaccount:{deployment['metadata']['namespace']}:{name}"
