"""The command line of each part of the embedded control plane. Pure: settings in, arguments out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.ports import LOOPBACK

MANIFESTS = resources.files("conformance.cluster") / "manifests"

NODE_GPUS = 128
"""GPUs of one node: capacity that the scheduler really counts; four nodes hold the graphs of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """TCP ports on loopback."""

    etcd: int
    etcd_peer: int
    apiserver: int
    lws_webhook: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where things lie in a cluster's directory. `logs` may lie outside, to be kept."""

    directory: Path
    logs: Path

    @property
    def pki(self) -> Path:
        """Keys and certificates of the API server."""
        return self.directory / "pki"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, JSON lines."""
        return self.logs / "audit.jsonl"

    @property
    def lws_certificates(self) -> Path:
        """Serving certificate of the LeaderWorkerSet controller."""
        return self.directory / "lws-certificates"

    @property
    def audit_policy(self) -> Path:
        """What the API server records."""
        return self.directory / "audit-policy.yaml"

    @property
    def scheduler(self) -> Path:
        """Configuration of kube-scheduler."""
        return self.directory / "scheduler.yaml"

    @property
    def lws(self) -> Path:
        """Configuration of the LeaderWorkerSet controller."""
        return self.directory / "lws.json"

    @property
    def stages(self) -> Path:
        """What KWOK does to nodes and pods."""
        return self.directory / "kwok-stages.yaml"

    def log(self, process: str) -> Path:
        """Output and errors of one process."""
        return self.logs / f"{process}.log"

    def kubeconfig(self, identity: str) -> Path:
        """Of one identity of the cluster."""
        return self.directory / f"{identity}.kubeconfig"


def text(name: str) -> bytes:
    """One file in manifests/."""
    return (MANIFESTS / name).read_bytes()


def objects(name: str) -> list[Any]:
    """The objects of one file in manifests/."""
    return list(yaml.safe_load_all(text(name)))


def etcd(layout: Layout, ports: Ports) -> list[str]:
    """One member, on loopback, without fsync: its data is worth nothing after the run."""
    url, peer = f"http://{LOOPBACK}:{ports.etcd}", f"http://{LOOPBACK}:{ports.etcd_peer}"
    return [
        f"--data-dir={layout.directory / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        # A member alone elects itself after this time; the default of 1 s would be a fifth of the
        # start.
        "--heartbeat-interval=20",
        "--election-timeout=100",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, ports: Ports) -> list[str]:
    """Certificates and RBAC, as in a real cluster; the audit log blocks, so that an answered write
    is in it."""
    pki = layout.pki
    return [
        f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        # Endpoints must not be loopback addresses: the reconciler could only fail, again and again.
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        f"--service-account-key-file={pki / 'service-account.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",
        "--audit-log-format=json",
        # One file for a whole run: a rotation under the reader's eyes would look like a gap.
        "--audit-log-maxsize=0",
        "--max-requests-inflight=1600",
        "--max-mutating-requests-inflight=800",
        "--delete-collection-workers=8",
        # All clients are our own; queueing them fairly costs more than it can give on two cores.
        "--enable-priority-and-fairness=false",
        "--profiling=false",
        "--v=1",
    ]


def controller_manager(layout: Layout) -> list[str]:
    """Each controller under its own service account, so that the audit log tells them apart."""
    return [
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={layout.pki / 'service-account.key'}",
        f"--root-ca-file={layout.pki / 'ca.crt'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--allocate-node-cidrs=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        # Endpoints are deprecated since v1.33 and a twelfth of all writes; EndpointSlices are kept.
        "--controllers=*,-endpoints-controller,-endpointslice-mirroring-controller",
        "--concurrent-namespace-syncs=20",
        "--concurrent-deployment-syncs=10",
        "--concurrent-replicaset-syncs=10",
        "--concurrent-statefulset-syncs=10",
        "--concurrent-endpoint-syncs=10",
        "--concurrent-service-endpoint-syncs=10",
        "--concurrent-serviceaccount-token-syncs=10",
        # A node is as alive as KWOK; a busy machine must not evict pods.
        "--node-monitor-grace-period=600s",
        "--node-startup-grace-period=600s",
        "--profiling=false",
        "--v=1",
    ]


def scheduler(layout: Layout) -> list[str]:
    """Two profiles, see manifests/scheduler.yaml."""
    return [
        f"--config={layout.scheduler}",
        "--secure-port=0",
        "--v=1",
    ]


def lws(layout: Layout) -> list[str]:
    """The LeaderWorkerSet controller."""
    return [f"--config={layout.lws}", "--zap-log-level=info"]


def kwok(layout: Layout) -> list[str]:
    """Keeps the cluster's nodes and pods alive, after manifests/kwok-stages.yaml."""
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.stages}",
        "--manage-all-nodes",
        "--cidr=10.244.0.0/16",
        "--node-port=0",
        "--node-lease-duration-seconds=40",
    ]


def scheduler_configuration(layout: Layout) -> dict[str, Any]:
    """manifests/scheduler.yaml with the cluster's kubeconfig."""
    configuration: dict[str, Any] = objects("scheduler.yaml")[0]
    configuration["clientConnection"]["kubeconfig"] = str(layout.kubeconfig("kube-scheduler"))
    return configuration


def lws_configuration(layout: Layout, ports: Ports) -> dict[str, Any]:
    """Own certificates instead of its certificate manager, nothing but the webhook listening."""
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": LOOPBACK,
            "port": ports.lws_webhook,
            "certDir": str(layout.lws_certificates),
        },
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }


def lws_webhooks(ports: Ports, bundle: str) -> list[Any]:
    """manifests/lws-webhooks.yaml, pointed at the process on loopback."""
    configurations = objects("lws-webhooks.yaml")
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            client = webhook["clientConfig"]
            client["url"] = f"https://{LOOPBACK}:{ports.lws_webhook}{client['url']}"
            client["caBundle"] = bundle
    return configurations


def node(index: int, *, version: str) -> dict[str, Any]:
    """A node as a kubelet would register it, ready from the start."""
    name = f"node-{index}"
    resources_of = {
        "cpu": "64",
        "memory": "512Gi",
        "ephemeral-storage": "1Ti",
        "pods": "250",
        "nvidia.com/gpu": str(NODE_GPUS),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "nvidia.com/gpu.present": "true",
                "type": "kwok",
            },
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {
            "capacity": resources_of,
            "allocatable": resources_of,
            "addresses": [
                {"type": "InternalIP", "address": f"192.0.2.{index + 1}"},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "simulated",
                }
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "kwok",
                "kernelVersion": "kwok",
                "kubeProxyVersion": "",
                "kubeletVersion": version,
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "kwok",
                "systemUUID": "",
            },
            "phase": "Running",
        },
    }


def cluster_admin(user: str) -> Mapping[str, Any]:
    """A binding that lets one user of the cluster do everything."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"dgd-conformance:{user}"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
