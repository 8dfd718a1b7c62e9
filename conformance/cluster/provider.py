"""Which cluster a run gets."""

from __future__ import annotations

import enum
from pathlib import Path

from conformance.cluster.embedded import EmbeddedPlane
from conformance.cluster.programs import Programs, ensure
from conformance.model.errors import UsageError

DEFAULT_NODES = 4
"""Simulated nodes of the embedded control plane, with 128 GPUs each."""


class ClusterKind(enum.StrEnum):
    """The values of `--cluster`."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    KIND = "kind"
    KUBECONFIG = "kubeconfig"


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
