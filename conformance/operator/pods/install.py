"""Install an operator in pods, as it ships: `PodInstallation`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from conformance.cluster.certificates import Authority
from conformance.model.errors import UsageError
from conformance.model.labels import of_run
from conformance.operator.certificate import webhook_secret
from conformance.operator.pods import live_objects
from conformance.operator.pods.adapt import Adaptation, own_container
from conformance.operator.pods.adoption import Adoption
from conformance.operator.pods.footprint import Footprint, settled_namespace
from conformance.operator.pods.helm import check_hooks
from conformance.operator.pods.operator_image import provide
from conformance.operator.pods.packages import Package, image_of, read_package
from conformance.operator.pods.pod_template import images, repository
from conformance.operator.templates import fill
from conformance.operator.webhooks import CRD_KIND

_FIRST = ("Namespace", CRD_KIND)


class PodInstallation(Adoption):
    """One installation, step by step. All that it makes carries the labels of the run."""

    @property
    def labels(self) -> Mapping[str, str]:
        """By which all that is made is found again."""
        return of_run(self.cluster.run)

    @property
    def removes(self) -> bool:
        """True where the operator does not go with the cluster."""
        return not self.cluster.throw_away

    def _apply(self) -> None:
        package = read_package(
            self.loaded,
            self.options,
            kubeconfig=self.cluster.kubeconfig,
            scratch=self.logs,
            kube_version=str(self.api.get("/version").get("gitVersion", "")),
        )
        adaptation = self._adaptation(package)
        image = self._provide_image(package)
        authority = Authority()
        secret = webhook_secret(
            package.everything, authority, settings=self.settings, where=self.loaded.shown
        )
        bundle = authority.bundle if secret else ""
        self._adapt = replace(adaptation, loaded=image, ca_bundle=bundle)
        self._prepare_namespace(package, secret)
        self._send_adapted([*package.prerequisites, *package.crds])
        if package.helm is None:
            self._send_adapted(m for m in package.manifests if m["kind"] in _FIRST)
            self._send_adapted(secret)
            self._send_adapted(m for m in package.manifests if m["kind"] not in _FIRST)
        else:
            self._send_adapted(secret)
            package.helm.install(within=self.bounds.install)
            live_objects.adapt(self.api, package.helm.installed(), self._adapt)

    def _check_kinds(self) -> None:
        live_objects.trust_kinds(self.api, self._adapt)
        self.cluster.kinds_changed()
        super()._check_kinds()

    def _adaptation(self, package: Package) -> Adaptation:
        """The changes, checked against what is shipped."""
        settings, nodes = self.settings, self.cluster.real_nodes
        known = settings.image and not settings.needs_image
        where = f"{self.loaded.shown}: `in_cluster.fault_argument`"
        adaptation = Adaptation(
            namespace=settings.namespace,
            deployment=settings.deployment,
            container=settings.container,
            image_name=repository(settings.image) if known else "",
            image=self.options.image,
            arguments=tuple(
                fill(settings.fault_argument, {"fault": fault}, where=where)
                for fault in self.options.faults
            ),
            nodes=nodes,
            labels=self.labels,
        )
        own_container(package.manifests, adaptation, where=self.loaded.shown)
        check_hooks(package.manifests if package.helm else (), nodes, where=self.loaded.shown)
        if self.options.image:
            adapted = [adaptation.apply(manifest) for manifest in package.manifests]
            if self.options.image not in images(adapted):
                raise UsageError(
                    f"--operator-image={self.options.image} would replace {settings.image} "
                    f"(`in_cluster.image`), and nothing names that; images there: "
                    f"{', '.join(images(package.manifests))}"
                )
        return adaptation

    def _provide_image(self, package: Package) -> str:
        settings = self.settings
        image = image_of(settings, self.options)
        if not image:
            return ""
        if not settings.dockerfile and not self.options.image:
            # What the manifests name, with its tag.
            named = [n for n in images(package.manifests) if repository(n) == repository(image)]
            image = named[0] if named else image
        dockerfile = self.loaded.directory / settings.dockerfile if settings.dockerfile else None
        return provide(
            image=image,
            dockerfile=dockerfile if not self.options.image else None,
            load=self.cluster.load_image,
        )

    def _prepare_namespace(self, package: Package, secret: list[dict[str, Any]]) -> None:
        """Make the namespace; before it, find out whether all that will be written may be."""
        name = self.namespace
        metadata: dict[str, Any] = {"name": name, "labels": self.labels}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        found = settled_namespace(self.api, name, within=self.bounds.install)
        if self.removes:
            footprint = Footprint(self.api, namespace=name)
            footprint.plan([namespace, *secret, *package.everything])
            # The last first: graphs while the operator can still release them, its release, the rest.
            self.ending.callback(footprint.remove, within=self.bounds.install)
            if package.helm is not None:
                self.ending.callback(package.helm.uninstall, within=self.bounds.install)
            self.ending.callback(footprint.remove_graphs, within=self.bounds.deletion_deadline)
            if package.helm is not None and found and footprint.is_ours(found):
                # A release that a killed run left behind.
                package.helm.uninstall(within=self.bounds.install)
        if found is None:
            self.send([namespace])

    def _send_adapted(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        self.send(self._adapt.apply(manifest) for manifest in manifests)
