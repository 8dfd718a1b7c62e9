"""Install an operator as a process beside a control plane: `ProcessInstallation`."""

import contextlib
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import paths
from conformance.cluster.processes.ports import free_ports, is_free
from conformance.cluster.protocol import ProcessHost
from conformance.model.errors import UsageError
from conformance.model.installs import ProcessInstall
from conformance.operator import webhooks
from conformance.operator.installed import InstalledOperator
from conformance.operator.process.control import ProcessControl
from conformance.operator.resources import CRDS

WEBHOOK_PORT = "port_webhook"
"""Placeholder for the port that admission and conversion requests go to."""
_CERTIFICATE_FILES = ("tls.crt", "tls.key", "ca.crt")


class ProcessInstallation(InstalledOperator):
    """One installation, step by step."""

    @property
    def settings(self) -> ProcessInstall:
        return self.profile.process

    @property
    def _host(self) -> ProcessHost:
        host = self.cluster.process_host
        assert host is not None
        return host

    def _apply(self) -> None:
        settings = self.settings
        self.ending.enter_context(_held(settings.fixed_ports, operator=self.loaded.name))
        self._work = self._host.directory / "operators" / self.loaded.name / "work"
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._private: dict[str, bytes] = {}
        self._values = self._chosen_values()
        self._values["cert_dir"] = self._filled("cert_dir")
        self._port = int(self._values.get(WEBHOOK_PORT, 0))
        crds, hooks = self._read("crds"), self._read("webhooks")
        prerequisites = self._read("prerequisites")
        services = webhooks.services([*crds, *hooks, *prerequisites])
        if services and not self._port:
            raise UsageError(
                f"{self.loaded.shown}: its webhooks need a port named webhook in "
                "`install.ports` or `install.fixed_ports`"
            )
        names = sorted({self.settings.namespace, *(service.namespace for service in services)})
        self._send(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names
        )
        # The alias stands in for a Service of the same name, which could not become one.
        self._send_reachable(m for m in prerequisites if webhooks.service_of(m) not in services)
        self._send(webhooks.external_name(service, port=self._port) for service in services)
        if settings.cluster_admin:
            self._host.bind_cluster_admin(self.profile.identity_user)
        self._send(self._read("rbac"))
        self._install_kinds(crds)
        self._certify([service.host for service in services])
        self._send_reachable(hooks)
        for file in self._filled("files"):
            self._add_file(self._work / file["path"], file["content"].encode())

    def _start(self) -> None:
        command = self._filled("command")
        command += [self._filled("fault_argument", fault=fault) for fault in self.options.faults]
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._work),
            "TMPDIR": str(self._work),
            "KUBECONFIG": self._values["kubeconfig"],
            # A proxy of the user's must not stand between two processes on loopback.
            "NO_PROXY": "*",
            **self._filled("env"),
        }
        process = self._host.spawn(
            f"operator-{self.loaded.name}",
            command,
            env=environment,
            cwd=self._work,
            files=self._private,
        )
        self.control = control = ProcessControl(
            process,
            name=self.loaded.name,
            ready_url=self._filled("ready"),
            ready_within=self.bounds.install,
            events=self.event_log,
        )
        self.ending.callback(control.close)
        self.users = (self.profile.identity_user,)
        self.log_path = process.log

    def _install_kinds(self, crds: Sequence[dict[str, Any]]) -> None:
        definitions = [crd for crd in crds if crd["kind"] == CRDS.kind]
        if not definitions:
            raise UsageError(
                f"{self.loaded.shown}: there is no CustomResourceDefinition under `install.crds`"
            )
        self._send_reachable(definitions)
        self._host.kinds_changed()
        self._check_kinds()

    def _certify(self, hosts: Sequence[str]) -> None:
        names = ["localhost", "127.0.0.1", *hosts]
        folder = self._host.serving_certificate(names, self._work / "certs")
        content = {name: (folder / name).read_bytes() for name in _CERTIFICATE_FILES}
        for name, data in content.items():
            self._add_file(Path(self._values["cert_dir"]) / name, data)
        if secret := self.settings.certificate_secret:
            self._send([webhooks.tls_secret(secret, self.settings.namespace, content)])

    def _read(self, field: str) -> list[dict[str, Any]]:
        return self.loaded.manifests(f"install.{field}", crds=self.options.crds)

    def _send_reachable(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Apply, with references to webhook services changed to reach the process."""
        port, bundle = self._port, self._host.ca_bundle
        self._send(webhooks.reachable(m, port=port, ca_bundle=bundle) for m in manifests)

    def _add_file(self, path: Path, content: bytes) -> None:
        """A file that the program finds. One outside its working directory is seen by it alone."""
        if path.is_relative_to(self._work):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        else:
            self._private[str(path)] = content

    def _chosen_values(self) -> dict[str, str]:
        """Placeholder → value, with ports that are free just now."""
        settings, host = self.settings, self._host
        chosen = [name for name in settings.ports if name not in settings.fixed_ports]
        free = dict(zip(chosen, free_ports(len(chosen)), strict=True))
        values = {
            "kubeconfig": str(host.kubeconfig_for(self.profile.identity_user)),
            "python": sys.executable,
            "profile_dir": str(self.loaded.directory.resolve()),
            "root": str(paths.root()),
            "work_dir": str(self._work),
            "namespace": settings.namespace,
            "etcd_url": host.etcd_url,
            "ca_bundle": host.ca_bundle,
        }
        ports = {**free, **settings.fixed_ports}
        values |= {f"port_{name}": str(port) for name, port in ports.items()}
        if self.options.binary is not None:
            values["binary"] = str(self.options.binary)
        return values

    def _filled(self, field: str, **more: str) -> Any:
        return self.loaded.filled(f"install.{field}", {**self._values, **more})


@contextlib.contextmanager
def _held(ports: Mapping[str, int], *, operator: str) -> Iterator[None]:
    """Hold ports that a program does not let one choose. Raises UsageError, one sentence, if one is
    locked by another run or in use.

    The lock is an abstract socket: it is seen by every user in the same network namespace, exactly
    as the port is, it ends with the process however that ends, and it leaves no file.
    """
    with contextlib.ExitStack() as locks:
        for name, port in ports.items():
            lock = locks.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            why = "" if is_free(port) else "another program on this machine listens on it"
            try:
                lock.bind(f"\0dgd-conformance-port-{port}")
            except OSError:
                why = "another run of the suite on this machine holds it"
            if why:
                raise UsageError(
                    f"the operator {operator} can only use port {port} ({name}), and {why}; "
                    "end that first"
                )
        yield
