"""The images of a kind cluster: pinned ones of its node; those of KWOK and the LeaderWorkerSet
controller, official or built from the programs."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.kind.docker import Docker
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure_one
from conformance.cluster.programs.progress import Progress
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
REGISTRY = "registry.k8s.io"
REGISTRY_VARIABLE = "DGD_CONFORMANCE_IMAGE_REGISTRY"
"""Another registry with the official images; empty: they are built from the programs, and nothing is
pulled."""
_OFFICIAL = {Program.LWS: "lws/lws", Program.KWOK: "kwok/kwok"}
_COMMANDS = {Program.LWS: "/manager", Program.KWOK: "/kwok"}
_NOBODY = "65532:65532"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The image of a program; `source` is what it is built from, None for an official one."""

    program: Program
    name: str
    source: Path | None = None

    def build(self, docker: Docker) -> None:
        """Have Docker know it: it holds the program alone, which is static. Takes a second or two.
        Raises InfraError."""
        if self.source is None or docker.has_image(self.name):
            return
        command = _COMMANDS[self.program]
        with tempfile.TemporaryDirectory(prefix="dgd-conformance-image-") as directory:
            target = Path(directory, command.removeprefix("/"))
            shutil.copy(self.source, target)
            Path(directory, "Dockerfile").write_text(
                f"FROM scratch\nCOPY {target.name} {command}\n"
                f'USER {_NOBODY}\nENTRYPOINT ["{command}"]\n',
                encoding="utf-8",
            )
            docker.build(self.name, Path(directory))


def find(
    program: Program, *, docker: Docker, environ: Mapping[str, str], progress: Progress
) -> Image:
    """The official image, if Docker has it or can pull it, else one to be built. Pulling it, or
    making the program, may take minutes the first time. Raises InfraError or UsageError."""
    registry = environ.get(REGISTRY_VARIABLE, REGISTRY).rstrip("/")
    if registry:
        image = f"{registry}/{_OFFICIAL[program]}:v{PINS[program].version}"
        why = None
        if not docker.has_image(image):
            with progress.step(f"pulling {image}"):
                why = docker.pull(image)
        if why is None:
            return Image(program=program, name=image)
        progress.say(f"{image} cannot be pulled ({why}); it is built from {program.value}")
    source = ensure_one(program, environ, progress)
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    name = f"dgd-conformance/{program.value}:{PINS[program].version}-{digest}"
    return Image(program=program, name=name, source=source)
