"""The controllers that the suite brings into a kind cluster: their images, official or built from the
programs, and the objects that run KWOK (`lws` has those of LeaderWorkerSet)."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster import manifests
from conformance.cluster.embedded import flags
from conformance.cluster.embedded.layout import UNUSED
from conformance.cluster.kind.docker import Docker
from conformance.cluster.nodes import FAKE_NODES, on_real_node
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure_one
from conformance.cluster.programs.progress import Progress

REGISTRY = "registry.k8s.io"
REGISTRY_VARIABLE = "DGD_CONFORMANCE_IMAGE_REGISTRY"
"""Another registry with the official images; empty: nothing is pulled, they are built."""
_DOCKERFILE = """FROM scratch
COPY manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
"""
_CHANGED = {
    "--kubeconfig": None,
    "--config": "--config=/stages/kwok-stages.yaml",
    "--manage-all-nodes": f"--manage-nodes-with-annotation-selector={FAKE_NODES}",
    # Addresses of simulated pods: none that a real pod of the cluster has.
    "--cidr": "--cidr=10.245.0.0/16",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A program that runs in pods. `name`: of its Deployment and its service account."""

    program: Program
    namespace: str
    name: str
    image: str
    """The official one, in `REGISTRY`."""

    @property
    def user(self) -> str:
        """Its name in the audit log."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


LWS = Controller(
    program=Program.LWS, namespace="lws-system", name="lws-controller-manager", image="lws/lws"
)
KWOK = Controller(
    program=Program.KWOK, namespace="kube-system", name="kwok-controller", image="kwok/kwok"
)


def image_of(
    controller: Controller, *, docker: Docker, environ: Mapping[str, str], progress: Progress
) -> str:
    """Name of an image that Docker has now: the official one, if it can be had, else one that is built.
    To pull it or to make the program may take minutes the first time. Raises InfraError, UsageError."""
    program = controller.program
    version = PINS[program].version
    registry = environ.get(REGISTRY_VARIABLE, REGISTRY).rstrip("/")
    if registry:
        image = f"{registry}/{controller.image}:v{version}"
        if docker.has_image(image):
            return image
        with progress.step(f"pulling {image}"):
            why = docker.pull(image)
        if why is None:
            return image
        progress.say(f"{image} cannot be pulled ({why}); it is built from {program.value}")
    source = ensure_one(program, environ, progress)
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    image = f"dgd-conformance/{program.value}:{version}-{digest}"
    if not docker.has_image(image):
        with tempfile.TemporaryDirectory(prefix="dgd-conformance-image-") as directory:
            shutil.copy(source, Path(directory, "manager"))
            Path(directory, "Dockerfile").write_text(_DOCKERFILE, encoding="utf-8")
            docker.build(image, Path(directory))
    return image


def kwok_objects(image: str) -> list[dict[str, Any]]:
    """manifests/kwok.yaml with this image, on the real node, with the right to do everything."""
    account = {"kind": "ServiceAccount", "name": KWOK.name, "namespace": KWOK.namespace}
    found: list[dict[str, Any]] = manifests.objects("kwok.yaml")
    for each in found:
        if each["kind"] == "ConfigMap":
            each["data"] = {"kwok-stages.yaml": manifests.text("kwok-stages.yaml").decode()}
        elif each["kind"] == "Deployment":
            template = each["spec"]["template"]
            template["spec"]["containers"][0] |= {"image": image, "args": kwok_arguments()}
            template["spec"] = on_real_node(template["spec"])
    # The binding first: KWOK waits after a refusal.
    return [manifests.cluster_admin(KWOK.name, account), *found]


def kwok_arguments() -> list[str]:
    """Those of the embedded control plane, for simulated nodes only and with the pod's identity."""
    changed = (_CHANGED.get(flag.partition("=")[0], flag) for flag in flags.kwok(UNUSED))
    return [flag for flag in changed if flag is not None]
