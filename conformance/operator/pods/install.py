"""Install an operator into a cluster as it ships, and start it: `install_in_pods`.

In the order in which a real installation must happen: namespace, what the operator needs in the
cluster, kinds, certificates and webhooks, the operator; then nothing goes on before the live API
agrees with the profile, the webhooks are reached, and the operator has shown that it works.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.cluster.certificates import Authority
from conformance.cluster.nodes import RealNodes
from conformance.cluster.protocol import PodCluster
from conformance.history.records import OperatorEvent
from conformance.kube import Api, apply_manifests
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError, UsageError
from conformance.model.installs import Placement
from conformance.operator import probes, webhooks
from conformance.operator.inputs import Inputs, check_inputs
from conformance.operator.pods import live
from conformance.operator.pods.adapt import Adaptation, images, own_container, repository
from conformance.operator.pods.certificate import certificate_secret
from conformance.operator.pods.deployed import DEPLOYMENTS, Target
from conformance.operator.pods.footprint import Footprint
from conformance.operator.pods.helm import check_hooks
from conformance.operator.pods.images import provide
from conformance.operator.pods.operator import PodOperator, service_account
from conformance.operator.pods.packages import Shipped, image_of, read
from conformance.operator.profiles import LoadedProfile
from conformance.operator.templates import fill

WarmUp = Callable[[PodOperator], None]
OnEvent = Callable[[OperatorEvent], None]


def install_in_pods(
    cluster: PodCluster,
    loaded: LoadedProfile,
    *,
    inputs: Inputs,
    bounds: Bounds,
    log_directory: Path,
    warm_up: WarmUp | None = None,
    on_event: OnEvent | None = None,
    nodes: RealNodes | None = None,
    labels: Mapping[str, str] | None = None,
) -> PodOperator:
    """Install the operator, and return it ready, guarded, probed and warm.

    `nodes`: how its pods find real nodes among simulated ones; None: all nodes are real. `labels` are
    put on all that is made (`model.labels.of_run`), so that it is found again. On a cluster that is not
    thrown away, nothing is overwritten that is not labelled as the suite's own, and closing removes
    what was made. `warm_up` as in `install`.

    Raises UsageError for what the user can mend (files, images, programs, a profile that does not
    fit the live API), StartError if the operator does not become ready, with the reason of its
    pods, InfraError if the API server or a program fails. What was made is removed then, too.
    """
    checked = check_inputs(loaded, inputs, placement=Placement.PODS)
    installation = Installation(
        cluster, loaded, checked, bounds, log_directory, nodes, dict(labels or {})
    )
    return installation.run(warm_up=warm_up, on_event=on_event)


def adopt_in_pods(
    cluster: PodCluster,
    loaded: LoadedProfile,
    *,
    bounds: Bounds,
    log_directory: Path,
    warm_up: WarmUp | None = None,
    on_event: OnEvent | None = None,
) -> PodOperator:
    """The operator that others installed: nothing is written but what `warm_up` writes, and closing
    removes nothing. Raises UsageError if it is not there, and as `install_in_pods` does."""
    adoption = Installation(cluster, loaded, Inputs(), bounds, log_directory, None, {})
    return adoption.run(warm_up=warm_up, on_event=on_event, adopt=True)


class Installation:
    """One installation on one cluster, step by step."""

    def __init__(
        self,
        cluster: PodCluster,
        loaded: LoadedProfile,
        inputs: Inputs,
        bounds: Bounds,
        log_directory: Path,
        nodes: RealNodes | None,
        labels: dict[str, str],
    ) -> None:
        self._cluster = cluster
        self._loaded = loaded
        self._profile = loaded.profile
        self._settings = loaded.profile.pods
        self._inputs = inputs
        self._bounds = bounds
        self._logs = log_directory
        self._nodes = nodes
        self._labels = labels
        self._where = loaded.shown
        self._api = Api.from_kubeconfig(cluster.kubeconfig)
        self._began = time.monotonic()
        self._seconds: dict[str, float] = {}
        self._facts: dict[str, Any] = {}
        self._undo: Callable[[], None] | None = None

    def run(
        self, *, warm_up: WarmUp | None, on_event: OnEvent | None, adopt: bool = False
    ) -> PodOperator:
        """All steps. Whatever fails, what was made is removed where it does not go anyway."""
        try:
            adaptation = None if adopt else self._install()
            running = self._found(on_event)
        except BaseException:
            if self._undo is not None:
                with contextlib.suppress(InfraError):
                    self._undo()
            raise
        try:
            running.wait_ready()
            self._reached("ready")
            if adaptation is not None:
                # Some bring their kinds themselves when they start.
                live.trust_kinds(self._api, adaptation)
                self._cluster.kinds_changed()
            running.served = probes.check_versions(self._api, self._profile, where=self._where)
            self._reached("kinds served")
            probes.wait_for_webhooks(
                self._api,
                self._profile,
                within=self._bounds.install,
                check=lambda: running.require_ready("while its webhooks were tried"),
            )
            running.probes = probes.check_features(self._api, self._profile, where=self._where)
            self._reached("probed")
            if warm_up is not None:
                warm_up(running)
                self._reached("warm")
            running.seconds = self._seconds
        except BaseException:
            with contextlib.suppress(InfraError):
                running.close()
            raise
        return running

    def _install(self) -> Adaptation:
        version = str(self._api.get("/version").get("gitVersion", ""))
        shipped = read(
            self._loaded,
            self._inputs,
            kubeconfig=self._cluster.kubeconfig,
            scratch=self._logs,
            kube_version=version,
        )
        adaptation = self._adaptation(shipped)
        loaded = self._provide_image(shipped)
        authority = Authority()
        secret = certificate_secret(
            shipped.everything, authority, settings=self._settings, where=self._where
        )
        bundle = authority.bundle if secret else ""
        adaptation = replace(adaptation, loaded=loaded, ca_bundle=bundle)
        self._prepare(shipped, secret)
        self._apply([*shipped.prerequisites, *shipped.crds], adaptation)
        if shipped.helm is None:
            self._apply(shipped.manifests, adaptation, kinds=True)
            self._apply(secret, adaptation)
            self._apply(shipped.manifests, adaptation, kinds=False)
        else:
            self._apply(secret, adaptation)
            shipped.helm.install(within=self._bounds.install)
            live.adapt(self._api, shipped.helm.installed(), adaptation)
        self._facts = {
            "loaded_image": loaded,
            "faults": list(self._inputs.faults),
            **({"crds": str(self._inputs.crds)} if self._inputs.crds else {}),
            **({"chart": self._inputs.chart or self._settings.chart} if shipped.helm else {}),
        }
        self._reached("installed")
        return adaptation

    def _adaptation(self, shipped: Shipped) -> Adaptation:
        """The changes, checked against what is shipped."""
        settings = self._settings
        known = settings.image and not settings.needs_image
        argument = settings.fault_argument
        where = f"{self._where}: `in_cluster.fault_argument`"
        adaptation = Adaptation(
            namespace=settings.namespace,
            deployment=settings.deployment,
            container=settings.container,
            image_name=repository(settings.image) if known else "",
            image=self._inputs.image,
            arguments=tuple(fill(argument, {"fault": f}, where=where) for f in self._inputs.faults),
            nodes=self._nodes,
            labels=self._labels,
        )
        own_container(shipped.manifests, adaptation, where=self._where)
        check_hooks(shipped.manifests if shipped.helm else (), self._nodes, where=self._where)
        if self._inputs.image:
            adapted = [adaptation.apply(manifest) for manifest in shipped.manifests]
            if self._inputs.image not in images(adapted):
                raise UsageError(
                    f"--operator-image={self._inputs.image} would replace {settings.image} "
                    f"(`in_cluster.image`), and nothing names that; images there: "
                    f"{', '.join(images(shipped.manifests))}"
                )
        return adaptation

    def _provide_image(self, shipped: Shipped) -> str:
        settings = self._settings
        image = image_of(settings, self._inputs)
        if not image:
            return ""
        if not settings.dockerfile and not self._inputs.image:
            # What the manifests name, with its tag.
            named = [n for n in images(shipped.manifests) if repository(n) == repository(image)]
            image = named[0] if named else image
        return provide(
            image=image,
            dockerfile=self._loaded.directory / settings.dockerfile
            if settings.dockerfile
            else None,
            build=not self._inputs.image,
            load=self._cluster.load_image,
        )

    def _prepare(self, shipped: Shipped, secret: list[dict[str, Any]]) -> None:
        """The namespace; before it, nothing is written where that would not be allowed."""
        name, bounds = self._settings.namespace, self._bounds
        metadata: dict[str, Any] = {"name": name, "labels": self._labels}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        found = live.settled_namespace(self._api, name, within=bounds.install)
        if not self._cluster.throw_away:
            footprint = Footprint(self._api, namespace=name)
            footprint.plan([namespace, *secret, *shipped.everything], refuse=True)
            self._undo = live.undo(footprint, shipped.helm, bounds)
            if shipped.helm is not None and found and footprint.is_ours(found):
                # A release that a run left behind when it was killed.
                shipped.helm.uninstall(within=bounds.install)
        if found is None:
            self._apply([namespace], None)

    def _apply(
        self,
        manifests: Iterable[Mapping[str, Any]],
        adaptation: Adaptation | None,
        *,
        kinds: bool | None = None,
    ) -> None:
        """Server-side apply; CRDs are waited for. `kinds`: only CRDs and namespaces, or only the
        rest."""
        first = ("Namespace", webhooks.CRD_KIND)
        chosen = [m for m in manifests if kinds is None or (m["kind"] in first) is kinds]
        adapted = [adaptation.apply(m) if adaptation else dict(m) for m in chosen]
        apply_manifests(self._api, adapted, namespace=self._settings.namespace)

    def _found(self, on_event: OnEvent | None) -> PodOperator:
        settings = self._settings
        deployment = self._api.read(DEPLOYMENTS, settings.deployment, settings.namespace)
        if deployment is None:
            raise UsageError(
                f"{self._where}: there is no Deployment {settings.deployment} in namespace "
                f"{settings.namespace} of the cluster (`in_cluster.deployment`); install the operator "
                "there, or have the suite do so: --install-operator"
            )
        target = Target.of(
            deployment,
            operator=self._loaded.name,
            container=settings.container,
            ready_within=self._bounds.install,
            dry_runs=tuple(probes.dry_runs(self._profile)),
        )
        template = deployment["spec"]["template"]
        user = service_account(deployment)
        facts = {
            "profile": str(self._loaded.path),
            "kind": settings.kind.value,
            "namespace": settings.namespace,
            "deployment": settings.deployment,
            "user": user,
            "images": images([{"kind": "Deployment", "spec": {"template": template}}]),
            **self._facts,
        }
        return PodOperator(
            self._api,
            target,
            loaded=self._loaded,
            kubeconfig=self._cluster.kubeconfig,
            log=self._logs / f"operator-{self._loaded.name}.log",
            user=user,
            facts=facts,
            on_event=on_event,
            remove=self._undo,
        )

    def _reached(self, milestone: str) -> None:
        self._seconds[milestone] = round(time.monotonic() - self._began, 3)
