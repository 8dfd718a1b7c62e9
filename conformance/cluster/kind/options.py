"""What a user may choose about a kind cluster, and the programs that it takes."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cluster.kind.images import DEFAULT_KUBERNETES, KIND_VERSION, node_image
from conformance.model.errors import UsageError

KEPT_NAME = "dgd-conformance"
"""Of a cluster that is kept and was given no name: the next run must find it."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 63 - len("-control-plane")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOptions:
    """The options of a kind cluster. Raises UsageError for what cannot be."""

    image: str = ""
    """Node image; empty: the one that is pinned for `kubernetes`, a minor version."""
    kubernetes: str = DEFAULT_KUBERNETES
    name: str = ""
    """Name of the cluster. Empty: one of its own for each run, or `KEPT_NAME` with `keep`."""
    keep: bool = False
    """Leave the cluster running, and use it again if it is there."""
    kind: Path | None = None
    kubectl: Path | None = None
    """Programs; None: those on PATH."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """Feature gates of all parts of Kubernetes."""
    mirrors: Mapping[str, str] = field(default_factory=dict)
    """Registry → URL of a mirror that the node's containerd asks first."""

    def __post_init__(self) -> None:
        if self.name and not (_NAME.fullmatch(self.name) and len(self.name) <= _LONGEST_NAME):
            raise UsageError(
                f"--cluster-name={self.name} cannot name a kind cluster; expected at most "
                f"{_LONGEST_NAME} lower-case letters, digits and '-'"
            )
        for registry, mirror in self.mirrors.items():
            if not registry or "/" in registry or not mirror.startswith(("http://", "https://")):
                raise UsageError(
                    f"the mirror {mirror!r} of the registry {registry!r} cannot be used; expected "
                    "a host name and a URL, such as docker.io=https://mirror.example.com"
                )
        self.node_image  # noqa: B018 - an unknown version is told at once

    @property
    def node_image(self) -> str:
        return self.image or node_image(self.kubernetes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Programs that are there."""

    kind: Path
    kubectl: Path
    docker: Path


def find_tools(options: KindOptions, environ: Mapping[str, str] | None = None) -> Tools:
    """Given paths first, then PATH. Nothing is ever downloaded. Raises UsageError, naming all that is
    missing."""
    environ = os.environ if environ is None else environ
    provider = environ.get("KIND_EXPERIMENTAL_PROVIDER", "docker")
    if provider != "docker":
        raise UsageError(
            f"KIND_EXPERIMENTAL_PROVIDER={provider} is not supported: the suite works with kind on "
            "Docker; unset the variable"
        )
    kubectl = "https://kubernetes.io/docs/tasks/tools"
    wanted = (
        ("kind", options.kind, "--kind-bin", f"kind v{KIND_VERSION}: https://kind.sigs.k8s.io"),
        ("kubectl", options.kubectl, "--kind-kubectl-bin", kubectl),
        ("docker", None, "", "Docker: https://docs.docker.com/engine/install"),
    )
    found: dict[str, Path] = {}
    missing: list[str] = []
    for program, given, option, install in wanted:
        sought = program if given is None else str(given.expanduser().absolute())
        path = shutil.which(sought, path=environ.get("PATH", ""))
        if path is not None:
            found[program] = Path(path).absolute()
        elif given is not None:
            raise UsageError(f"{option}={given} is not an executable file")
        else:
            other = f", or say where it is: {option}=PATH" if option else ""
            missing.append(f"{program} (install {install}{other})")
    if missing:
        raise UsageError(f"--cluster=kind needs, on PATH: {'; '.join(missing)}")
    return Tools(**found)
