"""What every cluster of the suite's own gets, whichever kind it is: files, and objects to create."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from conformance.cluster.nodes import SIMULATED


def text(name: str) -> bytes:
    """One file of this directory."""
    return (resources.files(__name__) / name).read_bytes()


def objects(name: str) -> list[Any]:
    """The objects of one file of this directory."""
    return list(yaml.safe_load_all(text(name)))


def pod_group_crd() -> list[Any]:
    """Volcano's PodGroup."""
    return objects("podgroup-crd.yaml")


def simulated_nodes(count: int, *, version: str) -> list[dict[str, Any]]:
    """node-0, node-1 and so on, as kubelets of that version register them, ready at once."""
    nodes = []
    for index in range(count):
        node: dict[str, Any] = objects("node.yaml")[0]
        name, status = f"node-{index}", node["status"]
        node["metadata"]["name"] = name
        node["metadata"]["labels"] |= {"kubernetes.io/hostname": name, SIMULATED[0]: SIMULATED[1]}
        status["allocatable"] = dict(status["capacity"])
        status["addresses"] = [
            {"type": "InternalIP", "address": f"192.0.2.{index + 1}"},
            {"type": "Hostname", "address": name},
        ]
        status["nodeInfo"]["kubeletVersion"] = version
        nodes.append(node)
    return nodes


def cluster_admin(name: str, subject: Mapping[str, str]) -> dict[str, Any]:
    """A binding that lets a subject do everything."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"dgd-conformance:{name}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [dict(subject)],
    }
