"""What a user may choose about a kind cluster, and the programs that it takes."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.model.errors import UsageError

KIND_VERSION = "0.33.0"
"""The kind release that the node images below were built for (its release notes list them). Another
kind works as far as its authors say; one older than 0.24 cannot make these Kubernetes versions."""
NODE_IMAGES: Mapping[str, str] = {
    "1.37": "kindest/node:v1.37.0"
    "@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5",
    "1.36": "kindest/node:v1.36.4"
    "@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed",
    "1.35": "kindest/node:v1.35.8"
    "@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0",
    "1.34": "kindest/node:v1.34.11"
    "@sha256:44e222ee2132dab25ff87301682f89eb82c7880ea3a1bf543bfe9708fd08d67d",
}
"""Minor version → node image, with digests: a tag may come to mean a build for another kind release."""
NODE_IMAGE_VARIABLE = "DGD_CONFORMANCE_KIND_IMAGE"
"""The node image where no option says which: for machines that cannot pull the pinned one."""
DEFAULT_KUBERNETES = "1.37"
"""As the embedded control plane."""
KEPT_NAME = "dgd-conformance"
"""Of a cluster that is kept and was given no name: the next run must find it."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 63 - len("-control-plane")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOptions:
    """The options of a kind cluster. Raises UsageError for what cannot be."""

    image: str = ""
    """Node image; empty: the one that is pinned for `kubernetes`."""
    kubernetes: str = DEFAULT_KUBERNETES
    """Such as "1.37", "v1.37" or "1.37.0"; the patch is ours to choose."""
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
        if self.image:
            return self.image
        minor = ".".join(self.kubernetes.removeprefix("v").split(".")[:2])
        if minor not in NODE_IMAGES:
            raise UsageError(
                f"no kind node image is pinned for Kubernetes {self.kubernetes}; expected one of "
                f"{', '.join(NODE_IMAGES)}, or a node image of your own: --kind-image=IMAGE"
            )
        return NODE_IMAGES[minor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Programs that are there."""

    kind: Path
    kubectl: Path
    docker: Path


def find_tools(options: KindOptions, environ: Mapping[str, str] = os.environ) -> Tools:
    """Given paths first, then PATH; nothing is downloaded. Raises UsageError, naming all missing."""
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
