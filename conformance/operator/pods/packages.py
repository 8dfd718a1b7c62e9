"""How an operator is shipped, as manifests, kustomization or Helm chart: what an installation makes,
known before it makes anything."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.nodes import RealNodes
from conformance.model.errors import InfraError, UsageError
from conformance.model.installs import Packaging
from conformance.model.state import Obj
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.pods.adapt import fits, pod_template, repository, tag
from conformance.operator.pods.commands import run
from conformance.operator.profiles import LoadedProfile

_RENDER_SECONDS = 120.0
"""A chart may have to be downloaded."""
_HOOK = "helm.sh/hook"
_INSTALL_HOOKS = {"pre-install", "post-install"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Helm:
    """One release of a chart on one cluster."""

    chart: str
    """Directory, archive, `oci://` reference, or name in a repository."""
    release: str
    namespace: str
    kubeconfig: Path
    options: Sequence[str]
    """Version, repository and values of the chart."""

    def render(self, *, kube_version: str) -> list[dict[str, Any]]:
        """All that an install would make, CRDs and hooks, too. Raises UsageError in Helm's words."""
        options = [*self.options, "--include-crds", "--kube-version", kube_version]
        words = "template", self.release, self.chart
        return _parse(self._run(*words, options=options, error=UsageError))

    def install(self, *, within: float) -> None:
        """Install the release; hooks are waited for, pods are not. Raises InfraError."""
        options = [*self.options, "--timeout", f"{within:.0f}s"]
        words = "install", self.release, self.chart
        self._run(*words, options=options, within=within + _RENDER_SECONDS)

    def installed(self) -> list[dict[str, Any]]:
        """The manifests of the installed release, without hooks and CRDs."""
        return _parse(self._run("get", "manifest", self.release))

    def uninstall(self, *, within: float) -> None:
        """Remove the release. One that is not there is fine. Raises InfraError."""
        options = ["--ignore-not-found", "--wait", "--timeout", f"{within:.0f}s"]
        self._run("uninstall", self.release, options=options, within=within + 10.0)

    def _run(
        self,
        *words: str,
        options: Sequence[str] = (),
        within: float = _RENDER_SECONDS,
        error: type[UsageError | InfraError] = InfraError,
    ) -> str:
        command = [*words, "--namespace", self.namespace, *options]
        command += ["--kubeconfig", str(self.kubeconfig)]
        doing = f"helm {words[0]} of {self.chart} as {self.release}"
        return run("helm", *command, doing=doing, within=within, error=error)


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

    def listed(field: str) -> list[dict[str, Any]]:
        return loaded.manifests(f"in_cluster.{field}", crds=options.crds)

    helm: Helm | None = None
    if settings.kind is Packaging.HELM:
        helm = _helm(loaded, options, kubeconfig=kubeconfig, scratch=scratch)
        manifests = helm.render(kube_version=kube_version)
    elif not settings.manifests:
        raise UsageError(
            f"{loaded.shown}: `in_cluster.manifests` is empty, so there is nothing to install; "
            "expected the operator's manifests"
        )
    elif settings.kind is Packaging.KUSTOMIZE:
        doing = f"rendering the kustomization of the operator {loaded.name}"
        folder, within = str(loaded.directory / settings.manifests[0]), _RENDER_SECONDS
        rendered = run("kubectl", "kustomize", folder, doing=doing, within=within, error=UsageError)
        manifests = _parse(rendered)
    else:
        manifests = listed("manifests")
    return Package(
        prerequisites=listed("prerequisites"),
        crds=listed("crds"),
        manifests=manifests,
        helm=helm,
    )


def check_hooks(
    manifests: Iterable[Mapping[str, Any]], nodes: RealNodes | None, *, where: str
) -> None:
    """Raises UsageError if a hook's pods would run on a simulated node: it would seem to succeed and
    do nothing. Helm starts them itself, so that only the chart's values can place them."""
    if nodes is None:
        return
    for manifest in manifests:
        template, annotations = pod_template(manifest), Obj(manifest).annotations
        hooks = {hook.strip() for hook in str(annotations.get(_HOOK, "")).split(",")}
        if hooks & _INSTALL_HOOKS and template is not None and not fits(template, nodes):
            key, value = nodes.simulated
            raise UsageError(
                f"{where}: the chart runs {Obj(manifest)} as a hook, and its pod might land on a "
                "simulated node, where it does nothing; turn it off in `in_cluster.values`, or let its "
                f"values give it a toleration for {nodes.taint} and a required node affinity {key} "
                f"NotIn [{value}]"
            )


def _helm(
    loaded: LoadedProfile, options: OperatorOptions, *, kubeconfig: Path, scratch: Path
) -> Helm:
    settings, given = loaded.profile.pods, options.chart
    path = settings.chart_path
    image = options.image or ("" if settings.needs_image else settings.image)
    known = {
        "namespace": settings.namespace,
        "image": image,
        "image_repository": repository(image),
        "image_tag": tag(image),
    }
    scratch.mkdir(parents=True, exist_ok=True)
    values = scratch / f"{loaded.name}-values.yaml"
    filled = loaded.filled("in_cluster.values", known)
    values.write_text(yaml.safe_dump(filled), encoding="utf-8")
    chosen: list[str] = []
    if settings.chart_version and (not given or given.startswith("oci://")):
        chosen += ["--version", settings.chart_version]
    if settings.repository and not given:
        chosen += ["--repo", settings.repository]
    return Helm(
        chart=given or (str(loaded.directory / path) if path else settings.chart),
        release=settings.release or loaded.name,
        namespace=settings.namespace,
        kubeconfig=kubeconfig,
        options=[*chosen, "--values", str(values)],
    )


def _parse(text: str) -> list[dict[str, Any]]:
    """The objects in what Helm or kubectl printed."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = yaml.load_all(text, Loader=loader)
    return [document for document in documents if isinstance(document, dict)]
