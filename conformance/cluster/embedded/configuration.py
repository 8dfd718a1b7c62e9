"""Configuration files of the embedded control plane's parts. Pure."""

from pathlib import Path
from typing import Any

from conformance.cluster import manifests
from conformance.cluster.embedded.layout import Layout, Ports
from conformance.cluster.processes.ports import LOOPBACK

LWS_CONTROLLER: dict[str, Any] = {
    "apiVersion": "config.lws.x-k8s.io/v1alpha1",
    "kind": "Configuration",
    "internalCertManagement": {"enable": False},
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"qps": 1000, "burst": 2000},
}
"""In every cluster: with certificates of ours, and fast."""


def scheduler(kubeconfig: Path | str) -> dict[str, Any]:
    """manifests/scheduler.yaml with a kubeconfig."""
    configuration: dict[str, Any] = manifests.objects("scheduler.yaml")[0]
    configuration["clientConnection"]["kubeconfig"] = str(kubeconfig)
    return configuration


def lws(layout: Layout, ports: Ports) -> dict[str, Any]:
    """Nothing but the webhook listens."""
    certificates = str(layout.lws_certificates)
    return {
        **LWS_CONTROLLER,
        "webhook": {"host": LOOPBACK, "port": ports.lws_webhook, "certDir": certificates},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }


def lws_webhooks(ports: Ports, ca_bundle: str) -> list[Any]:
    """manifests/lws-webhooks.yaml, pointed at the process on loopback."""
    configurations = manifests.objects("lws-webhooks.yaml")
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            client = webhook["clientConfig"]
            client["url"] = f"https://{LOOPBACK}:{ports.lws_webhook}{client['url']}"
            client["caBundle"] = ca_bundle
    return configurations
