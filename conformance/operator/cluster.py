"""What installing an operator needs of a control plane, whichever kind that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Process(Protocol):
    """A program that the control plane runs and ends. Restartable; its log grows."""

    @property
    def pid(self) -> int | None:
        """Process id of the last start."""

    @property
    def returncode(self) -> int | None:
        """Exit code once it ended; below zero, the signal that ended it."""

    @property
    def running(self) -> bool:
        """Started, and not seen to end."""

    @property
    def log(self) -> Path:
        """Output and errors of all its starts."""

    def start(self) -> None:
        """Run the same command again."""

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""

    def kill(self) -> None:
        """End it at once (SIGKILL)."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it ended; TimeoutError after `timeout` seconds."""

    def tail(self, lines: int = 15) -> str:
        """The last lines of its log."""


class Cluster(Protocol):
    """A control plane that this process owns."""

    @property
    def directory(self) -> Path:
        """Private to the cluster, gone after it."""

    @property
    def kubeconfig(self) -> Path:
        """The suite's own identity."""

    @property
    def etcd_url(self) -> str:
        """An etcd that operators may use too."""

    @property
    def ca_bundle(self) -> str:
        """Base64 of the CA that signs `serving_certificate`."""

    def kubeconfig_for(self, identity: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig whose writes carry this user name in the audit log."""

    def bind_cluster_admin(self, user: str) -> None:
        """Let a user do everything."""

    def serving_certificate(self, names: Sequence[str], directory: Path) -> Path:
        """tls.crt, tls.key and ca.crt for these DNS names in the directory."""

    def kinds_changed(self) -> None:
        """To be called once new kinds are served."""

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Process:
        """Start a program; `files` (absolute path → content) are seen by it alone."""
