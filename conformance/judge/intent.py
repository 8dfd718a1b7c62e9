"""What a live graph or bare component asks for, read from the object itself."""

from collections.abc import Mapping
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.manifest import parse
from conformance.model.state import Obj


def intent(obj: Obj) -> Graph | None:
    """The graph that a DGD or a bare DCD asks for; None if it is neither or cannot be understood
    (a role that the suite does not know)."""
    if obj.kind not in (GRAPH_KIND, COMPONENT_KIND):
        return None
    try:
        return parse(obj.raw if obj.kind == GRAPH_KIND else _as_graph(obj))
    except (UsageError, ValueError, KeyError, TypeError):
        return None


def _as_graph(component: Obj) -> Mapping[str, Any]:
    """A one-service graph under the component's name, in the component's own API version."""
    spec, version = component.spec, component.raw.get("apiVersion")
    service = str(spec.get("serviceName") or spec.get("name") or component.name)
    body: dict[str, Any] = {"components": [{**spec, "name": service}]}
    if str(version).endswith("/v1alpha1"):
        body = {"services": {service: spec}}
    metadata = {"name": component.name}
    return {"apiVersion": version, "kind": GRAPH_KIND, "metadata": metadata, "spec": body}
