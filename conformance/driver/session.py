"""What a case needs to know of the control plane and the operator it runs against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from conformance.model.bounds import Bounds
from conformance.model.profile import Profile


class OperatorControl(Protocol):
    """The optional power to stop and start the operator; only the cluster's owner has it."""

    def stop(self) -> None:
        """End it as a rollout would (SIGTERM), and wait until it is gone."""

    def kill(self) -> None:
        """End it at once (SIGKILL)."""

    def start(self) -> None:
        """Start it again and wait until it is ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One control plane with one operator, as a case sees it.

    `users` maps user names of the audit log to layers. `control` is None where the case must not
    touch the operator, because others share it.
    """

    profile: Profile
    bounds: Bounds
    kubeconfig: Path
    recording: Path
    """Directory in which the recorder writes."""
    results: Path
    operator_events: Path
    """File in which the cluster's owner notes what happens to the operator."""
    operator_log: Path | None
    versions: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    audited: bool = True
    """False where there is no audit log: field managers then tell who wrote."""
    control: OperatorControl | None = None
    delete_namespaces: bool = False
    """False on a control plane that is thrown away: deleting namespaces there is only load."""
    run: str = ""
    """Id of the run in the labels of its namespaces; empty where nothing must be found again."""

    @property
    def operator(self) -> str:
        """The operator's name."""
        return self.profile.identity.name
