"""Applies manifests in the order a cluster needs: namespaces, CRDs until they serve, the rest."""

import itertools
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.kube.api import Api
from conformance.kube.resource import served_by
from conformance.kube.transport import FIELD_MANAGER, PatchType, raise_for
from conformance.model.errors import InfraError, UsageError

ESTABLISH_SECONDS = 30.0
"""From the applied CRD to the first list of its kind; 1-3 s on a busy machine."""
_POLL_SECONDS = 0.1
_ORDER = {"Namespace": 0, "CustomResourceDefinition": 1}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_manifests(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file, or of every .yaml, .yml and .json file of a directory, by name.
    Raises UsageError for what cannot be read or is no Kubernetes object."""
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml", ".json"))
        if not files:
            raise UsageError(f"{path} holds no manifest; expected *.yaml, *.yml or *.json files")
        return [manifest for file in files for manifest in load_manifests(file)]
    try:
        documents = list(yaml.load_all(path.read_bytes(), Loader=_Loader))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"the manifest {path} cannot be read: {error}") from error
    manifests: list[dict[str, Any]] = []
    for document in documents:
        if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
            documents += document.get("items") or ()
        elif document is not None:
            manifests.append(_checked(document, str(path)))
    return manifests


def apply_manifests(
    api: Api,
    manifests: Iterable[Mapping[str, Any]],
    *,
    namespace: str | None = None,
    manager: str = FIELD_MANAGER,
) -> list[dict[str, Any]]:
    """Server-side apply; the stored objects, in that order. `namespace` is for objects of namespaced
    kinds that name none. Raises UsageError for a bad manifest, InfraError if one is refused or a CRD
    does not serve within ESTABLISH_SECONDS."""
    given = [_checked(manifest, "a given manifest") for manifest in manifests]
    stored: list[dict[str, Any]] = []
    for turn, batch in itertools.groupby(sorted(given, key=_turn), key=_turn):
        together = list(batch)
        stored += [_apply(api, manifest, namespace, manager) for manifest in together]
        if turn == _ORDER["CustomResourceDefinition"]:
            _wait_served(api, [str(crd["metadata"]["name"]) for crd in together])
    return stored


def _turn(manifest: Mapping[str, Any]) -> int:
    return _ORDER.get(str(manifest["kind"]), len(_ORDER))


def _apply(
    api: Api, manifest: Mapping[str, Any], namespace: str | None, manager: str
) -> dict[str, Any]:
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind, name = str(manifest["kind"]), str(manifest["metadata"]["name"])
    resource = api.resource_for(kind, group, version)
    target = manifest["metadata"].get("namespace") or namespace
    if resource.namespaced and not target:
        raise UsageError(f"{kind} {name} names no namespace; expected metadata.namespace to be set")
    # With force: fields are taken over from other managers.
    params = {"fieldManager": manager, "force": True}
    path = resource.path(target, name)
    answer = api.request("PATCH", path, manifest, PatchType.APPLY, params)
    body: dict[str, Any] = raise_for(answer, f"applying {kind} {name}").body
    return body


def _wait_served(api: Api, names: Iterable[str]) -> None:
    """Until each CRD is established *and* its kind can be listed: serving starts a moment later."""
    crds = api.resource_for("CustomResourceDefinition", "apiextensions.k8s.io")
    end = time.monotonic() + ESTABLISH_SECONDS
    for name in names:
        while not _serves(api, api.read(crds, name)):
            if time.monotonic() > end:
                raise InfraError(
                    f"the CRD {name} did not serve its kind within {ESTABLISH_SECONDS:g} s"
                )
            time.sleep(_POLL_SECONDS)


def _serves(api: Api, crd: Mapping[str, Any] | None) -> bool:
    resource = served_by(crd) if crd else None
    return bool(resource and api.request("GET", resource.path(), params={"limit": 1}).ok)


def _checked(manifest: Any, where: str) -> dict[str, Any]:
    meta = manifest.get("metadata") if isinstance(manifest, Mapping) else None
    if not isinstance(meta, Mapping) or not meta.get("name") or not manifest.get("kind"):
        raise UsageError(
            f"{where} holds something that is no Kubernetes object; expected kind and metadata.name"
        )
    if not manifest.get("apiVersion"):
        raise UsageError(f"{where}: {manifest['kind']} {meta['name']} lacks apiVersion")
    return dict(manifest)
