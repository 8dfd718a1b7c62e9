"""KWOK in a kind cluster: the objects that run it."""

from typing import Any

from conformance.cluster import manifests
from conformance.cluster.embedded import flags
from conformance.cluster.embedded.layout import UNUSED
from conformance.cluster.nodes import FAKE_NODES, on_real_node

NAMESPACE = "kube-system"
NAME = "kwok-controller"
USER = f"system:serviceaccount:{NAMESPACE}:{NAME}"
"""Its name in the audit log."""

_CHANGED = {
    "--kubeconfig": None,
    "--config": "--config=/stages/kwok-stages.yaml",
    "--manage-all-nodes": f"--manage-nodes-with-annotation-selector={FAKE_NODES}",
    # Addresses of simulated pods: none that a real pod of the cluster has.
    "--cidr": "--cidr=10.245.0.0/16",
}


def objects(image: str) -> list[dict[str, Any]]:
    """manifests/kwok.yaml with this image, on the real node, with the right to do everything."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    found: list[dict[str, Any]] = manifests.objects("kwok.yaml")
    for each in found:
        if each["kind"] == "ConfigMap":
            each["data"] = {"kwok-stages.yaml": manifests.text("kwok-stages.yaml").decode()}
        elif each["kind"] == "Deployment":
            template = each["spec"]["template"]
            template["spec"]["containers"][0] |= {"image": image, "args": arguments()}
            template["spec"] = on_real_node(template["spec"])
    # The binding first: KWOK waits after a refusal.
    return [manifests.cluster_admin(NAME, account), *found]


def arguments() -> list[str]:
    """Those of the embedded control plane, for the simulated nodes only and with the pod's own
    identity."""
    given = ((flag, flag.split("=", 1)[0]) for flag in flags.kwok(UNUSED))
    changed = (_CHANGED.get(name, flag) for flag, name in given)
    return [flag for flag in changed if flag is not None]
