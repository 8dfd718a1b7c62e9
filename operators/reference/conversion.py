"""Between v1alpha1 (a map of services) and v1beta1 (a list of components), without loss.

Each direction maps what both versions can say. What the target cannot say is kept in an
annotation as the original part and the converted part it was shown as; converting back replays
on the original whatever was edited in between. So reading one version and writing it back
changes nothing, and an edit through either version loses nothing of the other.
"""

import copy
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from .convert_component import to_component, to_service
from .objects import COMPONENT, GRAPH, Object

ALPHA = "v1alpha1"
BETA = "v1beta1"

ALPHA_KEPT = "nvidia.com/v1alpha1-fields"
"""Annotation on a v1beta1 object with what only v1alpha1 can say."""
BETA_KEPT = "nvidia.com/v1beta1-fields"
"""Annotation on a v1alpha1 object with what only v1beta1 can say."""

_Convert: TypeAlias = Callable[[Object], Object]
_ABSENT = object()


class ConversionError(ValueError):
    """The object's kind or version is none that this module converts."""


def convert(obj: Object, version: str) -> Object:
    """The object in the given version (``v1alpha1`` or ``v1beta1``). The input is not changed."""
    group, _, current = str(obj.get("apiVersion", "")).partition("/")
    kind = obj.get("kind")
    if group != GRAPH.group or kind not in (GRAPH.kind, COMPONENT.kind):
        raise ConversionError(f"cannot convert kind {kind!r} of {obj.get('apiVersion')!r}")
    if {current, version} - {ALPHA, BETA}:
        raise ConversionError(
            f"cannot convert {kind} from {current!r} to {version!r}: expected {ALPHA} or {BETA}"
        )
    obj = copy.deepcopy(obj)
    if current == version:
        return obj
    to_beta = version == BETA
    kept = _take_kept(obj, BETA_KEPT if to_beta else ALPHA_KEPT)
    ledger = _Ledger(kept, to_beta=to_beta)
    whole = _graph if kind == GRAPH.kind else _component
    result = whole(obj, ledger, to_beta=to_beta)
    result["apiVersion"] = f"{group}/{version}"
    if ledger.keep:
        annotations = result["metadata"].setdefault("annotations", {})
        text = json.dumps(ledger.keep, sort_keys=True, separators=(",", ":"))
        annotations[ALPHA_KEPT if to_beta else BETA_KEPT] = text
    return result


class _Ledger:
    """What the other version had kept in an annotation, and what this one has to keep."""

    def __init__(self, kept: Object, *, to_beta: bool) -> None:
        self.kept = kept
        self.keep: Object = {}
        self.to_beta = to_beta

    def part(self, name: str, source: Object, convert_to: _Convert, back: _Convert) -> Object:
        """Convert one part, restoring what was kept of it and keeping what would be lost."""
        result = convert_to(source)
        entry = self.kept.get(name)
        if isinstance(entry, dict) and isinstance(entry.get("is"), dict):
            original = entry["is"]
            shown = entry.get("shown", back(original))
            result = replay(original, convert_to(shown), result) if shown != source else original
        if back(result) != source:
            self.keep[name] = {"is": source}
            if convert_to(source) != result:
                self.keep[name]["shown"] = result
        return result


def replay(original: Any, before: Any, after: Any) -> Any:
    """The original with the edits that lead from ``before`` to ``after``; lists are one value."""
    if before == after:
        return original
    if not (isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict)):
        return after
    result = {key: value for key, value in original.items() if key in after or key not in before}
    for key, value in after.items():
        known = original.get(key, _ABSENT)
        if key not in before:
            result[key] = value
        elif before[key] != value:
            result[key] = value if known is _ABSENT else replay(known, before[key], value)
    return result


def _take_kept(obj: Object, annotation: str) -> Object:
    annotations = obj.get("metadata", {}).get("annotations") or {}
    text = annotations.pop(annotation, None)
    if text is None:
        return {}
    if not annotations:
        obj["metadata"].pop("annotations", None)
    try:
        kept = json.loads(text)
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def _graph(obj: Object, ledger: _Ledger, *, to_beta: bool) -> Object:
    if "spec" in obj:
        obj["spec"] = (_graph_to_beta if to_beta else _graph_to_alpha)(obj["spec"], ledger)
    if "status" in obj:
        obj["status"] = (_status_to_beta if to_beta else _status_to_alpha)(obj["status"])
    return obj


def _graph_to_beta(spec: Object, ledger: _Ledger) -> Object:
    services = spec.pop("services", None)
    result = ledger.part("spec", spec, _rest_to_beta, _rest_to_alpha)
    if services is not None:
        names = _ordered(services, ledger.kept.get("order"))
        result = {**result, "components": [_named(n, services[n], ledger) for n in names]}
    return result


def _named(name: str, service: Object, ledger: _Ledger) -> Object:
    return {"name": name, **ledger.part(f"component/{name}", service, to_component, to_service)}


def _ordered(services: Object, order: Any) -> list[str]:
    """Names in the order the list had when it was last seen, new ones after it by name."""
    known = [name for name in order if name in services] if isinstance(order, list) else []
    return known + sorted(set(services) - set(known))


def _graph_to_alpha(spec: Object, ledger: _Ledger) -> Object:
    components = spec.pop("components", None)
    result = ledger.part("spec", spec, _rest_to_alpha, _rest_to_beta)
    if components is not None:
        services: Object = {}
        for component in components:
            name = component.pop("name")
            part = ledger.part(f"component/{name}", component, to_service, to_component)
            services[name] = part
        if list(services) != sorted(services):
            ledger.keep["order"] = list(services)
        result = {**result, "services": services}
    return result


def _rest_to_beta(spec: Object) -> Object:
    return _renamed(spec, {"envs": "env", "backendFramework": "", "restart": ""})


def _rest_to_alpha(spec: Object) -> Object:
    return _renamed(spec, {"env": "envs", "backendFramework": "", "restart": ""})


def _renamed(source: Object, names: dict[str, str]) -> Object:
    return {new or old: source[old] for old, new in names.items() if old in source}


def _status_to_beta(status: Object) -> Object:
    services = status.pop("services", None)
    if services is not None:
        for state in services.values():
            _plural_name(state)
        status["components"] = services
    return status


def _status_to_alpha(status: Object) -> Object:
    components = status.pop("components", None)
    if components is not None:
        for state in components.values():
            _singular_name(state)
        status["services"] = components
    return status


def _component(obj: Object, ledger: _Ledger, *, to_beta: bool) -> Object:
    if "spec" in obj:
        if to_beta:
            obj["spec"] = ledger.part("spec", obj["spec"], _spec_to_beta, _spec_to_alpha)
        else:
            obj["spec"] = ledger.part("spec", obj["spec"], _spec_to_alpha, _spec_to_beta)
    status = obj.get("status") or {}
    if to_beta and "service" in status:
        status["component"] = _plural_name(status.pop("service"))
    elif not to_beta and "component" in status:
        status["service"] = _singular_name(status.pop("component"))
    return obj


def _spec_to_beta(spec: Object) -> Object:
    own = _renamed(spec, {"serviceName": "name", "backendFramework": ""})
    return {**own, **to_component(spec)}


def _spec_to_alpha(spec: Object) -> Object:
    own = _renamed(spec, {"name": "serviceName", "backendFramework": ""})
    return {**own, **to_service(spec)}


def _plural_name(state: Object) -> Object:
    """``componentName`` is the older field, of which the list is the successor."""
    name = state.pop("componentName", None)
    if name and "componentNames" not in state:
        state["componentNames"] = [name]
    return state


def _singular_name(state: Object) -> Object:
    if state.get("componentNames"):
        state["componentName"] = state["componentNames"][0]
    return state
