"""The node images of kind, the images of what runs beside an operator, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.cluster.programs.pins import PINS, Program
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
IMAGES: Mapping[Program, str] = {
    Program.LWS: f"lws/lws:v{PINS[Program.LWS].version}",
    Program.KWOK: f"kwok/kwok:v{PINS[Program.KWOK].version}",
}
"""Program → its official image, below the registry."""
REGISTRY = "registry.k8s.io"
REGISTRY_VARIABLE = "DGD_CONFORMANCE_IMAGE_REGISTRY"
"""Another registry with `IMAGES`; empty: they are built from the programs, and nothing is pulled."""
LWS_RELEASES = "https://github.com/kubernetes-sigs/lws/releases/download"
LWS_RELEASES_VARIABLE = "DGD_CONFORMANCE_LWS_URL"
"""Another base URL of the LeaderWorkerSet releases; empty: the manifests come from the Go module."""
LWS_MANIFESTS = f"v{PINS[Program.LWS].version}/manifests.yaml"
"""The release's manifests, below the base URL."""


def node_image(kubernetes: str) -> str:
    """Of a Kubernetes version ("1.37", "v1.37" or "1.37.0"; the patch is ours to choose). Raises
    UsageError for one that is not in the table."""
    minor = ".".join(kubernetes.removeprefix("v").split(".")[:2])
    if minor not in NODE_IMAGES:
        raise UsageError(
            f"no kind node image is pinned for Kubernetes {kubernetes}; expected one of "
            f"{', '.join(NODE_IMAGES)}, or a node image of your own: --kind-image=IMAGE"
        )
    return NODE_IMAGES[minor]
