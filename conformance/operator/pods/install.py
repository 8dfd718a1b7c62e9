"""An operator in pods: found as others installed it (`Adoption`), or installed as it ships
(`PodInstallation`)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from conformance.cluster.certificates import Authority
from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall
from conformance.model.labels import of_run
from conformance.model.state import Obj
from conformance.operator import webhooks
from conformance.operator.installed import InstalledOperator
from conformance.operator.pods.adapt import (
    Adaptation,
    adapt_installed,
    images,
    own_container,
    repository,
    trust_kinds,
)
from conformance.operator.pods.control import PodControl
from conformance.operator.pods.deployed import Target
from conformance.operator.pods.footprint import Footprint, is_ours, settled_namespace
from conformance.operator.pods.operator_image import provide
from conformance.operator.pods.packages import Package, check_hooks, read_package
from conformance.operator.pods.watcher import Watcher
from conformance.operator.resources import DEPLOYMENTS


class Adoption(InstalledOperator):
    """The operator that others installed: nothing of it is written, and closing removes nothing."""

    @property
    def settings(self) -> ClusterInstall:
        return self.profile.pods

    @property
    def removes(self) -> bool:
        """True if closing removes the operator: ours, where it does not go with the cluster."""
        return not (self.cluster.operator_installed or self.cluster.throw_away)

    def _apply(self) -> None:
        """Nothing: it is there."""

    def _start(self) -> None:
        settings = self.settings
        found = self.api.read(DEPLOYMENTS, settings.deployment, settings.namespace)
        if found is None:
            raise UsageError(
                f"{self.loaded.shown}: there is no Deployment {settings.deployment} in namespace "
                f"{settings.namespace} of the cluster (`in_cluster.deployment`); install the operator "
                "there, or have the suite do so: --install-operator"
            )
        deployment = Obj(found)
        target = Target.of(
            deployment,
            operator=self.loaded.name,
            container=settings.container,
            ready_within=self.bounds.install,
        )
        self.attachable = asdict(target)
        self.control = control = PodControl(self.api, target, self.profile)
        pod = deployment.at("spec", "template", "spec")
        account = pod.get("serviceAccountName") or pod.get("serviceAccount") or "default"
        self.users = [f"system:serviceaccount:{deployment.namespace}:{account}"]
        self.log_path = self.logs / f"operator-{self.loaded.name}.log"
        watcher = Watcher(
            control.deployed,
            kubeconfig=self.cluster.kubeconfig,
            log=self.log_path,
            events=self.event_log,
        )
        # If it is removed, its last events are no exits, and its last words are still read.
        removal = self.ending.pop_all()
        self.ending.callback(control.forget_ends)
        self.ending.callback(watcher.close, gone=self.removes)
        self.ending.callback(removal.close)
        if self.removes:
            self.ending.callback(watcher.look_away)


class PodInstallation(Adoption):
    """One installation, step by step. All that it makes carries the labels of the run."""

    @property
    def labels(self) -> Mapping[str, str]:
        """By which all that is made is found again."""
        return of_run(self.cluster.run)

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
        secret = self._webhook_secret(package, authority)
        bundle = authority.bundle if secret else ""
        self._adapt = replace(adaptation, loaded=image, ca_bundle=bundle)
        self._prepare_namespace(package, secret)
        self._send_adapted([*package.prerequisites, *package.crds])
        if package.helm is None:
            # Applied after namespaces and kinds, and before what mounts it.
            self._send_adapted([*secret, *package.manifests])
        else:
            self._send_adapted(secret)
            package.helm.install(within=self.bounds.install)
            adapt_installed(self.api, package.helm.installed(), self._adapt)

    def _check_kinds(self) -> None:
        trust_kinds(self.api, self._adapt)
        self.cluster.kinds_changed()
        super()._check_kinds()

    def _adaptation(self, package: Package) -> Adaptation:
        """The changes, checked against what is shipped."""
        settings, nodes = self.settings, self.cluster.real_nodes
        adaptation = Adaptation(
            settings=settings,
            image=self.options.image,
            arguments=tuple(
                self.loaded.filled("in_cluster.fault_argument", {"fault": fault})
                for fault in self.options.faults
            ),
            nodes=nodes,
            labels=self.labels,
        )
        own_container(package.manifests, adaptation, where=self.loaded.shown)
        if package.helm is not None:
            check_hooks(package.manifests, nodes, where=self.loaded.shown)
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
        settings, image, dockerfile = self.settings, self.options.image, None
        if not image and settings.dockerfile:
            image, dockerfile = settings.image, self.loaded.directory / settings.dockerfile
        elif not image and settings.image:
            # What the manifests name, with its tag.
            name = repository(settings.image)
            named = [each for each in images(package.manifests) if repository(each) == name]
            image = named[0] if named else settings.image
        return provide(image=image, dockerfile=dockerfile, load=self.cluster.load_image)

    def _webhook_secret(self, package: Package, authority: Authority) -> list[dict[str, Any]]:
        """For the Services that webhooks name; none if the operator looks after its certificates."""
        settings = self.settings
        if not settings.certificate_secret:
            return []
        hosts = [host for each in webhooks.services(package.everything) for host in each.hosts]
        if not hosts:
            raise UsageError(
                f"{self.loaded.shown}: `in_cluster.certificate_secret` is for the Services that "
                "webhooks and conversions name, and none is named; leave it out"
            )
        pair = authority.server(hosts)
        files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
        return [webhooks.tls_secret(settings.certificate_secret, settings.namespace, files)]

    def _prepare_namespace(self, package: Package, secret: list[dict[str, Any]]) -> None:
        """Make the namespace; before it, find out whether all that will be written may be."""
        name, within, helm = self.settings.namespace, self.bounds.install, package.helm
        metadata: dict[str, Any] = {"name": name, "labels": self.labels}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        found = settled_namespace(self.api, name, within=within)
        if self.removes:
            footprint = Footprint(self.api, namespace=name)
            footprint.plan([namespace, *secret, *package.everything])
            # The last first: graphs while the operator can still release them, its release, the rest.
            self.ending.callback(footprint.remove, within=within)
            if helm is not None:
                self.ending.callback(helm.uninstall, within=within)
            self.ending.callback(footprint.remove_graphs, within=self.bounds.deletion_deadline)
            if helm is not None and found and is_ours(found):
                # A release that a killed run left behind.
                helm.uninstall(within=within)
        if found is None:
            self._send([namespace])

    def _send_adapted(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        self._send(self._adapt.apply(manifest) for manifest in manifests)
