"""What the user says of a cluster that is not the suite's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CONTEXT_OPTION = "--kube-context"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigOptions:
    """The options of `--cluster=kubeconfig`."""

    kubeconfig: Path | None = None
    """None: the files of KUBECONFIG, else ~/.kube/config."""
    context: str | None = None
    """`--kube-context`. The current context is never used by itself."""
    i_own: bool = False
    """`--i-own-this-cluster`."""
    install_operator: bool = False
    """`--install-operator`: cluster-scoped objects (CRDs, ClusterRoles, webhooks) may be made."""
