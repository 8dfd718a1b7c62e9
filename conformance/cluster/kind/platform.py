"""What runs in a kind cluster beside an operator: simulated nodes, KWOK, Volcano's PodGroup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.cluster import components
from conformance.cluster.components import Layout
from conformance.cluster.nodes import FAKE_NODES, on_real_node

NAMESPACE = "kube-system"
KWOK = "kwok-controller"
KWOK_USER = f"system:serviceaccount:{NAMESPACE}:{KWOK}"
"""KWOK's name in the audit log."""

_CIDR = "10.245.0.0/16"
"""Addresses of simulated pods: none that a real pod of the cluster has."""

_STAGES = "/stages"


def kwok(image: str) -> list[dict[str, Any]]:
    """KWOK as a Deployment: it lives as long as the cluster, so a kept one stays whole."""
    account = {"kind": "ServiceAccount", "name": KWOK, "namespace": NAMESPACE}
    metadata = {"name": KWOK, "namespace": NAMESPACE}
    labels = {"app": KWOK}
    container = {
        "name": "kwok",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": kwok_arguments(),
        "volumeMounts": [{"name": "stages", "mountPath": _STAGES}],
    }
    pod = {
        "serviceAccountName": KWOK,
        "containers": [container],
        "volumes": [{"name": "stages", "configMap": {"name": KWOK}}],
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"dgd-conformance:{KWOK}"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [account],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"kwok-stages.yaml": components.text("kwok-stages.yaml").decode()},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": on_real_node(pod)},
            },
        },
    ]


def kwok_arguments() -> list[str]:
    """Those of the embedded control plane, for the simulated nodes only and with the pod's own
    identity."""
    unused = Layout(directory=Path("/unused"), logs=Path("/unused"))
    changed = {
        "--kubeconfig": None,
        "--config": f"--config={_STAGES}/kwok-stages.yaml",
        "--manage-all-nodes": f"--manage-nodes-with-annotation-selector={FAKE_NODES}",
        "--cidr": f"--cidr={_CIDR}",
    }
    arguments = []
    for argument in components.kwok(unused):
        replaced = changed.get(argument.split("=", 1)[0], argument)
        if replaced is not None:
            arguments.append(replaced)
    return arguments


def pod_group_crd() -> list[dict[str, Any]]:
    """Volcano's PodGroup, as on the embedded control plane."""
    return components.objects("podgroup-crd.yaml")


def simulated_nodes(count: int, *, version: str) -> list[dict[str, Any]]:
    """node-0, node-1 and so on, as on the embedded control plane."""
    return [components.node(index, version=version) for index in range(count)]
