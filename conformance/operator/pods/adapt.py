"""What is changed in the manifests that an operator ships with. Pure: manifests in, manifests out.

Its image, arguments for faults, on which nodes it runs, a CA where webhooks lack one, and labels by
which it is found again. Never its rights: a missing verb is the operator's, and a finding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster.nodes import RealNodes
from conformance.model.errors import UsageError
from conformance.operator import webhooks
from conformance.operator.pods.pod_template import containers, pod_template, repository
from conformance.operator.resources import DEPLOYMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """The changes of one installation."""

    namespace: str
    deployment: str
    container: str
    image_name: str = ""
    """Repository of the image as the manifests name it; empty: the container's, whatever it is."""
    image: str = ""
    """What it is replaced by; empty: nothing is."""
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
            for container in containers(template):
                self._adapt(container, mine=mine)
            if self.nodes is not None:
                place(template, self.nodes)
        return changed

    def is_mine(self, manifest: Mapping[str, Any]) -> bool:
        """True for the operator's own Deployment."""
        metadata = manifest["metadata"]
        return bool(
            manifest["kind"] == DEPLOYMENTS.kind
            and metadata["name"] == self.deployment
            and metadata.get("namespace", self.namespace) == self.namespace
        )

    def _adapt(self, container: dict[str, Any], *, mine: bool) -> None:
        own = mine and container.get("name") == self.container
        image = str(container.get("image", ""))
        if self.image and (own if not self.image_name else repository(image) == self.image_name):
            container["image"] = self.image
        if self.loaded and container.get("image") == self.loaded:
            container["imagePullPolicy"] = "IfNotPresent"
        if own and self.arguments:
            container["args"] = [*(container.get("args") or ()), *self.arguments]


def own_container(
    manifests: Iterable[Mapping[str, Any]], adaptation: Adaptation, *, where: str
) -> dict[str, Any]:
    """The operator's container among the manifests. Raises UsageError if they lack its Deployment
    or container, naming what is there."""
    found = [m for m in manifests if m["kind"] == DEPLOYMENTS.kind]
    mine = next((m for m in found if adaptation.is_mine(m)), None)
    if mine is None:
        names = ", ".join(sorted(str(m["metadata"]["name"]) for m in found)) or "none"
        raise UsageError(
            f"{where}: there is no Deployment {adaptation.deployment} in namespace "
            f"{adaptation.namespace} (`in_cluster.deployment`, `in_cluster.namespace`); "
            f"Deployments there: {names}"
        )
    own = {str(c["name"]): c for c in containers(pod_template(mine) or {}, start=False)}
    if adaptation.container not in own:
        raise UsageError(
            f"{where}: the Deployment {adaptation.deployment} has no container "
            f"{adaptation.container} (`in_cluster.container`); its containers: {', '.join(own)}"
        )
    return own[adaptation.container]


def place(template: dict[str, Any], nodes: RealNodes) -> None:
    """Let the pods onto real nodes, and onto no simulated one: a container that only seems to run
    would look like an operator that does nothing."""
    spec = template.setdefault("spec", {})
    toleration = {"key": nodes.taint, "operator": "Exists", "effect": "NoSchedule"}
    tolerations = list(spec.get("tolerations") or ())
    if toleration not in tolerations:
        spec["tolerations"] = [*tolerations, toleration]
    key, value = nodes.simulated
    real = {"key": key, "operator": "NotIn", "values": [value]}
    affinity = spec["affinity"] = spec.get("affinity") or {}
    node = affinity["nodeAffinity"] = affinity.get("nodeAffinity") or {}
    required = node.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    # Terms are alternatives: each of them must ask for it.
    terms = required["nodeSelectorTerms"] = required.get("nodeSelectorTerms") or [{}]
    for term in terms:
        expressions = list(term.get("matchExpressions") or ())
        if real not in expressions:
            term["matchExpressions"] = [*expressions, real]


def fits(template: Mapping[str, Any], nodes: RealNodes) -> bool:
    """True if `place` would change nothing."""
    placed = copy.deepcopy(dict(template))
    place(placed, nodes)
    return placed == template
