"""What is changed in the manifests that an operator ships with, before an apply or in the cluster.

Its image, arguments for faults, on which nodes it runs, a CA where webhooks lack one, and labels by
which it is found again. Never its rights: a missing verb is the operator's, and a finding.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster.nodes import RealNodes
from conformance.kube import Api, Resource, raise_for
from conformance.model.errors import UsageError
from conformance.model.graph import GROUP
from conformance.model.installs import ClusterInstall
from conformance.model.state import Obj
from conformance.operator import webhooks
from conformance.operator.resources import CRDS, DEPLOYMENTS

_CONTROLLERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
_TEMPLATES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_CONTROLLERS, ("spec", "template")),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Pod": (),
}
"""Kind → where its pod template is."""

_UNCHANGEABLE = ("Job", "Pod")
"""Kinds whose pods cannot be changed once they are made."""
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """The changes of one installation."""

    settings: ClusterInstall
    image: str = ""
    """What replaces the one that the profile names, or else the container's; empty: nothing does."""
    loaded: str = ""
    """Image that the nodes already have, and must not try to pull."""
    arguments: tuple[str, ...] = ()
    """Added to the container's."""
    nodes: RealNodes | None = None
    ca_bundle: str = ""
    """Base64; empty: nobody lacks one."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def apply(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The changed copy of one manifest."""
        changed = copy.deepcopy(dict(manifest))
        if self.ca_bundle:
            changed = webhooks.trusting(changed, ca_bundle=self.ca_bundle)
        if self.labels:
            metadata = changed.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **self.labels}
        template = pod_template(changed)
        if template is not None:
            mine = self.is_mine(changed)
            for container in _containers(template):
                self._adapt(
                    container, own=mine and container.get("name") == self.settings.container
                )
            if self.nodes is not None:
                _place(template, self.nodes)
        return changed

    def is_mine(self, manifest: Mapping[str, Any]) -> bool:
        """True for the operator's own Deployment."""
        seen = Obj(manifest)
        own = self.settings
        found = seen.kind, seen.namespace or own.namespace, seen.name
        return found == (DEPLOYMENTS.kind, own.namespace, own.deployment)

    def _adapt(self, container: dict[str, Any], *, own: bool) -> None:
        image = str(container.get("image", ""))
        name = "" if self.settings.needs_image else repository(self.settings.image)
        if self.image and (repository(image) == name if name else own):
            container["image"] = self.image
        if self.loaded and container.get("image") == self.loaded:
            container["imagePullPolicy"] = "IfNotPresent"
        if own and self.arguments:
            container["args"] = [*(container.get("args") or ()), *self.arguments]


def own_container(
    manifests: Iterable[Mapping[str, Any]], adaptation: Adaptation, *, where: str
) -> dict[str, Any]:
    """The operator's container. Raises UsageError if it is not there, naming what is."""
    settings = adaptation.settings
    found = [m for m in manifests if m["kind"] == DEPLOYMENTS.kind]
    mine = next((m for m in found if adaptation.is_mine(m)), None)
    if mine is None:
        names = ", ".join(sorted(str(m["metadata"]["name"]) for m in found)) or "none"
        raise UsageError(
            f"{where}: there is no Deployment {settings.deployment} in namespace "
            f"{settings.namespace} (`in_cluster.deployment`, `in_cluster.namespace`); "
            f"Deployments there: {names}"
        )
    containers = Obj(mine).at("spec", "template", "spec", "containers") or ()
    own: dict[str, dict[str, Any]] = {str(each["name"]): each for each in containers}
    if settings.container not in own:
        raise UsageError(
            f"{where}: the Deployment {settings.deployment} has no container "
            f"{settings.container} (`in_cluster.container`); its containers: {', '.join(own)}"
        )
    return own[settings.container]


def pod_template(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The pod template of a manifest that has one."""
    path = _TEMPLATES.get(str(manifest.get("kind")))
    found = None if path is None else Obj(manifest).at(*path)
    return found if isinstance(found, dict) else None


def images(manifests: Iterable[Mapping[str, Any]]) -> list[str]:
    """Images that the manifests name, sorted, each once."""
    templates = (pod_template(manifest) or {} for manifest in manifests)
    return sorted({str(c.get("image", "")) for each in templates for c in _containers(each)})


def repository(image: str) -> str:
    """An image reference without tag and digest."""
    head, slash, tail = image.partition("@")[0].rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}"


def tag(image: str) -> str:
    """The tag of an image reference, `latest` if it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2] or "latest"


def fits(template: Mapping[str, Any], nodes: RealNodes) -> bool:
    """True if the pods of a template run on real nodes as they are."""
    placed = copy.deepcopy(dict(template))
    _place(placed, nodes)
    return placed == template


def adapt_installed(
    api: Api, manifests: Iterable[Mapping[str, Any]], adaptation: Adaptation
) -> None:
    """Change what Helm has installed as it would have been before an apply. Raises InfraError."""
    for each in map(Obj, manifests):
        if each.kind not in _UNCHANGEABLE:
            version = str(each.raw["apiVersion"]).rpartition("/")[2]
            resource = api.resource_for(each.kind, each.group, version)
            namespace = each.namespace or adaptation.settings.namespace
            _change(api, resource, each.name, namespace, adaptation.apply)


def trust_kinds(api: Api, adaptation: Adaptation) -> None:
    """Give the conversions of the graph's group the CA if they lack one: some operators bring their
    CRDs themselves when they start. Raises InfraError."""

    def trusting(crd: dict[str, Any]) -> dict[str, Any]:
        return webhooks.trusting(crd, ca_bundle=adaptation.ca_bundle)

    for crd in map(Obj, api.metadata_list(CRDS)[0] if adaptation.ca_bundle else ()):
        if crd.name.endswith(f".{GROUP}"):
            _change(api, CRDS, crd.name, None, trusting)


def _containers(template: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The containers of a pod template, those that only run at its start among them."""
    spec = template.get("spec") or {}
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _place(template: dict[str, Any], nodes: RealNodes) -> None:
    """Let the pods onto real nodes, and onto no simulated one: a container that only seems to run
    would look like an operator that does nothing."""
    spec = template.setdefault("spec", {})
    _add(spec, "tolerations", {"key": nodes.taint, "operator": "Exists", "effect": "NoSchedule"})
    key, value = nodes.simulated
    affinity = spec["affinity"] = spec.get("affinity") or {}
    node = affinity["nodeAffinity"] = affinity.get("nodeAffinity") or {}
    required = node.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    # Terms are alternatives: each of them must ask for it.
    terms = required["nodeSelectorTerms"] = required.get("nodeSelectorTerms") or [{}]
    for term in terms:
        _add(term, "matchExpressions", {"key": key, "operator": "NotIn", "values": [value]})


def _add(holder: dict[str, Any], field: str, item: dict[str, Any]) -> None:
    present = holder.get(field) or []
    if item not in present:
        holder[field] = [*present, item]


def _change(
    api: Api,
    resource: Resource,
    name: str,
    namespace: str | None,
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Read, change, replace; again if somebody else was faster."""
    for remaining in reversed(range(_TRIES)):
        found = api.read(resource, name, namespace)
        if found is None or (changed := change(found)) == found:
            return
        answer = api.replace(resource, changed, namespace)
        if answer.code != 409 or not remaining:
            raise_for(answer, f"changing {resource.kind} {name}")
            return
