"""Install an operator as a process beside a control plane: `ProcessInstallation`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.cluster.protocol import ProcessHost
from conformance.model.errors import UsageError
from conformance.model.installs import ProcessInstall
from conformance.operator import webhooks
from conformance.operator.certificate import tls_secret
from conformance.operator.installation import Installation
from conformance.operator.installed import InstalledOperator
from conformance.operator.process.control import ProcessControl
from conformance.operator.process.fixed_ports import FixedPorts
from conformance.operator.process.launch import Launch
from conformance.operator.webhooks import ServiceRef

WEBHOOK_PORT = "port_webhook"
"""Placeholder for the port that admission and conversion requests go to."""
_CERTIFICATE_FILES = ("tls.crt", "tls.key", "ca.crt")


class ProcessInstallation(Installation):
    """One installation, step by step."""

    @property
    def namespace(self) -> str:
        return self._settings.namespace

    @property
    def _settings(self) -> ProcessInstall:
        return self.profile.process

    @property
    def _host(self) -> ProcessHost:
        host = self.cluster.process_host
        assert host is not None
        return host

    def _apply(self) -> None:
        settings = self._settings
        held = FixedPorts(settings.fixed_ports, operator=self.loaded.name)
        self.ending.callback(held.close)
        self._launch = Launch(self._host, self.loaded, self.options)
        self._port = int(self._launch.values.get(WEBHOOK_PORT, 0))
        crds = self.read(settings.crds, "install.crds")
        hooks = self.read(settings.webhooks, "install.webhooks")
        prerequisites = self.read(settings.prerequisites, "install.prerequisites")
        services = webhooks.services([*crds, *hooks, *prerequisites])
        if services and not self._port:
            raise UsageError(
                f"{self.loaded.shown}: its webhooks need a port named webhook in "
                "`install.ports` or `install.fixed_ports`"
            )
        self._prepare_cluster(prerequisites, services)
        self._install_kinds(crds)
        self._certify(services)
        self._send_reachable(hooks)
        self._launch.write_files()

    def _start(self) -> InstalledOperator:
        process = self._launch.run()
        control = ProcessControl(
            process,
            name=self.loaded.name,
            ready_url=self._launch.ready_url,
            ready_within=self.bounds.install,
            events=self.events,
        )
        self.ending.callback(control.close)
        return InstalledOperator(
            loaded=self.loaded,
            control=control,
            users=(self.profile.identity_user,),
            log_path=process.log,
            event_log=self.events,
            ending=self.ending,
        )

    def _prepare_cluster(
        self, prerequisites: Sequence[dict[str, Any]], services: Sequence[ServiceRef]
    ) -> None:
        namespaces = {self.namespace, *(service.namespace for service in services)}
        self.send(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in sorted(namespaces)
        )
        # The alias stands in for a Service of the same name, which could not become one.
        self._send_reachable(m for m in prerequisites if webhooks.service_of(m) not in services)
        self.send(webhooks.external_name(service, port=self._port) for service in services)
        if self._settings.cluster_admin:
            self._host.bind_cluster_admin(self.profile.identity_user)
        self.send(self.read(self._settings.rbac, "install.rbac"))

    def _install_kinds(self, crds: Sequence[dict[str, Any]]) -> None:
        definitions = [crd for crd in crds if crd["kind"] == webhooks.CRD_KIND]
        if not definitions:
            raise UsageError(
                f"{self.loaded.shown}: there is no CustomResourceDefinition under `install.crds`"
            )
        self._send_reachable(definitions)
        self._host.kinds_changed()
        self._check_kinds()

    def _certify(self, services: Sequence[ServiceRef]) -> None:
        names = ["localhost", "127.0.0.1", *(service.host for service in services)]
        folder = self._host.serving_certificate(names, self._launch.work / "certs")
        content = {name: (folder / name).read_bytes() for name in _CERTIFICATE_FILES}
        for name, data in content.items():
            self._launch.add_file(Path(self._launch.values["cert_dir"]) / name, data)
        if self._settings.certificate_secret:
            self.send([tls_secret(self._settings.certificate_secret, self.namespace, content)])

    def _send_reachable(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Apply, with references to webhook services changed to reach the process."""
        port, bundle = self._port, self._host.ca_bundle
        self.send(webhooks.reachable(m, port=port, ca_bundle=bundle) for m in manifests)
