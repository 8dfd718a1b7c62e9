"""What a run needs of its cluster: `Cluster`. Its answers say how one kind of cluster differs from
another; nobody above this package asks for a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from conformance.cluster.nodes import RealNodes
from conformance.cluster.processes.supervisor import Process
from conformance.model.kinds import Actor


class Cluster(Protocol):
    """A cluster of a run. The answers given here are those of a control plane of our own."""

    @property
    def kubeconfig(self) -> Path:
        """With the suite's own identity. Every part of the suite uses this file and no other."""

    @property
    def audit_log(self) -> Path | None:
        """JSON lines, one for each write that was answered; None where nobody can read them, so that
        authors are known from managedFields only."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Program → version, of what runs."""

    @property
    def users(self) -> Mapping[str, Actor]:
        """User name in the audit log → actor, of the suite and the platform's parts. Without an audit
        log: field manager → actor."""

    @property
    def run(self) -> str:
        """Id of the run, in the labels of what it makes; empty where nothing must be found again."""
        return ""

    @property
    def throw_away(self) -> bool:
        """True if all that is in it goes with it. Then nothing needs to be deleted, and what is left
        when the run ends was left by the operator alone, so the end of the run can be judged."""
        return True

    @property
    def operator_installed(self) -> bool:
        """True if others installed the operator, and the suite only looks for it."""
        return False

    @property
    def process_host(self) -> ProcessHost | None:
        """What runs the operator as a process beside the control plane; None: it runs in pods."""

    @property
    def real_nodes(self) -> RealNodes | None:
        """How pods find the nodes that run containers; None: all do, or none does."""
        return None

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of its parts, as far as they run on this machine."""
        return ()

    def failure(self) -> str | None:
        """One sentence if a part of it was seen to have died, else None."""

    def plan(self) -> list[str]:
        """What will be made in it, a line each, for a person who may want to stop it; empty where
        that touches nobody. Raises UsageError if it may not be used; nothing is written."""
        return []

    def start(self) -> Self:
        """Open it; returns once it can be worked with. Raises UsageError for what the user can mend
        (such as LeaderWorkerSet missing for a multinode operator), InfraError otherwise; nothing is
        left behind then."""

    def load_image(self, image: str) -> None:
        """Make an image of the local container engine known to all nodes. Raises UsageError where
        only a registry helps."""

    def kinds_changed(self) -> None:
        """Call after new CRDs are established: kube-controller-manager's garbage collector looks for
        new kinds only every 30 s, and until then leaves the children of what is deleted."""

    def export_evidence(self, directory: Path) -> None:
        """Write what goes with the cluster and may explain a failure. Raises InfraError, OSError."""

    def clear(self) -> None:
        """Remove what cases left, where it does not go with the cluster: while the operator still runs,
        since only it takes the finalizers of its graphs away."""
        return

    def stop(self) -> None:
        """Close it and leave nothing behind. May be called again, and before `start`."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class ProcessHost(Cluster, Protocol):
    """A cluster beside whose control plane an operator runs as a process of this machine."""

    @property
    def directory(self) -> Path:
        """Private to the cluster, gone after `stop()`."""

    @property
    def etcd_url(self) -> str:
        """An etcd that operators may use, too; plain HTTP."""

    @property
    def ca_bundle(self) -> str:
        """Base64 of the CA that signs `serving_certificate`, for `caBundle` of webhooks."""

    def kubeconfig_for(self, user: str) -> Path:
        """A kubeconfig whose writes carry this user name in the audit log. What it may do is up to
        RBAC. Raises UsageError for a name that is no file name, or the control plane's own."""

    def bind_cluster_admin(self, user: str) -> None:
        """Let a user do everything, as RBAC: no limit applies to members of system:masters."""

    def serving_certificate(self, names: Sequence[str], directory: Path) -> Path:
        """Write tls.crt, tls.key and ca.crt for these names and addresses. Returns the directory."""

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Process:
        """Start a program that ends with the cluster, with a log of its own. `env` None: this process'
        environment. `files` (absolute path → content) are seen by it alone. Raises InfraError if it
        cannot be executed, UsageError for bad `files` or the name of a component."""
