"""How an operator is shipped: what an installation makes, known before it makes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall, Packaging
from conformance.operator.manifests import read_manifests
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.pods.commands import find, run
from conformance.operator.pods.helm import RENDER_SECONDS, Chart, Helm, parse
from conformance.operator.pods.pod_template import repository, tag
from conformance.operator.profiles import LoadedProfile
from conformance.operator.templates import fill

_GET_KUBECTL = "install kubectl (https://kubernetes.io/docs/tasks/tools)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The parts of an operator, unchanged."""

    prerequisites: list[dict[str, Any]]
    crds: list[dict[str, Any]]
    manifests: list[dict[str, Any]]
    """All that belongs to the operator itself; with Helm as the chart renders it, hooks too."""
    helm: Helm | None

    @property
    def everything(self) -> list[dict[str, Any]]:
        """All parts, in the order in which they are applied."""
        return [*self.prerequisites, *self.crds, *self.manifests]


def read_package(
    loaded: LoadedProfile,
    options: OperatorOptions,
    *,
    kubeconfig: Path,
    scratch: Path,
    kube_version: str,
) -> Package:
    """Read, render, check. `scratch` takes the values of a chart. Raises UsageError."""
    settings = loaded.profile.pods
    helm: Helm | None = None
    if settings.kind is Packaging.HELM:
        chart = _chart(loaded, settings, options, scratch=scratch)
        helm = Helm(chart, kubeconfig=kubeconfig, operator=loaded.name)
        manifests = helm.render(kube_version=kube_version)
    elif not settings.manifests:
        raise UsageError(
            f"{loaded.shown}: `in_cluster.manifests` is empty, so there is nothing to install; "
            "expected the operator's manifests"
        )
    elif settings.kind is Packaging.KUSTOMIZE:
        manifests = _kustomize(loaded, settings.manifests[0])
    else:
        manifests = read_manifests(loaded, settings.manifests, what="in_cluster.manifests")

    def listed(entries: Sequence[str], field: str) -> list[dict[str, Any]]:
        return read_manifests(loaded, entries, what=f"in_cluster.{field}", crds=options.crds)

    return Package(
        prerequisites=listed(settings.prerequisites, "prerequisites"),
        crds=listed(settings.crds, "crds"),
        manifests=manifests,
        helm=helm,
    )


def image_of(settings: ClusterInstall, options: OperatorOptions) -> str:
    """The image that will run, as far as the profile and the user say it."""
    return options.image or ("" if settings.needs_image else settings.image)


def filled_values(loaded: LoadedProfile, options: OperatorOptions) -> dict[str, Any]:
    """The values of the chart with their templates filled in. Raises UsageError."""
    settings = loaded.profile.pods
    image = image_of(settings, options)
    known = {
        "namespace": settings.namespace,
        "image": image,
        "image_repository": repository(image),
        "image_tag": tag(image),
    }

    def fill_in(value: Any, field: str) -> Any:
        if isinstance(value, str):
            return fill(value, known, where=f"{loaded.shown}: `{field}`")
        if isinstance(value, dict):
            return {key: fill_in(part, f"{field}.{key}") for key, part in value.items()}
        if isinstance(value, list):
            return [fill_in(part, f"{field}.{index}") for index, part in enumerate(value)]
        return value

    filled: dict[str, Any] = fill_in(settings.values, "in_cluster.values")
    return filled


def _chart(
    loaded: LoadedProfile, settings: ClusterInstall, options: OperatorOptions, *, scratch: Path
) -> Chart:
    given = options.chart
    if given:
        reference, version, repository_url = given, "", ""
        if given.startswith("oci://"):
            version = settings.chart_version
    else:
        path = settings.chart_path
        reference = str(loaded.directory / path) if path else settings.chart
        version, repository_url = settings.chart_version, settings.repository
    scratch.mkdir(parents=True, exist_ok=True)
    values = scratch / f"{loaded.name}-values.yaml"
    values.write_text(yaml.safe_dump(filled_values(loaded, options)), encoding="utf-8")
    return Chart(
        reference=reference,
        release=settings.release or loaded.name,
        namespace=settings.namespace,
        version=version,
        repository=repository_url,
        values=values,
    )


def _kustomize(loaded: LoadedProfile, entry: str) -> list[dict[str, Any]]:
    doing = f"rendering the kustomization of the operator {loaded.name}"
    kubectl = find("kubectl", needed_for=doing, get_it=_GET_KUBECTL)
    command = [kubectl, "kustomize", str(loaded.directory / entry)]
    return parse(run(command, doing=doing, within=RENDER_SECONDS, error=UsageError))
