"""Reads pod templates, their containers and their images out of manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Pod": (),
}
"""Kind → where its pod template is."""


def images(manifests: Iterable[Mapping[str, Any]]) -> list[str]:
    """Images that the manifests name, sorted, each once."""
    templates = (pod_template(manifest) for manifest in manifests)
    return sorted(
        {
            str(c.get("image", ""))
            for template in templates
            if template
            for c in containers(template)
        }
    )


def repository(image: str) -> str:
    """An image reference without tag and digest."""
    name = image.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}"


def tag(image: str) -> str:
    """The tag of an image reference, `latest` if it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2] or "latest"


def pod_template(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The pod template of a manifest that has one."""
    path = _TEMPLATES.get(str(manifest.get("kind")))
    if path is None:
        return None
    found: Any = manifest
    for part in path:
        found = (found or {}).get(part)
    return found if isinstance(found, dict) else None


def containers(template: Mapping[str, Any], *, start: bool = True) -> Iterator[dict[str, Any]]:
    """The containers of a pod template, those that only run at its start among them."""
    spec = template.get("spec") or {}
    if start:
        yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()
