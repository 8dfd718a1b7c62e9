"""Validation of graphs and components: what the operator cannot or will not build, by field."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .conversion import ALPHA
from .objects import (
    DEPLOYMENT,
    LABEL_LWS_NAME,
    Kind,
    Object,
    child_name,
    component_name,
    main_container,
    meta,
    node_count,
    replicas_of,
)

LABEL_VALUE_LIMIT = 63
"""Longest label value and longest Service name, in characters (RFC 1123 and 1035)."""
_REVISION_SUFFIX = 11
"""A StatefulSet labels its pods ``<name>-<hash>`` with a hash of up to ten characters."""

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_COMPONENT_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?")
_MULTINODE_TYPES = ("worker", "prefill", "decode")
_LWS_LABELS = LABEL_LWS_NAME.partition("/")[0] + "/"

_ALPHA_FIELDS = {
    "podTemplate.spec.containers[main].image": "extraPodSpec.mainContainer.image",
    "podTemplate.metadata.labels": "extraPodMetadata.labels",
    "type": "componentType",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, at one field."""

    field: str
    """Path below the component, or the whole path if ``component`` is None."""
    message: str
    component: str | None = None
    index: int = 0

    def render(self, version: str, *, inline: bool = False) -> str:
        """The sentence with the path as the given API version spells it.

        ``inline``: the component's fields stand directly under spec, as in a component object.
        """
        if self.component is None:
            path = self.field
            if version == ALPHA:
                path = path.replace("spec.components", "spec.services")
            return f"{path}: {self.message}"
        field = _ALPHA_FIELDS.get(self.field, self.field) if version == ALPHA else self.field
        if inline:
            return f"spec.{field}: {self.message}"
        if version == ALPHA:
            return f"spec.services[{self.component}].{field}: {self.message}"
        return f"spec.components[{self.index}].{field}: {self.message}"


def graph_problems(graph: Object, single_node: Kind = DEPLOYMENT) -> list[Problem]:
    """Everything wrong with a v1beta1 graph; empty if it can be built."""
    spec = graph.get("spec") or {}
    components: list[Object] = spec.get("components") or []
    name = meta(graph).get("name", "")
    namespace = meta(graph).get("namespace", "")
    problems = list(_parent_name(name, namespace))
    if "restart" in spec:
        problems.append(Problem("spec.restart", "Forbidden: this operator restarts no components"))
    if not components:
        problems.append(Problem("spec.components", "Required value: at least one component"))
    for index, component in enumerate(components):
        child = child_name(name, component_name(component))
        problems += _component(component, index, child, single_node)
    problems += _collisions(components)
    return problems


def component_problems(component: Object, single_node: Kind = DEPLOYMENT) -> list[Problem]:
    """Everything wrong with a v1beta1 component object; empty if it can be built."""
    name = meta(component).get("name", "")
    spec = component.get("spec") or {}
    problems = list(_parent_name(name, ""))
    problems += _component({"name": name, **spec}, 0, name, single_node)
    return problems


def graph_topology_changes(old: Object, new: Object) -> list[Problem]:
    """Changes of shape, size or membership between two versions of a graph."""
    before = _components_by_name(old)
    problems: list[Problem] = []
    after = _components_by_name(new)
    for index, (name, component) in enumerate(after.items()):
        if name in before:
            problems += topology_changes(before[name], component, name, index)
    added = ", ".join(sorted(after.keys() - before.keys()))
    removed = ", ".join(sorted(before.keys() - after.keys()))
    if added or removed:
        message = (
            "Forbidden: the set of components is fixed at creation: "
            f"added: [{added}], removed: [{removed}]"
        )
        problems.append(Problem("spec.components", message))
    return problems


def topology_changes(old: Object, new: Object, name: str, index: int = 0) -> list[Problem]:
    """Changes of shape or size between two versions of one component."""
    before, after = node_count(old), node_count(new)
    if before == after:
        return []
    if 1 in (before, after):
        message = (
            f"Invalid value: {_compact(new.get('multinode'))}: component {name} cannot move "
            "between one node and several after creation"
        )
        return [Problem("multinode", message, name, index)]
    message = f"Invalid value: {after}: component {name}: field is immutable"
    return [Problem("multinode.nodeCount", message, name, index)]


def _components_by_name(graph: Object) -> dict[str, Object]:
    components = (graph.get("spec") or {}).get("components") or []
    return {component_name(component): component for component in components}


def _parent_name(name: str, namespace: str) -> Iterator[Problem]:
    if not _DNS_1035.fullmatch(name):
        yield Problem(
            "metadata.name",
            f"Invalid value: {_compact(name)}: the names of Services and LeaderWorkerSets begin "
            "with it: expected lower case letters, digits and '-', first a letter",
        )
    label = f"{namespace}-{name}"
    if namespace and len(label) > LABEL_VALUE_LIMIT:
        yield Problem(
            "metadata.name",
            f"Invalid value: {_compact(name)}: label value {label!r} has {len(label)} characters, "
            f"the limit is {LABEL_VALUE_LIMIT}",
        )


def _component(component: Object, index: int, child: str, single_node: Kind) -> Iterator[Problem]:
    name = component_name(component)

    def problem(field: str, message: str) -> Problem:
        return Problem(field, message, name, index)

    if not _COMPONENT_NAME.fullmatch(name):
        yield problem(
            "name", f"Invalid value: {_compact(name)}: expected letters, digits and inner '-'"
        )
    longest, length = _longest_name(component, child, single_node)
    if length > LABEL_VALUE_LIMIT:
        yield problem(
            "name",
            f"Invalid value: {_compact(name)}: the derived name {longest} has {length} characters, "
            f"the limit is {LABEL_VALUE_LIMIT}",
        )
    if not main_container(component).get("image"):
        yield problem(
            "podTemplate.spec.containers[main].image",
            f"Required value: component {name} needs an image",
        )
    if "multinode" in component and component.get("type") not in _MULTINODE_TYPES:
        yield problem(
            "multinode",
            f"Forbidden: component {name} is of type {component.get('type') or 'none'}: only "
            f"{', '.join(_MULTINODE_TYPES)} can span nodes",
        )
    metadata = (component.get("podTemplate") or {}).get("metadata") or {}
    for label in sorted(metadata.get("labels") or {}):
        if label.startswith(_LWS_LABELS):
            yield problem(
                "podTemplate.metadata.labels",
                f"Forbidden: {label} is reserved for the LeaderWorkerSet controller",
            )


def _longest_name(component: Object, child: str, single_node: Kind) -> tuple[str, int]:
    """The longest name or label value derived from a child's name, and its length."""
    if node_count(component) == 1 and single_node is DEPLOYMENT:
        return child, len(child)
    last_group = max(0, replicas_of(component) - 1)
    stateful_set = child if node_count(component) == 1 else f"{child}-0-{last_group}"
    return f"{stateful_set}-<revision>", len(stateful_set) + _REVISION_SUFFIX


def _collisions(components: list[Object]) -> Iterator[Problem]:
    """Names are compared as children spell them: in lower case.

    A LeaderWorkerSet ``x-0`` brings a Service of its own name, which is also the name of the
    Service of a component ``x-0``.
    """
    taken: dict[str, str] = {}
    for index, component in enumerate(components):
        name = component_name(component)
        names = [name.lower()]
        if node_count(component) > 1:
            names.append(f"{name.lower()}-0")
        for child in names:
            if (other := taken.get(child)) is not None:
                message = (
                    f"Invalid value: {_compact(name)}: collides with component {other}: both "
                    f"would have a child named <graph>-{child}"
                )
                yield Problem("name", message, name, index)
            taken[child] = name


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
