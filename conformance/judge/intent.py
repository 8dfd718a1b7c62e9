"""What a live graph or bare component asks for, read from the object itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.manifest import parse
from conformance.model.state import Obj


def intent(obj: Obj) -> Graph | None:
    """The graph that a DGD or a bare DCD asks for; None if it is neither or cannot be understood
    (a role that the suite does not know)."""
    try:
        if obj.kind == GRAPH_KIND:
            return parse(obj.raw)
        if obj.kind == COMPONENT_KIND:
            return parse(_as_graph(obj))
    except (UsageError, ValueError, KeyError, TypeError):
        return None
    return None


def _as_graph(component: Obj) -> Mapping[str, Any]:
    """A one-service graph under the component's name, in the component's own API version."""
    spec = dict(component.spec)
    version = str(component.raw.get("apiVersion", "")).rpartition("/")[2]
    service = str(spec.get("serviceName") or spec.get("name") or component.name)
    if version == "v1alpha1":
        body: dict[str, Any] = {"services": {service: spec}}
    else:
        body = {"components": [{**spec, "name": service}]}
    return {
        "apiVersion": component.raw.get("apiVersion"),
        "kind": GRAPH_KIND,
        "metadata": {"name": component.name},
        "spec": body,
    }
