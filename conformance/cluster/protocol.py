"""What a run needs of a cluster, whichever kind that is: `Cluster`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, Self

from conformance.model.kinds import Actor


class Cluster(Protocol):
    """A cluster that this process opened for a run, and closes after it."""

    @property
    def kubeconfig(self) -> Path:
        """The suite's own identity. Its current context is the cluster; every part of the suite uses
        this file and no other."""

    @property
    def audit_log(self) -> Path | None:
        """JSON lines, one for each write that was answered; None where nobody can read them."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Program → version, of what runs."""

    @property
    def users(self) -> Mapping[str, Actor]:
        """User name in the audit log → layer, of the suite and the platform's parts."""

    @property
    def run(self) -> str:
        """Id of the run, in the labels of what it makes; empty where nothing must be found again."""

    @property
    def throw_away(self) -> bool:
        """True if all that is in it goes with it, so that nothing needs to be deleted."""

    def failure(self) -> str | None:
        """One sentence if a part of it was seen to have died, else None."""

    def start(self) -> Self:
        """Open it; returns once it can be worked with. Raises UsageError for what the user can mend,
        InfraError otherwise; nothing is left behind then."""

    def plan(self) -> list[str]:
        """What will be made in it, a line each, for a person who may want to stop it; empty where
        that touches nobody. Raises UsageError if it may not be used; nothing is written."""

    def clear(self) -> None:
        """Remove what cases left, where it does not go with the cluster: while the operator still runs,
        since only it takes the finalizers of its graphs away."""

    def stop(self) -> None:
        """Close it and leave nothing behind. May be called again, and before `start`."""


class PodCluster(Cluster, Protocol):
    """A cluster with nodes that run the operator's pods."""

    def load_image(self, image: str) -> None:
        """Make an image of the local container engine known to all nodes. Raises UsageError where
        that cannot be done: the user must push it to a registry then."""

    def kinds_changed(self) -> None:
        """To be called once new kinds are served: kube-controller-manager's garbage collector looks
        for new kinds only every 30 s."""
