"""Changes objects that are in the cluster already, as an apply would have changed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.kube import Api, Resource, raise_for
from conformance.model.graph import GROUP
from conformance.operator import webhooks
from conformance.operator.pods.adapt import Adaptation
from conformance.operator.resources import CRDS

_TRIES = 5
_UNCHANGEABLE = ("Job", "Pod")
"""Kinds whose pods cannot be changed once they are made."""


def adapt(api: Api, manifests: Iterable[Mapping[str, Any]], adaptation: Adaptation) -> None:
    """Change the objects that Helm has installed as they would have been changed before an apply.
    Raises InfraError."""
    for manifest in manifests:
        if manifest["kind"] in _UNCHANGEABLE:
            continue
        group, _, version = str(manifest["apiVersion"]).rpartition("/")
        resource = api.resource_for(manifest["kind"], group, version)
        namespace = manifest["metadata"].get("namespace") or adaptation.namespace
        _change(api, resource, manifest["metadata"]["name"], namespace, adaptation.apply)


def trust_kinds(api: Api, adaptation: Adaptation) -> None:
    """Give the conversions of the graph's group the CA if they lack one: some operators bring their
    CRDs themselves when they start. Raises InfraError."""
    if not adaptation.ca_bundle:
        return

    def trusting(crd: dict[str, Any]) -> dict[str, Any]:
        return webhooks.trusting(crd, ca_bundle=adaptation.ca_bundle)

    for crd in api.metadata_list(CRDS)[0]:
        name = str(crd["metadata"]["name"])
        if name.endswith(f".{GROUP}"):
            _change(api, CRDS, name, None, trusting)


def _change(
    api: Api,
    resource: Resource,
    name: str,
    namespace: str | None,
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Read, change, replace; again if somebody else was faster."""
    for remaining in reversed(range(_TRIES)):
        found = api.read(resource, name, namespace)
        if found is None:
            return
        changed = change(found)
        if changed == found:
            return
        answer = api.replace(resource, changed, namespace)
        if answer.code != 409 or not remaining:
            raise_for(answer, f"changing {resource.kind} {name}")
            return
