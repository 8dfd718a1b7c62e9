"""The start of an embedded control plane, step by step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster import components
from conformance.cluster.certificates import Authority, service_account_key, write_private
from conformance.cluster.components import Layout, Ports
from conformance.cluster.identities import IDENTITIES, LWS, SUITE, write_kubeconfig
from conformance.cluster.pins import PINS, Program
from conformance.cluster.ports import LOOPBACK
from conformance.cluster.programs import Programs
from conformance.cluster.supervise import Process, Supervisor, wait_until
from conformance.kube import Answer, Api
from conformance.model.errors import InfraError

STEP_SECONDS = 60.0
"""For each step. The whole start takes 3-5 s on two busy cores; a machine under heavy load may need
ten times as long, and a start that hangs must still end."""

_PROBE_SECONDS = 2.0

_COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
}
"""Where objects of a kind are created. A table, since the kinds are known and discovery takes
time."""

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Boot:
    """One attempt to start: the processes, and the client that sees whether they are ready."""

    def __init__(
        self,
        *,
        programs: Programs,
        nodes: int,
        authority: Authority,
        layout: Layout,
        ports: Ports,
        supervisor: Supervisor,
    ) -> None:
        self.layout = layout
        self.ports = ports
        self.supervisor = supervisor
        self.logs: dict[str, Path] = {}
        self.times: dict[str, float] = {}
        self._programs = programs
        self._nodes = nodes
        self._authority = authority
        self._began = time.monotonic()
        self._write_files()
        self.api = Api.from_kubeconfig(layout.kubeconfig(SUITE), connections=4)
        self._reached("files")

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{LOOPBACK}:{self.ports.apiserver}"

    def run(self) -> None:
        """Start everything and wait until it is ready. Raises InfraError."""
        self._start(Program.ETCD, components.etcd(self.layout, self.ports))
        # It waits for etcd itself, and needs most of a second before it asks.
        self._start(
            Program.APISERVER, components.apiserver(self.layout, self.ports), {"GOGC": "200"}
        )
        self._wait("kube-apiserver to answer", lambda: self._ok("/livez/ping"))
        self._reached("apiserver answers")
        self._install()
        self._reached("kinds installed")
        kubeconfig = str(self.layout.kubeconfig(LWS))
        self._start(Program.LWS, components.lws(self.layout), {"KUBECONFIG": kubeconfig})
        self._start(Program.KWOK, components.kwok(self.layout))
        # These last: a controller that is refused waits a second or more before it asks again, and
        # the garbage collector looks for kinds when it starts, and then every 30 s.
        roles = "/readyz/poststarthook/rbac/bootstrap-roles"
        self._wait("the roles of the controllers", lambda: self._ok(roles))
        self._reached("roles")
        self._start(Program.CONTROLLER_MANAGER, components.controller_manager(self.layout))
        self._start(Program.SCHEDULER, components.scheduler(self.layout))
        for milestone, probe in (
            ("apiserver ready", lambda: self._ok("/readyz")),
            (
                "service accounts",
                lambda: self._ok("/api/v1/namespaces/default/serviceaccounts/default"),
            ),
            ("nodes ready", self._nodes_ready),
            ("LWS webhook", self._lws_answers),
        ):
            self._wait(milestone, probe)
            self._reached(milestone)

    def create(self, manifest: Mapping[str, Any]) -> None:
        """Create an object; one that is already there stays as it is. Raises InfraError."""
        answer = self.api.request("POST", _COLLECTIONS[manifest["kind"]], manifest)
        if not answer.ok and answer.code != 409:
            raise InfraError(
                f"{manifest['kind']} {manifest['metadata']['name']} was not created on the "
                f"embedded control plane ({answer.code}): {answer.message}"
            )

    def write_kubeconfig(self, name: str, *, user: str, groups: Sequence[str]) -> Path:
        """A kubeconfig of that name in the cluster's directory."""
        return write_kubeconfig(
            self.layout.kubeconfig(name),
            server=self.server,
            authority=self._authority,
            user=user,
            groups=groups,
        )

    def _write_files(self) -> None:
        layout, authority = self.layout, self._authority
        # Programs append: an earlier run with the same directory must not be taken for this one.
        for old in (layout.audit_log, *(layout.log(program.value) for program in Program)):
            old.unlink(missing_ok=True)
        layout.pki.mkdir(mode=0o700)
        serving = authority.server([LOOPBACK, "localhost", "kubernetes.default.svc"])
        lws_webhook = authority.server([LOOPBACK])
        layout.lws_certificates.mkdir(mode=0o700)
        files = {
            layout.pki / "ca.crt": authority.certificate,
            layout.pki / "apiserver.crt": serving.certificate,
            layout.pki / "apiserver.key": serving.key,
            layout.pki / "service-account.key": service_account_key(),
            layout.lws_certificates / "tls.crt": lws_webhook.certificate,
            layout.lws_certificates / "tls.key": lws_webhook.key,
            layout.audit_policy: components.text("audit-policy.yaml"),
            layout.scheduler: yaml.safe_dump(components.scheduler_configuration(layout)).encode(),
            layout.lws: json.dumps(components.lws_configuration(layout, self.ports)).encode(),
            layout.stages: components.text("kwok-stages.yaml"),
        }
        for path, content in files.items():
            write_private(path, content)
        for name, identity in IDENTITIES.items():
            self.write_kubeconfig(name, user=identity.user, groups=identity.groups)

    def _install(self) -> None:
        """Kinds, webhooks and nodes, as soon as the API server answers: it is meanwhile setting up
        its own defaults."""
        crds = [*self._programs.lws_crds(), *components.objects("podgroup-crd.yaml")]
        version = f"v{PINS[Program.APISERVER].version}"
        for manifest in (
            *crds,
            # KWOK waits a second before it looks for it again.
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}},
            *components.lws_webhooks(self.ports, self._authority.bundle),
            *(components.node(index, version=version) for index in range(self._nodes)),
        ):
            self.create(manifest)
        wanted = {(crd["spec"]["group"], crd["spec"]["names"]["plural"]) for crd in crds}
        names = ", ".join(sorted(plural for _, plural in wanted))
        self._wait(f"{names} to be discovered", lambda: wanted <= self._discovered())

    def _discovered(self) -> set[tuple[str, str]]:
        """Group and resource of all kinds that are announced. Clients and the garbage collector
        read this, and a custom kind gets here a checkpoint after it is served; a controller that does
        not find its kind waits 10 s."""
        answer = self._get("/apis", accept=_DISCOVERY)
        if answer is None or not answer.ok:
            return set()
        return {
            (group["metadata"]["name"], resource["resource"])
            for group in answer.body["items"]
            for version in group["versions"]
            for resource in version["resources"]
        }

    def _nodes_ready(self) -> bool:
        """All there, and none tainted any more by the node controller, so pods can be scheduled."""
        answer = self._get("/api/v1/nodes")
        if answer is None or not answer.ok or len(answer.body["items"]) < self._nodes:
            return False
        return not any(node["spec"].get("taints") for node in answer.body["items"])

    def _lws_answers(self) -> bool:
        """Its pod webhook refuses a pod that claims to be of a LeaderWorkerSet and is not. Asked
        with a dry run, and not by way of a LeaderWorkerSet: the API server delays each create of a
        kind that is younger than 2 s."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe", "labels": {"leaderworkerset.sigs.k8s.io/name": "probe"}},
            "spec": {"containers": [{"name": "probe", "image": "probe"}]},
        }
        path = "/api/v1/namespaces/default/pods"
        answer = self.api.request("POST", path, pod, params={"dryRun": "All"})
        return answer.code == 403 and answer.message.startswith("admission webhook")

    def _ok(self, path: str) -> bool:
        answer = self._get(path)
        return answer is not None and answer.ok

    def _get(self, path: str, *, accept: str = "application/json") -> Answer | None:
        try:
            return self.api.request("GET", path, accept=accept, timeout=_PROBE_SECONDS)
        except InfraError:
            return None

    def _start(
        self, program: Program, arguments: Sequence[str], env: Mapping[str, str] | None = None
    ) -> Process:
        self.logs[program.value] = self.layout.log(program.value)
        return self.supervisor.spawn(
            name=program.value,
            argv=[str(self._programs.path(program)), *arguments],
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
            log=self.logs[program.value],
        )

    def _wait(self, what: str, probe: Callable[[], bool]) -> None:
        everyone = list(self.supervisor.processes.values())
        wait_until(probe, within=STEP_SECONDS, what=what, alive=everyone)

    def _reached(self, milestone: str) -> None:
        self.times[milestone] = round(time.monotonic() - self._began, 3)
