"""The kinds of graphs, as small as a test needs them."""

from typing import Any


def crd(kind: str, *, group: str = "nvidia.com", scope: str = "Namespaced") -> dict[str, Any]:
    """A definition that takes everything."""
    plural = f"{kind.lower()}s"
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
            },
            "versions": [version],
        },
    }


def graph(name: str, namespace: str, *finalizers: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "finalizers": list(finalizers)}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": meta}
