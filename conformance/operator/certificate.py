"""Serving certificates for webhooks, as Secrets: what cert-manager would make."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.cluster.certificates import Authority
from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall
from conformance.operator import webhooks


def tls_secret(name: str, namespace: str, content: Mapping[str, bytes]) -> dict[str, Any]:
    """A Secret with these files: tls.crt, tls.key and ca.crt."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: base64.b64encode(part).decode() for key, part in content.items()},
    }


def webhook_secret(
    manifests: Iterable[Mapping[str, Any]],
    authority: Authority,
    *,
    settings: ClusterInstall,
    where: str,
) -> list[dict[str, Any]]:
    """The Secret for the Services that webhooks and conversions name; none if the operator looks after
    itself. Raises UsageError if no Service is named."""
    if not settings.certificate_secret:
        return []
    services = webhooks.services(manifests)
    if not services:
        raise UsageError(
            f"{where}: `in_cluster.certificate_secret` is for the Services that webhooks and "
            "conversions name, and none is named; leave it out"
        )
    pair = authority.server([host for service in services for host in service.hosts])
    content = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    return [tls_secret(settings.certificate_secret, settings.namespace, content)]
