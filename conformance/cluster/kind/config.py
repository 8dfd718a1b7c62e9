"""The configuration of a kind cluster: the file for `kind create`, and what the node reads. What an
operator meets (rates, limits, timings) is to be the same as on the embedded control plane."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from conformance.cluster import manifests
from conformance.cluster.certificates import write_private
from conformance.cluster.embedded import configuration, flags
from conformance.cluster.embedded.layout import UNUSED, Ports
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.reaper import AUDIT
from conformance.cluster.nodes import TAINT
from conformance.model.labels import REAL_NODE

SETTINGS = "/etc/dgd-conformance"
"""In the node: the audit policy and the scheduler's configuration."""
SCHEDULER_KUBECONFIG = "/etc/kubernetes/scheduler.conf"
"""In the node, written by kubeadm."""
_MIRRORS = "/etc/containerd/certs.d"
_CONTROL_PLANE_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}

_SAME = re.compile(
    "audit-log-(mode|format|maxsize)|max-(mutating-)?requests-inflight|delete-collection-workers|"
    "enable-priority-and-fairness|profiling|leader-elect|kube-api-(qps|burst)|concurrent-.+-syncs|"
    "node-(monitor|startup)-grace-period"
)
"""Flags that have on kind the value that they have on the embedded control plane."""


def cluster_config(options: KindOptions, directory: KindDirectory) -> dict[str, Any]:
    """The file for `kind create cluster --config`. The node sees parts of the directory."""
    mounts = [
        {"hostPath": str(directory.settings), "containerPath": SETTINGS, "readOnly": True},
        {"hostPath": str(directory.audit), "containerPath": AUDIT},
    ]
    if options.mirrors:
        mirrors = str(directory.mirrors)
        mounts.append({"hostPath": mirrors, "containerPath": _MIRRORS, "readOnly": True})
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in options.feature_gates.items())
    arguments = _arguments(gates, audit_log=f"{AUDIT}/{directory.audit_log.name}")
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "featureGates": dict(options.feature_gates),
        "nodes": [{"role": "control-plane", "labels": {REAL_NODE: "true"}, "extraMounts": mounts}],
        "kubeadmConfigPatches": [
            yaml.safe_dump(patch, sort_keys=False)
            for version in ("v1beta3", "v1beta4")
            for patch in _patches(version, arguments)
        ],
    }


def write_files(options: KindOptions, directory: KindDirectory) -> None:
    """Write the configuration, and what the node reads."""
    for folder in (directory.settings, directory.audit):
        folder.mkdir(mode=0o700, exist_ok=True)
    (directory.settings / "audit-policy.yaml").write_bytes(manifests.text("audit-policy.yaml"))
    scheduler = yaml.safe_dump(configuration.scheduler(SCHEDULER_KUBECONFIG))
    (directory.settings / "scheduler.yaml").write_text(scheduler, "utf-8")
    # Ours from the start: one that root makes in the node could not be read by another user.
    write_private(directory.audit_log, b"")
    for registry, mirror in options.mirrors.items():
        hosts = directory.mirrors / registry / "hosts.toml"
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(mirror_file(registry, mirror), "utf-8")
    content = yaml.safe_dump(cluster_config(options, directory), sort_keys=False)
    directory.config.write_text(content, "utf-8")


def mirror_file(registry: str, mirror: str) -> str:
    """containerd's hosts.toml: ask the mirror first, then the registry itself."""
    server = "registry-1.docker.io" if registry == "docker.io" else registry
    return f"""server = "https://{server}"

[host."{mirror}"]
  capabilities = ["pull", "resolve"]
"""


def _arguments(gates: str, *, audit_log: str) -> dict[str, dict[str, str]]:
    """Part of the control plane → its flags."""
    shared = {"feature-gates": gates} if gates else {}
    return {
        "apiServer": {
            **shared,
            **_same(flags.apiserver(UNUSED, Ports())),
            "audit-policy-file": f"{SETTINGS}/audit-policy.yaml",
            "audit-log-path": audit_log,
        },
        "controllerManager": {
            **shared,
            **_same(flags.controller_manager(UNUSED)),
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


def _patches(version: str, arguments: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Of one version of kubeadm's configuration; kind applies those that its Kubernetes takes."""
    # A map in v1beta3, and a list since v1beta4.
    extra: dict[str, Any] = {
        part: dict(given)
        if version == "v1beta3"
        else [{"name": name, "value": value} for name, value in given.items()]
        for part, given in arguments.items()
    }
    settings = _volume("dgd-conformance", SETTINGS, read_only=True)
    audit = _volume("dgd-conformance-audit", AUDIT, read_only=False)
    # kind takes kubeadm's own taint off a lone node, and fails if it is not there.
    node = {"taints": [_CONTROL_PLANE_TAINT, dict(TAINT)]}
    api = f"kubeadm.k8s.io/{version}"
    return [
        {
            "apiVersion": api,
            "kind": "ClusterConfiguration",
            "etcd": {"local": {"extraArgs": extra["etcd"]}},
            "apiServer": {"extraArgs": extra["apiServer"], "extraVolumes": [settings, audit]},
            "controllerManager": {"extraArgs": extra["controllerManager"]},
            # A copy: YAML would refer to the other by an anchor.
            "scheduler": {"extraArgs": extra["scheduler"], "extraVolumes": [dict(settings)]},
        },
        {"apiVersion": api, "kind": "InitConfiguration", "nodeRegistration": node},
    ]


def _volume(name: str, path: str, *, read_only: bool) -> dict[str, Any]:
    where = {"hostPath": path, "mountPath": path, "pathType": "Directory"}
    return {"name": name, **where, "readOnly": read_only}


def _same(command: Iterable[str]) -> dict[str, str]:
    given = (each.removeprefix("--").split("=", 1) for each in command if "=" in each)
    return {name: value for name, value in given if _SAME.fullmatch(name)}
