"""Find an operator that runs in pods, wait until it is ready, and watch it: `Adoption`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall
from conformance.operator.installation import Installation
from conformance.operator.installed import InstalledOperator
from conformance.operator.pods.control import PodControl
from conformance.operator.pods.deployed import Target
from conformance.operator.pods.watcher import Watcher
from conformance.operator.resources import DEPLOYMENTS


class Adoption(Installation):
    """The operator that others installed: nothing is written but what the warm-up writes, and closing
    removes nothing."""

    @property
    def namespace(self) -> str:
        return self.settings.namespace

    @property
    def settings(self) -> ClusterInstall:
        return self.profile.pods

    @property
    def removes(self) -> bool:
        """True if closing removes the operator."""
        return False

    def _apply(self) -> None:
        """Nothing: it is there."""

    def _start(self) -> InstalledOperator:
        settings = self.settings
        deployment = self.api.read(DEPLOYMENTS, settings.deployment, settings.namespace)
        if deployment is None:
            raise UsageError(
                f"{self.loaded.shown}: there is no Deployment {settings.deployment} in namespace "
                f"{settings.namespace} of the cluster (`in_cluster.deployment`); install the operator "
                "there, or have the suite do so: --install-operator"
            )
        control = PodControl(
            self.api,
            Target.of(
                deployment,
                operator=self.loaded.name,
                container=settings.container,
                ready_within=self.bounds.install,
            ),
            self.profile,
        )
        log = self.logs / f"operator-{self.loaded.name}.log"
        self._watch(control, log)
        return InstalledOperator(
            loaded=self.loaded,
            control=control,
            attachable=asdict(control.target),
            users=[service_account(deployment)],
            log_path=log,
            event_log=self.events,
            ending=self.ending,
        )

    def _watch(self, control: PodControl, log: Path) -> None:
        """Watch the pods until the operator is closed. If it is removed then, its last events are no
        exits, and its last words are still read."""
        watcher = Watcher(
            control.deployed, kubeconfig=self.cluster.kubeconfig, log=log, events=self.events
        )
        removal = self.ending.pop_all()
        removes = self.removes
        self.ending.callback(control.forget_ends)
        self.ending.callback(watcher.close, gone=removes)
        self.ending.callback(removal.close)
        if removes:
            self.ending.callback(watcher.look_away)


def service_account(deployment: Mapping[str, Any]) -> str:
    """User name of the pods that a Deployment makes."""
    spec = deployment["spec"]["template"]["spec"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    return f"system:serviceaccount:{deployment['metadata']['namespace']}:{name}"
