"""A cluster whose nodes pretend to run pods, and an operator that is nothing but manifests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.nodes import RealNodes
from conformance.model.errors import UsageError
from conformance.model.kinds import Actor
from tests.operator.fakes import component_crd, graph_crd, webhook

Raw = dict[str, Any]


@dataclass
class FakePodCluster:
    """An embedded cluster as if it had nodes that run containers."""

    cluster: EmbeddedCluster
    throw_away: bool = True
    images: list[str] = field(default_factory=list)
    takes_images: bool = True
    kinds_changes: int = 0
    users: Mapping[str, Actor] = field(default_factory=dict)
    run: str = ""
    operator_installed: bool = False
    real_nodes: RealNodes | None = None
    process_host: None = None

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def audit_log(self) -> Path | None:
        return self.cluster.audit_log

    @property
    def versions(self) -> Mapping[str, str]:
        return self.cluster.versions

    def failure(self) -> str | None:
        return self.cluster.failure()

    def start(self) -> Self:
        return self

    def stop(self) -> None:
        pass

    def load_image(self, image: str) -> None:
        if not self.takes_images:
            raise UsageError("this cluster takes no images: push it to a registry")
        self.images.append(image)

    def kinds_changed(self) -> None:
        self.kinds_changes += 1


def deployment(namespace: str = "ops", **container: Any) -> Raw:
    """The operator's Deployment."""
    labels = {"app": "op"}
    manager = {"name": "manager", "image": "example.com/op:1", "args": ["--a"], **container}
    template = {
        "metadata": {"labels": labels},
        "spec": {"serviceAccountName": "op-account", "containers": [manager]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "op", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def rbac(namespace: str = "ops") -> list[Raw]:
    """An account that may do nothing."""
    group = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": "op-account", "namespace": namespace}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "op-account", "namespace": namespace},
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "op-role"},
            "rules": [],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "op-binding"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "op-role"},
            "subjects": [account],
        },
    ]


def ignored_webhook() -> Raw:
    """One that is passed over while nobody answers."""
    configuration = webhook()
    for row in configuration["webhooks"]:
        row |= {
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 1,
        }
    return configuration


def real_crd(crd: Raw) -> Raw:
    """A CRD of the fakes as an API server accepts it."""
    for version in crd["spec"]["versions"]:
        schema = version.get("schema") or {}
        properties = (schema.get("openAPIV3Schema") or {}).get("properties") or {}
        spec = properties.setdefault("spec", {})
        spec |= {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        fields = spec.setdefault("properties", {})
        for name, inner in (("services", "additionalProperties"), ("components", "items")):
            if name in fields:
                typed = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                fields[name] = {
                    "type": "object" if inner == "additionalProperties" else "array",
                    inner: {**typed, **fields[name][inner]},
                }
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
        version["storage"] = version is crd["spec"]["versions"][0]
    singular = crd["spec"]["names"]["kind"].lower()
    crd["spec"]["names"] |= {
        "singular": singular,
        "listKind": f"{crd['spec']['names']['kind']}List",
    }
    return crd


def write(path: Path, *manifests: Raw) -> Path:
    """A file of manifests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
    return path


def write_operator(
    folder: Path, *, namespace: str = "ops", extra: Sequence[Raw] = (), **in_cluster: Any
) -> Path:
    """A profile with its files beside it; `in_cluster` changes the installation."""
    write(folder / "crds" / "graph.yaml", real_crd(graph_crd("v1alpha1")))
    write(folder / "crds" / "component.yaml", real_crd(component_crd("v1alpha1")))
    write(folder / "op" / "op.yaml", *rbac(namespace), deployment(namespace), *extra)
    features = ["multinode", "component", *(["admission"] if extra else [])]
    profile = {
        "identity": {"name": "tried"},
        "features": features,
        "in_cluster": {
            "namespace": namespace,
            "crds": ["crds"],
            "manifests": ["op"],
            "image": "example.com/op:1",
            "deployment": "op",
            "fault_argument": "--fault={fault}",
            **in_cluster,
        },
    }
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(profile), encoding="utf-8")
    return path
