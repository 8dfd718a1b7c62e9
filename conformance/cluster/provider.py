"""Which cluster a run gets: `ClusterRequest`, and `choose` for the cluster of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster import ClusterKind
from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kind import KindCluster, KindOptions
from conformance.cluster.kubeconfig import KubeconfigCluster, KubeconfigOptions
from conformance.cluster.programs.pins import PINS
from conformance.cluster.programs.prepare import ensure
from conformance.cluster.protocol import Cluster
from conformance.model.installs import Placement
from conformance.model.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """The cluster that a run asks for: kind is never `auto`, and has its options."""

    kind: ClusterKind = ClusterKind.EMBEDDED
    kind_options: KindOptions | None = None
    kind_cluster: Any = None
    """pytest-kind's class KindCluster, handed in: the suite does not import it."""
    kubeconfig_options: KubeconfigOptions | None = None

    @property
    def placement(self) -> Placement:
        """Where the operator runs on it."""
        return Placement.PROCESS if self.kind is ClusterKind.EMBEDDED else Placement.PODS

    @property
    def one_cluster(self) -> bool:
        """True if all cases share one: another would cost too much, or there is none."""
        return self.kind is not ClusterKind.EMBEDDED

    def __str__(self) -> str:
        if self.kind_options is not None:
            return f"kind ({self.kind_options.node_image})"
        if self.kubeconfig_options is not None:
            return f"kubeconfig (context {self.kubeconfig_options.context or 'not named'})"
        versions = ", ".join(f"{program} {pin.version}" for program, pin in PINS.items())
        return f"embedded ({versions})"

    @property
    def installed_already(self) -> bool:
        """True if the operator is there, and the suite only looks for it."""
        return self.kubeconfig_options is not None and not self.kubeconfig_options.install_operator


def choose(
    request: ClusterRequest,
    *,
    logs: Path | None = None,
    profile: Profile | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Cluster:
    """A cluster of that kind, not yet started. The programs of an embedded one are prepared, which on a
    fresh machine takes minutes. `logs`: a directory for its logs and audit log. `profile`: of the
    operator, for the rights that its cases need. `tell` hears what could not be removed at the end."""
    options, cluster_class = request.kind_options, request.kind_cluster
    if options is not None:
        return KindCluster(options=options, cluster_class=cluster_class, logs=logs)
    if request.kubeconfig_options is not None:
        return KubeconfigCluster(request.kubeconfig_options, profile=profile, tell=tell)
    return EmbeddedCluster(programs=ensure(), logs=logs)
