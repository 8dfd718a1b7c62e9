"""Steps of an installation on objects that are in the cluster already."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conformance.kube import Api, Resource, raise_for
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.model.graph import GROUP
from conformance.operator import webhooks
from conformance.operator.pods.adapt import Adaptation
from conformance.operator.pods.footprint import CRDS, NAMESPACES, Footprint
from conformance.operator.pods.helm import Helm

_TRIES = 5
_POLL = 0.3
_UNCHANGEABLE = ("Job", "Pod")
"""Kinds whose pods cannot be changed once they are made."""


def adapt(api: Api, manifests: Iterable[Mapping[str, Any]], adaptation: Adaptation) -> None:
    """Change the objects that a program of its own has installed, as they would have been before an
    apply. Raises InfraError."""
    for manifest in manifests:
        if manifest["kind"] in _UNCHANGEABLE:
            continue
        group, _, version = str(manifest["apiVersion"]).rpartition("/")
        resource = api.resource_for(manifest["kind"], group, version)
        namespace = manifest["metadata"].get("namespace") or adaptation.namespace
        _change(api, resource, manifest["metadata"]["name"], namespace, adaptation.apply)


def trust_kinds(api: Api, adaptation: Adaptation) -> None:
    """Give the conversions of the graph's group the CA if they lack one. Raises InfraError."""
    if not adaptation.ca_bundle:
        return
    for crd in api.metadata_list(CRDS)[0]:
        name = str(crd["metadata"]["name"])
        if name.endswith(f".{GROUP}"):
            _change(
                api,
                CRDS,
                name,
                None,
                lambda found: webhooks.trusting(found, ca_bundle=adaptation.ca_bundle),
            )


def settled_namespace(api: Api, name: str, *, within: float) -> dict[str, Any] | None:
    """The namespace, None if there is none. One that is on its way out is waited for, since nothing
    can be made in it. Raises InfraError after `within` seconds."""
    began = time.monotonic()
    while (found := api.read(NAMESPACES, name)) is not None:
        if not found["metadata"].get("deletionTimestamp"):
            break
        if time.monotonic() - began > within:
            raise InfraError(f"namespace {name} was still being deleted after {within:.0f} s")
        time.sleep(_POLL)
    return found


def undo(footprint: Footprint, helm: Helm | None, bounds: Bounds) -> Callable[[], None]:
    """Removes an installation: graphs while the operator can still release them, then its release,
    then the rest; each even if an earlier one fails."""

    def remove() -> None:
        with contextlib.ExitStack() as ending:
            ending.callback(footprint.remove, within=bounds.install)
            if helm is not None:
                ending.callback(helm.uninstall, within=bounds.install)
            ending.callback(footprint.remove_graphs, within=bounds.deletion_deadline)

    return remove


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
