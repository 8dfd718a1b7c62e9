"""The configuration of a kind cluster. Pure: settings in, the file for `kind create` out.

What an operator meets is to be the same as on the embedded control plane; so what the embedded one
says about behaviour (rates, limits, timings) is taken from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.embedded import flags
from conformance.cluster.embedded.layout import UNUSED, Ports
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.reaper import AUDIT
from conformance.cluster.nodes import TAINT
from conformance.model.labels import REAL_NODE

SETTINGS = "/etc/dgd-conformance"
"""In the node: the audit policy and the scheduler's configuration."""

AUDIT_LOG = "audit.jsonl"
SCHEDULER_KUBECONFIG = "/etc/kubernetes/scheduler.conf"
"""In the node, written by kubeadm."""

_MIRRORS = "/etc/containerd/certs.d"
_CONTROL_PLANE_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}

_SAME = {
    "apiserver": (
        "audit-log-mode", "audit-log-format", "audit-log-maxsize", "max-requests-inflight",
        "max-mutating-requests-inflight", "delete-collection-workers",
        "enable-priority-and-fairness", "profiling",
    ),
    "controller-manager": (
        "leader-elect", "kube-api-qps", "kube-api-burst", "concurrent-namespace-syncs",
        "concurrent-deployment-syncs", "concurrent-replicaset-syncs",
        "concurrent-statefulset-syncs", "concurrent-endpoint-syncs",
        "concurrent-service-endpoint-syncs", "concurrent-serviceaccount-token-syncs",
        "node-monitor-grace-period", "node-startup-grace-period", "profiling",
    ),
}  # fmt: skip
"""Flags that have on kind the value that they have on the embedded control plane."""


def cluster_config(
    options: KindOptions, *, settings: Path, audit: Path, mirrors: Path | None = None
) -> dict[str, Any]:
    """The file for `kind create cluster --config`. `settings`, `audit` and `mirrors` are the
    directories of this machine that the node sees."""
    mounts = [
        {"hostPath": str(settings), "containerPath": SETTINGS, "readOnly": True},
        {"hostPath": str(audit), "containerPath": AUDIT},
    ]
    if mirrors is not None:
        mounts.append({"hostPath": str(mirrors), "containerPath": _MIRRORS, "readOnly": True})
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in options.feature_gates.items())
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "featureGates": dict(options.feature_gates),
        "nodes": [{"role": "control-plane", "labels": {REAL_NODE: "true"}, "extraMounts": mounts}],
        "kubeadmConfigPatches": [
            patch
            for version in ("v1beta3", "v1beta4")
            for patch in _patches(version, arguments=_arguments(gates))
        ],
    }


def mirror_file(registry: str, mirror: str) -> str:
    """containerd's hosts.toml: ask the mirror first, then the registry itself."""
    server = "registry-1.docker.io" if registry == "docker.io" else registry
    return (
        f'server = "https://{server}"\n\n[host."{mirror}"]\n  capabilities = ["pull", "resolve"]\n'
    )


def _arguments(gates: str) -> dict[str, dict[str, str]]:
    """Part of the control plane → its flags."""
    apiserver = _values(flags.apiserver(UNUSED, Ports()), _SAME["apiserver"])
    manager = _values(flags.controller_manager(UNUSED), _SAME["controller-manager"])
    shared = {"feature-gates": gates} if gates else {}
    return {
        "apiServer": {
            **shared,
            **apiserver,
            "audit-policy-file": f"{SETTINGS}/audit-policy.yaml",
            "audit-log-path": f"{AUDIT}/{AUDIT_LOG}",
        },
        "controllerManager": {
            **shared,
            **manager,
            # kubeadm's choice, and without those two as on the embedded control plane.
            "controllers": "*,bootstrapsigner,tokencleaner,"
            "-endpoints-controller,-endpointslice-mirroring-controller",
            # kind's own, repeated: an older kind replaces the list instead of adding to it.
            "enable-hostpath-provisioner": "true",
        },
        "scheduler": {
            **shared,
            "config": f"{SETTINGS}/scheduler.yaml",
            # Given by kubeadm as a flag, which goes before the file.
            "leader-elect": "false",
        },
        "etcd": {"unsafe-no-fsync": "true"},
    }


def _patches(version: str, *, arguments: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Patches for one version of kubeadm's configuration; kind applies those of the version that
    its Kubernetes takes. Arguments are a map in v1beta3, and a list since v1beta4."""

    def extra(part: str) -> Any:
        given = arguments[part]
        if version == "v1beta3":
            return dict(given)
        return [{"name": name, "value": value} for name, value in given.items()]

    api = f"kubeadm.k8s.io/{version}"
    cluster = {
        "apiVersion": api,
        "kind": "ClusterConfiguration",
        "etcd": {"local": {"extraArgs": extra("etcd")}},
        "apiServer": {
            "extraArgs": extra("apiServer"),
            "extraVolumes": [
                _volume("dgd-conformance", SETTINGS, read_only=True),
                _volume("dgd-conformance-audit", AUDIT, read_only=False),
            ],
        },
        "controllerManager": {"extraArgs": extra("controllerManager")},
        "scheduler": {
            "extraArgs": extra("scheduler"),
            "extraVolumes": [_volume("dgd-conformance", SETTINGS, read_only=True)],
        },
    }
    # kind takes kubeadm's own taint off a lone node, and fails if it is not there.
    node = {"taints": [_CONTROL_PLANE_TAINT, dict(TAINT)]}
    init = {"apiVersion": api, "kind": "InitConfiguration", "nodeRegistration": node}
    return [yaml.safe_dump(cluster, sort_keys=False), yaml.safe_dump(init, sort_keys=False)]


def _volume(name: str, path: str, *, read_only: bool) -> dict[str, Any]:
    return {
        "name": name,
        "hostPath": path,
        "mountPath": path,
        "readOnly": read_only,
        "pathType": "Directory",
    }


def _values(command: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The named flags of a command line. A missing one is a KeyError: the two kinds of cluster
    would drift apart unseen."""
    given = dict(
        argument.removeprefix("--").split("=", 1) for argument in command if "=" in argument
    )
    return {name: given[name] for name in names}
