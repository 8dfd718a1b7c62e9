"""Which cluster a run gets, and what the rest of the suite may expect of it."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from conformance.cluster.embedded import EmbeddedPlane
from conformance.cluster.programs import Programs, ensure
from conformance.cluster.supervise import Process
from conformance.model.errors import UsageError

DEFAULT_NODES = 4
"""Simulated nodes of the embedded control plane, with 128 GPUs each."""


class ClusterKind(enum.StrEnum):
    """The values of `--cluster`."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    KIND = "kind"
    KUBECONFIG = "kubeconfig"


class Plane(Protocol):
    """A control plane as the rest of the suite holds it. `EmbeddedPlane` is the one there is, and
    tells what each part means."""

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the suite."""

    @property
    def audit_log(self) -> Path:
        """JSON lines, one for each write that was answered."""

    @property
    def logs(self) -> Mapping[str, Path]:
        """Log file of each process, by name."""

    def start(self) -> Self:
        """Start everything; raises InfraError with nothing left running."""

    def stop(self) -> None:
        """End everything; may be called again."""

    def describe(self) -> dict[str, Any]:
        """What another process needs to attach."""

    def failure(self) -> str | None:
        """One sentence if a part of it has died."""

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Process:
        """Start a process that ends with the plane."""


def choose(
    kind: ClusterKind,
    *,
    nodes: int = DEFAULT_NODES,
    logs: Path | None = None,
    programs: Programs | None = None,
) -> EmbeddedPlane:
    """A control plane of that kind, not yet started. Prepares its programs if none are given, which
    on a fresh machine takes minutes. `logs` as in `EmbeddedPlane`. Raises UsageError for kinds that
    this version does not have."""
    if kind in (ClusterKind.KIND, ClusterKind.KUBECONFIG):
        raise UsageError(
            f"--cluster={kind.value} is not in this version: use --cluster=embedded (or auto), "
            "which runs the operator as a process beside a real control plane on this machine"
        )
    return EmbeddedPlane(programs=programs or ensure(), nodes=nodes, logs=logs)
