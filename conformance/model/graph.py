"""A DynamoGraphDeployment as a user means it, whatever the API version that writes it down."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GROUP = "nvidia.com"
GRAPH_KIND = "DynamoGraphDeployment"
COMPONENT_KIND = "DynamoComponentDeployment"
PLURALS = {
    GRAPH_KIND: "dynamographdeployments",
    COMPONENT_KIND: "dynamocomponentdeployments",
}
"""The names in paths and RBAC rules."""
_SHORT = {GRAPH_KIND: "DGD", COMPONENT_KIND: "DCD"}


def short_kind(kind: str) -> str:
    """The kind as people write it: the CRDs' short names for graphs and components."""
    return _SHORT.get(kind, kind)


class ApiVersion(enum.StrEnum):
    """The served versions of nvidia.com that the suite can speak."""

    V1ALPHA1 = "v1alpha1"
    V1BETA1 = "v1beta1"


class Role(enum.StrEnum):
    """What a service does in the graph (spec: componentType + subComponentType, or type)."""

    FRONTEND = "frontend"
    WORKER = "worker"
    PREFILL = "prefill"
    DECODE = "decode"
    PLANNER = "planner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of a graph. `node_count` None or 1 means single node; 2 and more means multinode.

    `container` is the main container without its GPU limit (image, command, args, env, ...);
    `pod` is the rest of the pod's spec (volumes, serviceAccountName, further containers, ...).
    """

    name: str
    role: Role
    replicas: int | None = 1
    node_count: int | None = None
    gpus: int | None = None
    container: Mapping[str, Any] = field(default_factory=dict)
    pod: Mapping[str, Any] = field(default_factory=dict)
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def multinode(self) -> bool:
        return self.size > 1

    @property
    def groups(self) -> int:
        """Replicas, or groups if multinode. An absent `replicas` means 1, as for a Deployment."""
        return 1 if self.replicas is None else self.replicas

    @property
    def size(self) -> int:
        """Pods in a group."""
        return max(1, self.node_count or 1)

    @property
    def image(self) -> str:
        return str(self.container.get("image", ""))

    def replace(self, **changes: Any) -> Service:
        """A copy with the given fields changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A graph. `annotations` and `labels` are those of the DGD itself."""

    name: str
    services: tuple[Service, ...]
    backend: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def service(self, name: str) -> Service:
        """The service of that name. Raises KeyError with the names there are."""
        for service in self.services:
            if service.name == name:
                return service
        names = ", ".join(service.name for service in self.services)
        raise KeyError(f"graph {self.name} has no service {name}; it has {names}")

    def with_service(self, service: Service) -> Graph:
        """A copy in which the service of that name is replaced, or added at the end."""
        if any(known.name == service.name for known in self.services):
            services = tuple(service if s.name == service.name else s for s in self.services)
        else:
            services = (*self.services, service)
        return dataclasses.replace(self, services=services)

    def without_service(self, name: str) -> Graph:
        """A copy that lacks the service of that name."""
        self.service(name)
        kept = tuple(service for service in self.services if service.name != name)
        return dataclasses.replace(self, services=kept)

    def replace(self, **changes: Any) -> Graph:
        """A copy with the given fields changed."""
        return dataclasses.replace(self, **changes)

    def fingerprint(self) -> str:
        """A stable short name of the content (not of `name`): equal graphs share a fresh deploy."""
        data = dataclasses.asdict(self)
        data.pop("name")
        text = json.dumps(data, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
