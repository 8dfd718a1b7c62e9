"""One service of v1alpha1 as one component of v1beta1, and back: what both versions can say."""

import copy
from typing import Any

from .objects import Object

GPU = "nvidia.com/gpu"
MAIN = "main"
TYPES = ("frontend", "worker", "prefill", "decode", "planner", "epp")

_SAME = ("replicas", "multinode", "modelRef", "globalDynamoNamespace")
_PROBES = ("livenessProbe", "readinessProbe")


def to_component(service: Object) -> Object:
    """The component that a service means, without its name. The input is not changed."""
    service = copy.deepcopy(service)
    component = {key: service[key] for key in _SAME if key in service}
    if type_ := _type_of(service):
        component["type"] = type_
    if (service.get("scalingAdapter") or {}).get("enabled"):
        component["scalingAdapter"] = {}
    shared = service.get("sharedMemory") or {}
    if shared.get("disabled"):
        component["sharedMemorySize"] = "0"
    elif shared.get("size") is not None:
        component["sharedMemorySize"] = shared["size"]
    for mount in service.get("volumeMounts") or []:
        if mount.get("useAsCompilationCache"):
            component["compilationCache"] = _cache(mount)
    if template := _pod_template(service):
        component["podTemplate"] = template
    return component


def to_service(component: Object) -> Object:
    """The service that a component means. The input is not changed."""
    component = copy.deepcopy(component)
    service = {key: component[key] for key in _SAME if key in component}
    type_ = component.get("type")
    if type_ in ("prefill", "decode"):
        service |= {"componentType": "worker", "subComponentType": type_}
    elif type_:
        service["componentType"] = type_
    if "scalingAdapter" in component:
        service["scalingAdapter"] = {"enabled": True}
    if (size := component.get("sharedMemorySize")) is not None:
        service["sharedMemory"] = {"disabled": True} if size in ("0", 0) else {"size": size}
    if cache := component.get("compilationCache"):
        mount = {"name": cache.get("pvcName"), "useAsCompilationCache": True}
        if "mountPath" in cache:
            mount["mountPoint"] = cache["mountPath"]
        service["volumeMounts"] = [mount]
    service |= _from_pod_template(component.get("podTemplate") or {})
    return service


def _type_of(service: Object) -> str | None:
    """The pair (worker, prefill | decode) is one type in v1beta1; unknown words have none."""
    kind = service.get("componentType")
    sub = service.get("subComponentType")
    if kind == "worker" and sub in ("prefill", "decode"):
        return str(sub)
    return kind if kind in TYPES else None


def _cache(mount: Object) -> Object:
    cache = {"pvcName": mount.get("name")}
    if "mountPoint" in mount:
        cache["mountPath"] = mount["mountPoint"]
    return cache


def _pod_template(service: Object) -> Object:
    spec: Object = service.get("extraPodSpec") or {}
    main: Object = {**spec.pop("mainContainer", {}), "name": MAIN}
    sidecars: list[Object] = spec.pop("containers", [])
    if envs := service.get("envs"):
        main["env"] = _by_name(main.get("env") or [], envs)
    if secret := service.get("envFromSecret"):
        main["envFrom"] = [*(main.get("envFrom") or []), {"secretRef": {"name": secret}}]
    for probe in _PROBES:
        if probe in service:
            main[probe] = service[probe]
    if resources := _resources_to_beta(service.get("resources") or {}):
        main["resources"] = _merged(main.get("resources") or {}, resources)
    for mount in service.get("volumeMounts") or []:
        if not mount.get("useAsCompilationCache") and "name" in mount:
            _mount(spec, main, mount)
    template: Object = {}
    extra = service.get("extraPodMetadata") or {}
    metadata = {
        key: {**(service.get(key) or {}), **(extra.get(key) or {})}
        for key in ("annotations", "labels")
    }
    if metadata := {key: value for key, value in metadata.items() if value}:
        template["metadata"] = metadata
    containers = [main, *sidecars] if len(main) > 1 or sidecars else []
    if containers:
        spec["containers"] = containers
    if spec:
        template["spec"] = spec
    return template


def _mount(spec: Object, main: Object, mount: Object) -> None:
    name = mount["name"]
    volumes = spec.setdefault("volumes", [])
    if all(volume.get("name") != name for volume in volumes):
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": name}})
    path = {"mountPath": mount["mountPoint"]} if "mountPoint" in mount else {}
    main.setdefault("volumeMounts", []).append({"name": name, **path})


def _from_pod_template(template: Object) -> Object:
    service: Object = {}
    extra = {
        key: value
        for key in ("annotations", "labels")
        if (value := (template.get("metadata") or {}).get(key))
    }
    if extra:
        service["extraPodMetadata"] = extra
    spec: Object = template.get("spec") or {}
    containers: list[Object] = spec.pop("containers", [])
    main = next((entry for entry in containers if entry.get("name") == MAIN), {})
    sidecars = [entry for entry in containers if entry is not main]
    main.pop("name", None)
    sources = main.get("envFrom") or []
    if len(sources) == 1 and sources == [{"secretRef": {"name": _secret_name(sources[0])}}]:
        main.pop("envFrom")
        service["envFromSecret"] = _secret_name(sources[0])
    for probe in _PROBES:
        if probe in main:
            service[probe] = main.pop(probe)
    if resources := _resources_to_alpha(main.pop("resources", None) or {}):
        service["resources"] = resources
    if main:
        spec["mainContainer"] = main
    if sidecars:
        spec["containers"] = sidecars
    if spec:
        service["extraPodSpec"] = spec
    return service


def _secret_name(source: Object) -> Any:
    return (source.get("secretRef") or {}).get("name")


def _by_name(entries: list[Object], overrides: list[Object]) -> list[Object]:
    names = {entry.get("name") for entry in overrides}
    return [entry for entry in entries if entry.get("name") not in names] + overrides


def _merged(base: Object, overlay: Object) -> Object:
    result = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        result[key] = {**base[key], **value} if both else value
    return result


def _resources_to_beta(resources: Object) -> Object:
    result: Object = {}
    for section in ("requests", "limits"):
        if quantities := _quantities(resources.get(section) or {}):
            result[section] = quantities
    if claims := resources.get("claims"):
        result["claims"] = claims
    return result


def _quantities(source: Object) -> dict[str, Any]:
    result: dict[str, Any] = {key: source[key] for key in ("cpu", "memory") if key in source}
    if "gpu" in source:
        result[source.get("gpuType") or GPU] = source["gpu"]
    return {**result, **(source.get("custom") or {})}


def _resources_to_alpha(resources: Object) -> Object:
    result: Object = {}
    for section in ("requests", "limits"):
        source = resources.get(section) or {}
        quantities: Object = {}
        for key, value in source.items():
            if key in ("cpu", "memory"):
                quantities[key] = value
            elif key == GPU:
                quantities["gpu"] = value
            else:
                quantities.setdefault("custom", {})[key] = value
        if quantities:
            result[section] = quantities
    if claims := resources.get("claims"):
        result["claims"] = claims
    return result
