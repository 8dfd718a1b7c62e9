"""What `kubectl apply -k` would apply of our kustomizations, of which it uses few features."""

from pathlib import Path
from typing import Any

import jsonpatch
import yaml

KNOWN = {"apiVersion", "kind", "namespace", "labels", "resources", "images", "patches"}
CLUSTER_SCOPED = {"Namespace", "ClusterRole", "ClusterRoleBinding"}


def rendered(folder: Path) -> list[dict[str, Any]]:
    """The objects, in order."""
    told: dict[str, Any] = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert set(told) <= KNOWN, "teach this stand-in the new feature"
    objects: list[dict[str, Any]] = []
    for name in told["resources"]:
        path = folder / name
        if path.is_dir():
            objects += rendered(path.resolve())
        else:
            objects += list(yaml.safe_load_all(path.read_text()))
    for body in objects:
        if told.get("namespace") and body["kind"] not in CLUSTER_SCOPED:
            body["metadata"]["namespace"] = told["namespace"]
        for one in told.get("labels", ()):
            body["metadata"].setdefault("labels", {}).update(one["pairs"])
    for image in told.get("images", ()):
        for body in objects:
            for container in _containers(body):
                if container["image"] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    for patch in told.get("patches", ()):
        objects = [new for body in objects if (new := _patched(body, patch)) is not None]
    return objects


def _containers(body: dict[str, Any]) -> list[dict[str, Any]]:
    spec = body.get("spec", {}).get("template", {}).get("spec", {})
    return [*spec.get("initContainers", []), *spec.get("containers", [])]


def _patched(body: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any] | None:
    if body["kind"] != patch["target"]["kind"]:
        return body
    change = yaml.safe_load(patch["patch"])
    if isinstance(change, dict):
        assert change["$patch"] == "delete"
        assert change["metadata"]["name"] == body["metadata"]["name"]
        return None
    result: dict[str, Any] = jsonpatch.apply_patch(body, change)
    return result


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The only object of its kind."""
    (found,) = (body for body in objects if body["kind"] == kind)
    return found
