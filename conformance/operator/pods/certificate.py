"""The webhook certificate of an operator that leaves it to others: what cert-manager would do."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.cluster.certificates import Authority
from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall
from conformance.operator import webhooks


def certificate_secret(
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
    references = webhooks.services(manifests)
    if not references:
        raise UsageError(
            f"{where}: `in_cluster.certificate_secret` is for the Services that webhooks and "
            "conversions name, and none is named; leave it out"
        )
    pair = authority.server([host for reference in references for host in reference.hosts])
    parts = {
        "tls.crt": pair.certificate,
        "tls.key": pair.key,
        "ca.crt": authority.certificate,
    }
    secret: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
    secret["metadata"] = {"name": settings.certificate_secret, "namespace": settings.namespace}
    secret["data"] = {key: base64.b64encode(part).decode() for key, part in parts.items()}
    return [secret]
