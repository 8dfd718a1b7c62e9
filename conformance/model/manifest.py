"""Graphs as manifests of each API version, and back.

v1alpha1: `services` map, GPU under `resources.limits.gpu`, main container in
`extraPodSpec.mainContainer`. v1beta1: `components` list, everything in `podTemplate` with a container
called `main` and `nvidia.com/gpu` in its limits. (worker, subComponentType prefill|decode) of v1alpha1
is type prefill|decode of v1beta1.
"""

import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

from conformance.model.errors import UsageError
from conformance.model.graph import (
    COMPONENT_KIND,
    GRAPH_KIND,
    GROUP,
    ApiVersion,
    Graph,
    Role,
    Service,
)

MAIN = "main"
GPU_RESOURCE = "nvidia.com/gpu"
_SUB_ROLES = {Role.PREFILL, Role.DECODE}


def manifest(graph: Graph, *, version: ApiVersion, namespace: str = "") -> dict[str, Any]:
    """The graph as a complete object of that API version, ready to be created."""
    specs = [service_spec(service, version) for service in graph.services]
    if version is ApiVersion.V1ALPHA1:
        names = [service.name for service in graph.services]
        spec: dict[str, Any] = {"services": dict(zip(names, specs, strict=True))}
    else:
        spec = {"components": specs}
    metadata: dict[str, Any] = {"name": graph.name}
    if namespace:
        metadata["namespace"] = namespace
    if graph.annotations:
        metadata["annotations"] = dict(graph.annotations)
    if graph.labels:
        metadata["labels"] = dict(graph.labels)
    return _object(GRAPH_KIND, version, metadata, spec, graph.backend)


def component_manifest(
    service: Service, *, name: str, version: ApiVersion, namespace: str, backend: str | None = None
) -> dict[str, Any]:
    """The service as a bare component (DCD), an object of the user's own without a graph.

    v1alpha1 names the service in `serviceName`, v1beta1 in `name`. The namespace part of the
    component's identity (`dynamoNamespace`) is the component's own name.
    """
    spec = service_spec(service, version)
    if version is ApiVersion.V1ALPHA1:
        spec |= {"serviceName": service.name, "dynamoNamespace": name}
    return _object(COMPONENT_KIND, version, {"name": name, "namespace": namespace}, spec, backend)


def _object(
    kind: str,
    version: ApiVersion,
    metadata: dict[str, Any],
    spec: dict[str, Any],
    backend: str | None,
) -> dict[str, Any]:
    if backend:
        spec["backendFramework"] = backend
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def service_spec(service: Service, version: ApiVersion) -> dict[str, Any]:
    """One service as that API version writes it (in v1beta1 with its name)."""
    spec: dict[str, Any] = {}
    if service.replicas is not None:
        spec["replicas"] = service.replicas
    if service.node_count is not None:
        spec["multinode"] = {"nodeCount": service.node_count}
    pod = copy.deepcopy(dict(service.pod))
    container = copy.deepcopy(dict(service.container))
    both = {"labels": service.pod_labels, "annotations": service.pod_annotations}
    metadata = {key: dict(value) for key, value in both.items() if value}
    if version is ApiVersion.V1ALPHA1:
        sub = service.role in _SUB_ROLES
        spec["componentType"] = str(Role.WORKER if sub else service.role)
        if sub:
            spec["subComponentType"] = str(service.role)
        if service.gpus is not None:
            spec["resources"] = {"limits": {"gpu": str(service.gpus)}}
        spec["extraPodSpec"] = {**pod, "mainContainer": container}
        if metadata:
            spec["extraPodMetadata"] = metadata
        return spec
    if service.gpus is not None:
        limits = container.setdefault("resources", {}).setdefault("limits", {})
        limits[GPU_RESOURCE] = str(service.gpus)
    containers = [{**container, "name": MAIN}, *pod.pop("containers", [])]
    template: dict[str, Any] = {"spec": {**pod, "containers": containers}}
    if metadata:
        template["metadata"] = metadata
    return {"name": service.name, "type": str(service.role), **spec, "podTemplate": template}


def service_bodies(document: Mapping[str, Any], version: ApiVersion) -> dict[str, dict[str, Any]]:
    """Name → what a graph's manifest says of that service."""
    spec = document.get("spec") or {}
    if version is ApiVersion.V1ALPHA1:
        return dict(spec.get("services") or {})
    return {str(body["name"]): body for body in spec.get("components") or []}


def parse(document: Mapping[str, Any], *, source: str = "manifest") -> Graph:
    """The graph in a DGD manifest of either version. Raises UsageError naming the file and field."""
    group, _, version_name = str(document.get("apiVersion", "")).partition("/")
    if group != GROUP or document.get("kind") != GRAPH_KIND:
        raise UsageError(
            f"{source}: expected a {GRAPH_KIND} of {GROUP}, found kind {document.get('kind')!r} of "
            f"{document.get('apiVersion')!r}; give the manifest of a graph"
        )
    try:
        version = ApiVersion(version_name)
    except ValueError:
        known = ", ".join(ApiVersion)
        raise UsageError(f"{source}: apiVersion {version_name!r} is not one of {known}") from None
    spec = document.get("spec") or {}
    metadata = document.get("metadata") or {}
    bodies = service_bodies(document, version)
    return Graph(
        name=str(metadata.get("name", "")),
        services=tuple(_service(name, body, version) for name, body in bodies.items()),
        backend=spec.get("backendFramework"),
        annotations=dict(metadata.get("annotations") or {}),
        labels=dict(metadata.get("labels") or {}),
    )


def _service(name: str, body: Mapping[str, Any], version: ApiVersion) -> Service:
    read = _alpha if version is ApiVersion.V1ALPHA1 else _beta
    role, gpus, container, pod, metadata = read(body)
    multinode = body.get("multinode")
    return Service(
        name=name,
        role=Role(role),
        replicas=body.get("replicas"),
        # The CRD's default for an empty `multinode: {}` is 2.
        node_count=None if multinode is None else int(multinode.get("nodeCount", 2)),
        gpus=None if gpus is None else int(gpus),
        container=container,
        pod=pod,
        pod_labels=dict(metadata.get("labels") or {}),
        pod_annotations=dict(metadata.get("annotations") or {}),
    )


_Parts: TypeAlias = tuple[str, str | None, dict[str, Any], dict[str, Any], Mapping[str, Any]]
"""What the API versions write in different places: role, GPUs, main container, the rest of the pod's
spec, and the pod's metadata."""


def _alpha(body: Mapping[str, Any]) -> _Parts:
    role = body.get("subComponentType") or body.get("componentType", "worker")
    gpus = ((body.get("resources") or {}).get("limits") or {}).get("gpu")
    pod = copy.deepcopy(dict(body.get("extraPodSpec") or {}))
    container = pod.pop("mainContainer", {})
    return role, gpus, container, pod, body.get("extraPodMetadata") or {}


def _beta(body: Mapping[str, Any]) -> _Parts:
    template = copy.deepcopy(dict(body.get("podTemplate") or {}))
    pod = template.get("spec") or {}
    containers = pod.pop("containers", [])
    container: dict[str, Any] = next((c for c in containers if c.get("name") == MAIN), {})
    container.pop("name", None)
    if others := [c for c in containers if c is not container]:
        pod["containers"] = others
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    gpus = limits.pop(GPU_RESOURCE, None)
    # v1alpha1 keeps the GPUs elsewhere, and writes no empty mapping in their place.
    if not limits:
        resources.pop("limits", None)
    if not resources:
        container.pop("resources", None)
    return body.get("type", "worker"), gpus, container, pod, template.get("metadata") or {}
