"""Helm, as a program: render, install, read back, uninstall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.nodes import RealNodes
from conformance.model.errors import InfraError, UsageError
from conformance.operator.pods.adapt import fits
from conformance.operator.pods.commands import find, run
from conformance.operator.pods.pod_template import pod_template

RENDER_SECONDS = 120.0
"""A chart may have to be downloaded."""
_GET_HELM = "install Helm 3.13 or newer (https://helm.sh/docs/intro/install)"
_HOOK = "helm.sh/hook"
_INSTALL_HOOKS = {"pre-install", "post-install"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart, and the release that is made of it."""

    reference: str
    """Directory, archive, `oci://` reference, or name in `repository`."""
    release: str
    namespace: str
    version: str = ""
    repository: str = ""
    values: Path | None = None
    """File with its values."""

    @property
    def arguments(self) -> list[str]:
        """What install and template have in common."""
        given = [self.release, self.reference, "--namespace", self.namespace]
        given += ["--version", self.version] if self.version else []
        given += ["--repo", self.repository] if self.repository else []
        given += ["--values", str(self.values)] if self.values else []
        return given


class Helm:
    """One release on one cluster."""

    def __init__(self, chart: Chart, *, kubeconfig: Path, operator: str) -> None:
        """Raises UsageError if there is no `helm`."""
        doing = f"installing the operator {operator} by its chart"
        self._program = find("helm", needed_for=doing, get_it=_GET_HELM)
        self._chart = chart
        self._kubeconfig = kubeconfig

    def render(self, *, kube_version: str = "") -> list[dict[str, Any]]:
        """All that an install would make, CRDs and hooks among it. Raises UsageError with Helm's
        words for a chart that is not found or values that do not fit."""
        command = ["template", *self._chart.arguments, "--include-crds"]
        command += ["--kube-version", kube_version] if kube_version else []
        return parse(self._run(command, within=RENDER_SECONDS, error=UsageError))

    def install(self, *, within: float) -> None:
        """Install the release; hooks are waited for, pods are not. Raises InfraError."""
        command = ["install", *self._chart.arguments, "--timeout", f"{within:.0f}s"]
        self._run(command, within=within + RENDER_SECONDS)

    def installed(self) -> list[dict[str, Any]]:
        """The manifests of the installed release, without hooks and CRDs."""
        command = ["get", "manifest", self._chart.release, "--namespace", self._chart.namespace]
        return parse(self._run(command, within=RENDER_SECONDS))

    def uninstall(self, *, within: float) -> None:
        """Remove the release. One that is not there is fine. Raises InfraError."""
        command = ["uninstall", self._chart.release, "--namespace", self._chart.namespace]
        command += ["--ignore-not-found", "--wait", "--timeout", f"{within:.0f}s"]
        self._run(command, within=within + 10.0)

    def _run(
        self,
        arguments: Sequence[str],
        *,
        within: float,
        error: type[UsageError | InfraError] = InfraError,
    ) -> str:
        command = [self._program, *arguments, "--kubeconfig", str(self._kubeconfig)]
        doing = f"helm {arguments[0]} of {self._chart.reference} as {self._chart.release}"
        return run(command, doing=doing, within=within, error=error)


def parse(text: str) -> list[dict[str, Any]]:
    """The objects in what Helm or kubectl printed."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = yaml.load_all(text, Loader=loader)
    return [document for document in documents if isinstance(document, dict)]


def check_hooks(
    manifests: Sequence[Mapping[str, Any]], nodes: RealNodes | None, *, where: str
) -> None:
    """Raises UsageError if a hook's pods would run on a simulated node: it would seem to succeed and
    do nothing. Helm starts them itself, so that only the chart's values can place them."""
    if nodes is None:
        return
    for manifest in manifests:
        hooks = ((manifest.get("metadata") or {}).get("annotations") or {}).get(_HOOK, "")
        template = pod_template(manifest)
        wanted = _INSTALL_HOOKS & {hook.strip() for hook in str(hooks).split(",")}
        if wanted and template is not None and not fits(template, nodes):
            key, value = nodes.simulated
            raise UsageError(
                f"{where}: the chart runs {manifest['kind']} {manifest['metadata']['name']} as a "
                f"hook, and its pod might land on a simulated node, where it does nothing; turn it "
                f"off in `in_cluster.values`, or let its values give it a toleration for "
                f"{nodes.taint} and a required node affinity {key} NotIn [{value}]"
            )
