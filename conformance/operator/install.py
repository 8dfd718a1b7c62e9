"""Install an operator beside a control plane and start it: `install`.

In the order in which a real installation must happen: namespace, what the operator needs in the
cluster, kinds, certificates and webhooks, the process; then nothing goes on before the live API
agrees with the profile, the webhooks are reached, and the operator has shown that it works.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import paths
from conformance.history.records import OperatorEvent
from conformance.kube import Api, apply_manifests
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.operator import ports, probes, webhooks
from conformance.operator.cluster import Cluster
from conformance.operator.inputs import Inputs, check_inputs
from conformance.operator.profiles import LoadedProfile
from conformance.operator.running import RunningOperator
from conformance.operator.shipped import read_manifests
from conformance.operator.templates import fill

WEBHOOK_PORT = "webhook"
"""Name of the port that admission and conversion requests go to."""


def install(
    cluster: Cluster,
    loaded: LoadedProfile,
    *,
    inputs: Inputs | None = None,
    bounds: Bounds | None = None,
    warm_up: Callable[[RunningOperator], None] | None = None,
    on_event: Callable[[OperatorEvent], None] | None = None,
    api: Api | None = None,
) -> RunningOperator:
    """Install the operator on the cluster, start it, and return it ready, guarded, probed and warm.

    `warm_up` is called once it is ready: it deploys a throw-away graph, waits until that settled
    and is removed, and raises if that does not come about (readiness was seen up to 8 s before the
    first reconcile). `api` stands in for the client made from the cluster's kubeconfig.

    Raises UsageError for what the user can mend (files, faults, ports, a profile that does not fit
    the live API), StartError if the operator does not become ready, InfraError if the API server
    fails.
    """
    return Installation(
        cluster=cluster,
        loaded=loaded,
        inputs=check_inputs(loaded, inputs or Inputs()),
        bounds=bounds or Bounds(),
        api=api or Api.from_kubeconfig(cluster.kubeconfig),
    ).run(warm_up=warm_up, on_event=on_event)


class Installation:
    """One installation on one cluster, step by step."""

    def __init__(
        self, *, cluster: Cluster, loaded: LoadedProfile, inputs: Inputs, bounds: Bounds, api: Api
    ) -> None:
        self._cluster = cluster
        self._loaded = loaded
        self._profile = loaded.profile
        self._install = loaded.profile.process
        self._inputs = inputs
        self._bounds = bounds
        self._api = api
        self._where = loaded.shown
        self._work = cluster.directory / "operators" / loaded.name / "work"
        self._private: dict[str, bytes] = {}
        self._began = time.monotonic()
        self._seconds: dict[str, float] = {}

    def run(
        self,
        *,
        warm_up: Callable[[RunningOperator], None] | None,
        on_event: Callable[[OperatorEvent], None] | None,
    ) -> RunningOperator:
        """All steps. Whatever fails, the process is ended and the fixed ports are given up."""
        held = ports.FixedPorts(self._install.fixed_ports, operator=self._loaded.name)
        try:
            running = self._start(held, on_event)
        except BaseException:
            held.close()
            raise
        try:
            running.wait_ready()
            self._reached("ready")
            probes.wait_for_webhooks(
                self._api,
                self._profile,
                within=self._bounds.install,
                check=lambda: running.require_alive("while its webhooks were tried"),
            )
            running.probes = probes.check_features(self._api, self._profile, where=self._where)
            self._reached("probed")
            if warm_up is not None:
                warm_up(running)
                self._reached("warm")
            running.seconds = self._seconds
        except BaseException:
            running.close()
            raise
        return running

    def _start(
        self, held: ports.FixedPorts, on_event: Callable[[OperatorEvent], None] | None
    ) -> RunningOperator:
        values = self._values()
        port = int(values.get(f"port_{WEBHOOK_PORT}", 0))
        crds = self._read(self._install.crds, what="install.crds")
        hooks = self._read(self._install.webhooks, what="install.webhooks")
        prerequisites = self._read(self._install.prerequisites, what="install.prerequisites")
        references = webhooks.services([*crds, *hooks, *prerequisites])
        if references and not port:
            raise UsageError(
                f"{self._where}: its webhooks need a port named {WEBHOOK_PORT} in "
                "`install.ports` or `install.fixed_ports`"
            )
        self._prepare_cluster(prerequisites, references, port=port)
        self._install_kinds(crds, port=port)
        served = probes.check_versions(self._api, self._profile, where=self._where)
        names = ["localhost", "127.0.0.1", *(reference.host for reference in references)]
        self._certify(names, values)
        self._apply(hooks, port=port)
        self._write_files(values)
        self._reached("installed")
        ready = self._filled(self._install.ready, values, "install.ready")
        process = self._cluster.spawn(
            f"operator-{self._loaded.name}",
            self._command(values),
            env=self._environment(values),
            cwd=self._work,
            files=self._private,
        )
        return RunningOperator(
            process,
            loaded=self._loaded,
            held=held,
            ready_url=ready,
            bounds=self._bounds,
            on_event=on_event,
            facts=self._facts(values),
            served=served,
        )

    def _command(self, values: Mapping[str, str]) -> list[str]:
        command = [self._filled(part, values, "install.command") for part in self._install.command]
        switch = self._install.fault_argument
        for fault in self._inputs.faults:
            with_fault = {**values, "fault": fault}
            command.append(self._filled(switch, with_fault, "install.fault_argument"))
        return command

    def _environment(self, values: Mapping[str, str]) -> dict[str, str]:
        own = {
            name: self._filled(value, values, f"install.env.{name}")
            for name, value in self._install.env.items()
        }
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": values["work_dir"],
            "TMPDIR": values["work_dir"],
            "KUBECONFIG": values["kubeconfig"],
            # A proxy of the user's must not stand between two processes on loopback.
            "NO_PROXY": "*",
            **own,
        }

    def _values(self) -> dict[str, str]:
        """What the templates of the profile may name."""
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = ports.choose([n for n in self._install.ports if n not in self._install.fixed_ports])
        values = {
            "kubeconfig": str(self._cluster.kubeconfig_for(self._profile.identity_user)),
            "python": sys.executable,
            "profile_dir": str(self._loaded.directory.resolve()),
            "root": str(paths.root()),
            "work_dir": str(self._work),
            "namespace": self._install.namespace,
            "etcd_url": self._cluster.etcd_url,
            "ca_bundle": self._cluster.ca_bundle,
            **{
                f"port_{name}": str(port)
                for name, port in {**free, **self._install.fixed_ports}.items()
            },
        }
        if self._inputs.binary is not None:
            values["binary"] = str(self._inputs.binary)
        return {
            **values,
            "cert_dir": self._filled(self._install.cert_dir, values, "install.cert_dir"),
        }

    def _prepare_cluster(
        self,
        prerequisites: Sequence[dict[str, Any]],
        references: Sequence[webhooks.ServiceRef],
        *,
        port: int,
    ) -> None:
        namespaces = {self._install.namespace, *(reference.namespace for reference in references)}
        self._apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in sorted(namespaces)
        )
        aliases = [webhooks.external_name(reference, port=port) for reference in references]
        replaced = {
            (alias["metadata"]["namespace"], alias["metadata"]["name"]) for alias in aliases
        }
        self._apply(
            # The alias stands in for a Service of the same name, which could not become one.
            (
                manifest
                for manifest in prerequisites
                if manifest["kind"] != "Service"
                or (manifest["metadata"].get("namespace"), manifest["metadata"]["name"])
                not in replaced
            ),
            port=port,
        )
        self._apply(aliases)
        if self._install.cluster_admin:
            self._cluster.bind_cluster_admin(self._profile.identity_user)
        self._apply(self._read(self._install.rbac, what="install.rbac"))

    def _install_kinds(self, crds: Sequence[dict[str, Any]], *, port: int) -> None:
        definitions = [crd for crd in crds if crd["kind"] == webhooks.CRD_KIND]
        if not definitions:
            raise UsageError(
                f"{self._where}: there is no CustomResourceDefinition under `install.crds`"
            )
        self._apply(definitions, port=port)
        self._cluster.kinds_changed()
        self._reached("kinds served")

    def _certify(self, names: Sequence[str], values: Mapping[str, str]) -> None:
        wanted = Path(values["cert_dir"])
        inside = wanted.is_relative_to(self._work)
        folder = self._cluster.serving_certificate(
            names, wanted if inside else self._work / "certs"
        )
        content = {name: (folder / name).read_bytes() for name in ("tls.crt", "tls.key", "ca.crt")}
        if not inside:
            self._private |= {str(wanted / name): data for name, data in content.items()}
        if self._install.certificate_secret:
            metadata = {
                "name": self._install.certificate_secret,
                "namespace": self._install.namespace,
            }
            data = {name: base64.b64encode(part).decode() for name, part in content.items()}
            secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
            self._apply([{**secret, "metadata": metadata, "data": data}])

    def _write_files(self, values: Mapping[str, str]) -> None:
        for index, file in enumerate(self._install.files):
            path = Path(self._filled(file.path, values, f"install.files.{index}.path"))
            content = self._filled(file.content, values, f"install.files.{index}.content").encode()
            if not path.is_absolute():
                path = self._work / path
            if path.is_relative_to(self._work):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_bytes(content)
            else:
                self._private[str(path)] = content

    def _read(self, entries: Sequence[str], *, what: str) -> list[dict[str, Any]]:
        return read_manifests(self._loaded, entries, what=what, crds=self._inputs.crds)

    def _apply(self, manifests: Iterable[Mapping[str, Any]], *, port: int = 0) -> None:
        """Server-side apply; CRDs are waited for. References to webhook services are made to reach
        the process at `port`."""
        bundle = self._cluster.ca_bundle
        apply_manifests(
            self._api,
            [webhooks.reachable(m, port=port, ca_bundle=bundle) if port else m for m in manifests],
            namespace=self._install.namespace,
        )

    def _filled(self, template: str, values: Mapping[str, str], field: str) -> str:
        return fill(template, values, where=f"{self._where}: `{field}`")

    def _facts(self, values: Mapping[str, str]) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "profile": str(self._loaded.path),
            "user": self._profile.identity_user,
            "cluster_admin": self._install.cluster_admin,
            "namespace": self._install.namespace,
            "ports": {
                key[5:]: int(port) for key, port in values.items() if key.startswith("port_")
            },
            "faults": list(self._inputs.faults),
        }
        if self._inputs.binary is not None:
            with self._inputs.binary.open("rb") as program:
                digest = hashlib.file_digest(program, "sha256").hexdigest()
            facts |= {"binary": str(self._inputs.binary), "binary_sha256": digest}
        if self._inputs.crds is not None:
            facts["crds"] = str(self._inputs.crds)
        return facts

    def _reached(self, milestone: str) -> None:
        self._seconds[milestone] = round(time.monotonic() - self._began, 3)
