"""How admission and conversion requests reach an operator. Pure: manifests in, manifests out.

For a process on loopback, the operator's own reference to a Service stays; only a port and the CA are
added, and the Service is made of type ExternalName to localhost: the API server follows it. Some
operators check at start that their CRDs' conversion is a service reference, so a URL will not do.
"""

import base64
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.state import Obj
from conformance.operator.resources import CRDS, VALIDATING_WEBHOOKS

_ADMISSION_KINDS = (VALIDATING_WEBHOOKS.kind, "MutatingWebhookConfiguration")
_NO_CA = (None, "", "Cg==")
"""Scaffolded manifests hold the last until somebody fills in a CA."""


@dataclass(frozen=True, slots=True, order=True)
class ServiceRef:
    """A Service that manifests point at."""

    namespace: str
    name: str

    @property
    def host(self) -> str:
        """By which the API server checks the certificate."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def hosts(self) -> list[str]:
        """All names under which it is reached within a cluster."""
        return [self.host, f"{self.name}.{self.namespace}", f"{self.host}.cluster.local"]


def services(manifests: Iterable[Mapping[str, Any]]) -> list[ServiceRef]:
    """Services that webhook configurations and conversions refer to, sorted, each once."""
    found = {
        ServiceRef(str(service.get("namespace", "")), str(service.get("name", "")))
        for manifest in manifests
        for service in (client["service"] for client in _clients_by_service(manifest))
    }
    return sorted(found)


def service_of(manifest: Mapping[str, Any]) -> ServiceRef | None:
    """The manifest's own name, if it is a Service."""
    service = Obj(manifest)
    return ServiceRef(service.namespace, service.name) if service.kind == "Service" else None


def reachable(manifest: Mapping[str, Any], *, port: int, ca_bundle: str) -> dict[str, Any]:
    """A copy whose service references carry the port and the CA (base64); clients given by URL stay."""
    copied = copy.deepcopy(dict(manifest))
    for client in _clients_by_service(copied):
        client["service"]["port"] = port
        client["caBundle"] = ca_bundle
    return copied


def trusting(manifest: Mapping[str, Any], *, ca_bundle: str) -> dict[str, Any]:
    """A copy whose service references all have a CA (base64), this one if need be."""
    copied = copy.deepcopy(dict(manifest))
    for client in _clients_by_service(copied):
        if client.get("caBundle") in _NO_CA:
            client["caBundle"] = ca_bundle
    return copied


def external_name(reference: ServiceRef, *, port: int) -> dict[str, Any]:
    """The Service itself: an alias of localhost."""
    metadata = {"name": reference.name, "namespace": reference.namespace}
    ports = [{"name": "webhook", "port": port, "protocol": "TCP"}]
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def tls_secret(name: str, namespace: str, content: Mapping[str, bytes]) -> dict[str, Any]:
    """A Secret with these files, as cert-manager would make it: tls.crt, tls.key and ca.crt."""
    metadata = {"name": name, "namespace": namespace}
    data = {key: base64.b64encode(part).decode() for key, part in content.items()}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
    return {**kind, "metadata": metadata, "data": data}


def guarded(manifests: Iterable[Mapping[str, Any]], *, group: str, resource: str) -> set[str]:
    """API versions for which a validating webhook is configured for a resource; `*` for all."""
    return {
        version
        for manifest in manifests
        if manifest.get("kind") == VALIDATING_WEBHOOKS.kind
        for webhook in manifest.get("webhooks") or ()
        for rule in webhook.get("rules") or ()
        if {group, "*"} & set(rule.get("apiGroups") or ())
        and {resource, "*", "*/*"} & set(rule.get("resources") or ())
        for version in rule.get("apiVersions") or ()
    }


def _clients_by_service(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The client configurations of a manifest that name a Service."""
    wanted = Obj(manifest)
    hooks: list[dict[str, Any]] = []
    if wanted.kind in _ADMISSION_KINDS:
        hooks = wanted.at("webhooks") or []
    elif wanted.kind == CRDS.kind and wanted.at("spec", "conversion", "strategy") == "Webhook":
        hooks = [wanted.at("spec", "conversion", "webhook") or {}]
    for hook in hooks:
        client = hook.get("clientConfig") or {}
        if client.get("service"):
            yield client
