"""How admission and conversion requests reach a process on loopback. Pure: manifests in, manifests
out.

The operator's own manifests name a Service. That reference stays; only a port and the CA are added,
and the Service is made of type ExternalName to localhost: the API server follows it. Some operators
check at start that their CRDs' conversion stanza is a service reference, so replacing it by a URL
will not do.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ADMISSION_KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
CRD_KIND = "CustomResourceDefinition"
_NO_CA = "Cg=="
"""What scaffolded manifests hold until somebody fills in a CA."""


@dataclass(frozen=True, slots=True, order=True)
class ServiceRef:
    """A Service that manifests point at."""

    namespace: str
    name: str

    @property
    def host(self) -> str:
        """The name by which the API server checks the certificate."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def hosts(self) -> list[str]:
        """All names under which it is reached within a cluster."""
        short = f"{self.name}.{self.namespace}"
        return [self.host, short, f"{self.host}.cluster.local"]


def services(manifests: Iterable[Mapping[str, Any]]) -> list[ServiceRef]:
    """Services that webhook configurations and conversion stanzas refer to, sorted, each once."""
    found = {
        ServiceRef(str(service.get("namespace", "")), str(service.get("name", "")))
        for manifest in manifests
        for client in _clients(manifest)
        if (service := client.get("service"))
    }
    return sorted(found)


def service_of(manifest: Mapping[str, Any]) -> ServiceRef | None:
    """The manifest's own name, if it is a Service."""
    if manifest["kind"] != "Service":
        return None
    metadata = manifest["metadata"]
    return ServiceRef(str(metadata.get("namespace") or ""), str(metadata["name"]))


def reachable(manifest: Mapping[str, Any], *, port: int, ca_bundle: str) -> dict[str, Any]:
    """A copy whose service references carry the port and the CA (base64). A client given by URL,
    and a manifest of another kind, stay as they are."""
    copied = copy.deepcopy(dict(manifest))
    for client in _clients(copied):
        if client.get("service"):
            client["service"]["port"] = port
            client["caBundle"] = ca_bundle
    return copied


def trusting(manifest: Mapping[str, Any], *, ca_bundle: str) -> dict[str, Any]:
    """A copy in which each service reference without a CA gets this one (base64): what cert-manager
    adds to an installation."""
    copied = copy.deepcopy(dict(manifest))
    for client in _clients(copied):
        if client.get("service") and client.get("caBundle") in (None, "", _NO_CA):
            client["caBundle"] = ca_bundle
    return copied


def external_name(reference: ServiceRef, *, port: int) -> dict[str, Any]:
    """The Service itself: an alias of localhost."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": reference.name, "namespace": reference.namespace},
        "spec": {
            "type": "ExternalName",
            "externalName": "localhost",
            "ports": [{"name": "webhook", "port": port, "protocol": "TCP"}],
        },
    }


def guarded(manifests: Iterable[Mapping[str, Any]], *, group: str, resource: str) -> set[str]:
    """API versions for which a validating webhook is configured for a resource; `*` for all."""
    return {
        version
        for manifest in manifests
        if manifest.get("kind") == "ValidatingWebhookConfiguration"
        for webhook in manifest.get("webhooks") or ()
        for rule in webhook.get("rules") or ()
        if {group, "*"} & set(rule.get("apiGroups") or ())
        and {resource, "*", "*/*"} & set(rule.get("resources") or ())
        for version in rule.get("apiVersions") or ()
    }


def _clients(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if manifest.get("kind") in ADMISSION_KINDS:
        for webhook in manifest.get("webhooks") or ():
            yield webhook.get("clientConfig") or {}
    elif manifest.get("kind") == CRD_KIND:
        conversion = (manifest.get("spec") or {}).get("conversion") or {}
        if conversion.get("strategy") == "Webhook":
            yield (conversion.get("webhook") or {}).get("clientConfig") or {}
