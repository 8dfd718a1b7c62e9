"""Graphs as manifests of each API version, and back.

v1alpha1: `services` map, GPU under `resources.limits.gpu`, main container in
`extraPodSpec.mainContainer`. v1beta1: `components` list, everything in `podTemplate` with a container
called `main` and `nvidia.com/gpu` in its limits. (worker, subComponentType prefill|decode) of v1alpha1
is type prefill|decode of v1beta1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

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
    if version is ApiVersion.V1ALPHA1:
        spec: dict[str, Any] = {
            "services": {s.name: service_spec(s, version) for s in graph.services}
        }
    else:
        spec = {"components": [service_spec(s, version) for s in graph.services]}
    if graph.backend:
        spec["backendFramework"] = graph.backend
    metadata: dict[str, Any] = {"name": graph.name}
    if namespace:
        metadata["namespace"] = namespace
    if graph.annotations:
        metadata["annotations"] = dict(graph.annotations)
    if graph.labels:
        metadata["labels"] = dict(graph.labels)
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": GRAPH_KIND,
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
    container = copy.deepcopy(dict(service.container))
    pod = copy.deepcopy(dict(service.pod))
    if version is ApiVersion.V1ALPHA1:
        sub = service.role in _SUB_ROLES
        spec["componentType"] = str(Role.WORKER if sub else service.role)
        if sub:
            spec["subComponentType"] = str(service.role)
        if service.gpus is not None:
            spec["resources"] = {"limits": {"gpu": str(service.gpus)}}
        spec["extraPodSpec"] = {**pod, "mainContainer": container}
        extra = {"labels": service.pod_labels, "annotations": service.pod_annotations}
        if any(extra.values()):
            spec["extraPodMetadata"] = {key: dict(value) for key, value in extra.items() if value}
        return spec
    if service.gpus is not None:
        limits = container.setdefault("resources", {}).setdefault("limits", {})
        limits[GPU_RESOURCE] = str(service.gpus)
    containers = [{**container, "name": MAIN}, *pod.pop("containers", [])]
    template: dict[str, Any] = {"spec": {**pod, "containers": containers}}
    metadata = {"labels": service.pod_labels, "annotations": service.pod_annotations}
    if any(metadata.values()):
        template["metadata"] = {key: dict(value) for key, value in metadata.items() if value}
    return {"name": service.name, "type": str(service.role), **spec, "podTemplate": template}


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
    if backend:
        spec["backendFramework"] = backend
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": COMPONENT_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


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
    if version is ApiVersion.V1ALPHA1:
        services = tuple(_alpha(name, body) for name, body in (spec.get("services") or {}).items())
    else:
        services = tuple(_beta(body) for body in spec.get("components") or [])
    return Graph(
        name=str(metadata.get("name", "")),
        services=services,
        backend=spec.get("backendFramework"),
        annotations=dict(metadata.get("annotations") or {}),
        labels=dict(metadata.get("labels") or {}),
    )


def _node_count(body: Mapping[str, Any]) -> int | None:
    multinode = body.get("multinode")
    # The CRD's default for an empty `multinode: {}` is 2.
    return None if multinode is None else int(multinode.get("nodeCount", 2))


def _alpha(name: str, body: Mapping[str, Any]) -> Service:
    pod = copy.deepcopy(dict(body.get("extraPodSpec") or {}))
    container = pod.pop("mainContainer", {})
    extra = body.get("extraPodMetadata") or {}
    gpu = ((body.get("resources") or {}).get("limits") or {}).get("gpu")
    return Service(
        name=name,
        role=Role(body.get("subComponentType") or body.get("componentType", "worker")),
        replicas=body.get("replicas"),
        node_count=_node_count(body),
        gpus=None if gpu is None else int(gpu),
        container=container,
        pod=pod,
        pod_labels=dict(extra.get("labels") or {}),
        pod_annotations=dict(extra.get("annotations") or {}),
    )


def _beta(body: Mapping[str, Any]) -> Service:
    template = copy.deepcopy(dict(body.get("podTemplate") or {}))
    pod = template.get("spec") or {}
    containers = pod.pop("containers", [])
    main: dict[str, Any] = next((c for c in containers if c.get("name") == MAIN), {})
    others = [c for c in containers if c.get("name") != MAIN]
    container = {key: value for key, value in main.items() if key != "name"}
    resources = container.get("resources") or {}
    gpu = (resources.get("limits") or {}).pop(GPU_RESOURCE, None)
    if resources and not any(resources.values()):
        container.pop("resources")
    elif resources and not resources.get("limits"):
        resources.pop("limits", None)
    metadata = template.get("metadata") or {}
    return Service(
        name=str(body["name"]),
        role=Role(body.get("type", "worker")),
        replicas=body.get("replicas"),
        node_count=_node_count(body),
        gpus=None if gpu is None else int(gpu),
        container=container,
        pod={**pod, **({"containers": others} if others else {})},
        pod_labels=dict(metadata.get("labels") or {}),
        pod_annotations=dict(metadata.get("annotations") or {}),
    )
