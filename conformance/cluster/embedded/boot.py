"""The start of an embedded control plane, step by step."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster import manifests, readiness
from conformance.cluster.certificates import Authority, service_account_key, write_private
from conformance.cluster.embedded import configuration, flags
from conformance.cluster.embedded.layout import Layout, Ports
from conformance.cluster.identities import IDENTITIES, LWS, SUITE, Identity, write_kubeconfig
from conformance.cluster.processes.ports import LOOPBACK
from conformance.cluster.processes.supervisor import Supervisor
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import Programs
from conformance.kube import Api
from conformance.model.errors import InfraError

STEP_SECONDS = 60.0
"""For each step. The whole start takes 3-5 s on two busy cores, and ten times as long under load."""

_ROLES = "/readyz/poststarthook/rbac/bootstrap-roles"


@dataclass(kw_only=True)
class Boot:
    """One attempt to start: the processes, and the client that sees whether they are ready."""

    programs: Programs
    nodes: int
    authority: Authority
    layout: Layout
    ports: Ports
    supervisor: Supervisor

    def __post_init__(self) -> None:
        self._write_files()
        self.api = Api.from_kubeconfig(self.layout.kubeconfig(SUITE), connections=4)

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{LOOPBACK}:{self.ports.apiserver}"

    def run(self) -> None:
        """Start everything and wait until it is ready. Raises InfraError."""
        layout, ports, api = self.layout, self.ports, self.api
        self._start(Program.ETCD, flags.etcd(layout, ports))
        # It waits for etcd itself, and needs most of a second before it asks.
        self._start(Program.APISERVER, flags.apiserver(layout, ports), {"GOGC": "200"})
        self._await("kube-apiserver to answer", lambda: readiness.answers(api, "/livez/ping"))
        self._install()
        kubeconfig = str(layout.kubeconfig(LWS))
        self._start(Program.LWS, flags.lws(layout), {"KUBECONFIG": kubeconfig})
        self._start(Program.KWOK, flags.kwok(layout))
        # These last: a controller that is refused waits a second or more before it asks again, and
        # the garbage collector looks for kinds when it starts, and then every 30 s.
        self._await("the roles of the controllers", lambda: readiness.answers(api, _ROLES))
        self._start(Program.CONTROLLER_MANAGER, flags.controller_manager(layout))
        self._start(Program.SCHEDULER, flags.scheduler(layout))
        self._await("kube-apiserver to be ready", lambda: readiness.answers(api, "/readyz"))
        self._await("service accounts", lambda: readiness.answers(api, readiness.DEFAULT_ACCOUNT))
        self._await("nodes to be ready", lambda: readiness.nodes_ready(api, self.nodes))
        self._await("the LeaderWorkerSet webhook", lambda: readiness.lws_answers(api))

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create an object; one that is already there stays as it is. Raises InfraError."""
        version, kind = manifest["apiVersion"], manifest["kind"]
        # All that a start creates has a regular plural, and discovery takes time.
        path = f"/{'apis' if '/' in version else 'api'}/{version}/{kind.lower()}s"
        answer = self.api.request("POST", path, manifest)
        if not answer.ok and answer.code != 409:
            raise InfraError(
                f"{kind} {manifest['metadata']['name']} was not created on the "
                f"embedded control plane ({answer.code}): {answer.message}"
            )

    def write_kubeconfig(self, name: str, identity: Identity) -> Path:
        """A kubeconfig of that name in the cluster's directory."""
        path, server = self.layout.kubeconfig(name), self.server
        return write_kubeconfig(path, server=server, authority=self.authority, identity=identity)

    def _write_files(self) -> None:
        layout, authority = self.layout, self.authority
        # Programs append: an earlier run with the same directory must not be taken for this one.
        for old in (layout.audit_log, *(layout.log(program.value) for program in Program)):
            old.unlink(missing_ok=True)
        layout.pki.mkdir(mode=0o700)
        layout.lws_certificates.mkdir(mode=0o700)
        serving = authority.server([LOOPBACK, "localhost", "kubernetes.default.svc"])
        lws_webhook = authority.server([LOOPBACK])
        scheduler = configuration.scheduler(layout.kubeconfig("kube-scheduler"))
        files = {
            layout.pki / "ca.crt": authority.certificate,
            layout.pki / "apiserver.crt": serving.certificate,
            layout.pki / "apiserver.key": serving.key,
            layout.pki / "service-account.key": service_account_key(),
            layout.lws_certificates / "tls.crt": lws_webhook.certificate,
            layout.lws_certificates / "tls.key": lws_webhook.key,
            layout.audit_policy: manifests.text("audit-policy.yaml"),
            layout.scheduler_configuration: yaml.safe_dump(scheduler).encode(),
            layout.lws_configuration: json.dumps(configuration.lws(layout, self.ports)).encode(),
            layout.kwok_stages: manifests.text("kwok-stages.yaml"),
        }
        for path, content in files.items():
            write_private(path, content)
        for name, identity in IDENTITIES.items():
            self.write_kubeconfig(name, identity)

    def _install(self) -> None:
        """Kinds, webhooks and nodes, while the API server sets up its own defaults."""
        crds = [*self.programs.lws_crds(), *manifests.pod_group_crd()]
        version = f"v{PINS[Program.APISERVER].version}"
        for manifest in (
            *crds,
            # KWOK waits a second before it looks for it again.
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}},
            *configuration.lws_webhooks(self.ports, self.authority.bundle),
            *manifests.simulated_nodes(self.nodes, version=version),
        ):
            self.create(manifest)
        self._await("new kinds to be discovered", lambda: readiness.discovered(self.api, crds))

    def _start(
        self, program: Program, arguments: Sequence[str], env: Mapping[str, str] | None = None
    ) -> None:
        self.supervisor.spawn(
            name=program.value,
            argv=[str(self.programs.path(program)), *arguments],
            # Nothing of the user's: a proxy must not stand between two processes on loopback, and
            # settings of Kubernetes clients must not lead to another cluster.
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(self.layout.directory),
                "TMPDIR": str(self.layout.directory),
                # A cluster lives for minutes: memory for a tenth less processor time is a good trade.
                "GOGC": "400",
                **(env or {}),
            },
            cwd=self.layout.directory,
            log=self.layout.log(program.value),
        )

    def _await(self, what: str, probe: Callable[[], bool]) -> None:
        everyone = list(self.supervisor.processes.values())
        readiness.wait_until(probe, within=STEP_SECONDS, what=what, alive=everyone)
