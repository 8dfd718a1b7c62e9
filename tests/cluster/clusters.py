"""What tests ask of a running control plane."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from conformance.kube import Api

DEFAULT = "/api/v1/namespaces/default"


def eventually(probe: Callable[[], Any], *, within: float = 20.0) -> Any:
    end = time.monotonic() + within
    while not (result := probe()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return result


def create(api: Api, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = api.request("POST", path, body)
    assert answer.ok, answer.message
    created: dict[str, Any] = answer.body
    return created


def pods(api: Api, label: str) -> list[dict[str, Any]]:
    return api.list(f"{DEFAULT}/pods", {"labelSelector": label})[0]


def ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def all_ready(api: Api, label: str, count: int) -> bool:
    found = pods(api, label)
    return len(found) == count and all(ready(pod) for pod in found)


def template(*, gpus: int = 0, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "example.com/vllm:1.0.0"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    return {
        "metadata": {"annotations": dict(annotations or {})},
        "spec": {"containers": [container]},
    }


def pod(name: str, **kwargs: Any) -> dict[str, Any]:
    body = template(**kwargs)
    body["metadata"] |= {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", **body}


def deploy(api: Api, name: str, *, replicas: int) -> None:
    body = template(gpus=1)
    body["metadata"]["labels"] = {"app": name}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": body}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
    create(api, "/apis/apps/v1/namespaces/default/deployments", {**manifest, "spec": spec})
