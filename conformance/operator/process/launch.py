"""How an operator's program is started: its command, environment and files, filled in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance import paths
from conformance.cluster.processes.ports import free_ports
from conformance.cluster.processes.supervisor import Process
from conformance.cluster.protocol import ProcessHost
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.profiles import LoadedProfile
from conformance.operator.templates import fill


class Launch:
    """One program on one cluster: the values of its templates, and the files that it finds."""

    def __init__(self, host: ProcessHost, loaded: LoadedProfile, options: OperatorOptions) -> None:
        """Makes its working directory and chooses its ports. Raises InfraError if too few are free."""
        self._host = host
        self._loaded = loaded
        self._settings = loaded.profile.process
        self._faults = options.faults
        self._private: dict[str, bytes] = {}
        self.work = host.directory / "operators" / loaded.name / "work"
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.values = self._values(options)
        """Placeholder → value."""
        self.values["cert_dir"] = self._filled(self._settings.cert_dir, "cert_dir")

    @property
    def ready_url(self) -> str:
        """Answers 200 once the operator is ready; empty: ready when it runs."""
        return self._filled(self._settings.ready, "ready")

    def write_files(self) -> None:
        """Write the files that the profile lists."""
        for index, file in enumerate(self._settings.files):
            path = self.work / self._filled(file.path, f"files.{index}.path")
            self.add_file(path, self._filled(file.content, f"files.{index}.content").encode())

    def add_file(self, path: Path, content: bytes) -> None:
        """A file that the program finds. One outside its working directory is seen by it alone."""
        if path.is_relative_to(self.work):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        else:
            self._private[str(path)] = content

    def run(self) -> Process:
        """Start the program. Raises InfraError if it cannot be executed."""
        return self._host.spawn(
            f"operator-{self._loaded.name}",
            self._command(),
            env=self._environment(),
            cwd=self.work,
            files=self._private,
        )

    def _values(self, options: OperatorOptions) -> dict[str, str]:
        settings, host = self._settings, self._host
        chosen = [name for name in settings.ports if name not in settings.fixed_ports]
        free = dict(zip(chosen, free_ports(len(chosen)), strict=True))
        values = {
            "kubeconfig": str(host.kubeconfig_for(self._loaded.profile.identity_user)),
            "python": sys.executable,
            "profile_dir": str(self._loaded.directory.resolve()),
            "root": str(paths.root()),
            "work_dir": str(self.work),
            "namespace": settings.namespace,
            "etcd_url": host.etcd_url,
            "ca_bundle": host.ca_bundle,
        }
        ports = {**free, **settings.fixed_ports}
        values |= {f"port_{name}": str(port) for name, port in ports.items()}
        if options.binary is not None:
            values["binary"] = str(options.binary)
        return values

    def _command(self) -> list[str]:
        switch = self._settings.fault_argument
        return [
            *(self._filled(part, "command") for part in self._settings.command),
            *(self._filled(switch, "fault_argument", fault=fault) for fault in self._faults),
        ]

    def _environment(self) -> Mapping[str, str]:
        own = {
            name: self._filled(value, f"env.{name}") for name, value in self._settings.env.items()
        }
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self.values["work_dir"],
            "TMPDIR": self.values["work_dir"],
            "KUBECONFIG": self.values["kubeconfig"],
            # A proxy of the user's must not stand between two processes on loopback.
            "NO_PROXY": "*",
            **own,
        }

    def _filled(self, template: str, field: str, **more: str) -> str:
        where = f"{self._loaded.shown}: `install.{field}`"
        return fill(template, {**self.values, **more}, where=where)
