"""A real Kubernetes control plane on loopback: `EmbeddedCluster`. KWOK stands in for the kubelets, so
that pods become ready without images or GPUs; all other parts are the real programs."""

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from conformance.cluster import manifests
from conformance.cluster.certificates import GROUP, Authority, write_private
from conformance.cluster.embedded.boot import Boot
from conformance.cluster.embedded.layout import Layout, Ports
from conformance.cluster.identities import IDENTITIES, KWOK, LWS, SUITE, Identity
from conformance.cluster.processes import directory as directories
from conformance.cluster.processes.isolation import with_private_files
from conformance.cluster.processes.ports import LOOPBACK, free_ports
from conformance.cluster.processes.supervisor import Process, StopStep, Supervisor
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import Programs
from conformance.cluster.protocol import ProcessHost
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import Actor

START_TRIES = 3
"""With other ports each: one may be taken between its choice and the server's bind."""

OPERATOR_GRACE = 2.0
"""Seconds from SIGTERM to SIGKILL for what `spawn` started, when the cluster stops."""

_SYSTEM = frozenset(program.value for program in Program)


class EmbeddedCluster(ProcessHost):
    """One control plane. However the owning process ends, a reaper ends all processes and removes the
    directory with the keys."""

    def __init__(self, *, programs: Programs, nodes: int = 4, logs: Path | None = None) -> None:
        """`nodes` simulated nodes with 128 GPUs each. `logs`: a directory that keeps each process'
        log and the audit log; None: they go with the cluster."""
        if nodes < 1:
            raise UsageError(f"an embedded control plane needs at least 1 node, found {nodes}")
        self._programs = programs
        self._node_count = nodes
        self._kept_logs = logs
        self._authority = Authority()
        self._boot: Boot | None = None
        self._supervisor: Supervisor | None = None

    # What every cluster answers; see `Cluster`.

    @property
    def kubeconfig(self) -> Path:
        return self._started.layout.kubeconfig(SUITE)

    @property
    def audit_log(self) -> Path:
        """A dry run is a line in it, too (`requestURI`)."""
        return self._started.layout.audit_log

    @property
    def versions(self) -> dict[str, str]:
        return {program.value: pin.version for program, pin in PINS.items()}

    @property
    def users(self) -> Mapping[str, Actor]:
        return {SUITE: Actor.SUITE, LWS: Actor.LWS_CONTROLLER, KWOK: Actor.PLATFORM}

    @property
    def process_host(self) -> Self:
        """Itself: nothing runs containers here."""
        return self

    @property
    def pids(self) -> tuple[int, ...]:
        running = (self.processes[name] for name in _SYSTEM if name in self.processes)
        return tuple(process.pid for process in running if process.pid is not None)

    def failure(self) -> str | None:
        """Operators do not count."""
        for name, process in self.processes.items():
            if name in _SYSTEM and not (process.running or process.restarting):
                return (
                    f"{name} of the embedded control plane ended with code {process.returncode}; "
                    f"its log is {process.log}"
                )
        return None

    def load_image(self, image: str) -> None:
        """Raises UsageError: no node runs containers."""
        raise UsageError(
            f"the image {image} cannot be used on the embedded control plane, which runs no "
            "containers: name another cluster with --cluster"
        )

    def kinds_changed(self) -> None:
        """Restart kube-controller-manager, which takes about a second."""
        self.processes[Program.CONTROLLER_MANAGER.value].restart()

    def export_evidence(self, directory: Path) -> None:
        """Nothing: all logs are in the directory that was given for them."""

    # What an operator beside it needs; see `ProcessHost`.

    @property
    def directory(self) -> Path:
        return self._started.layout.directory

    @property
    def etcd_url(self) -> str:
        return f"http://{LOOPBACK}:{self._started.ports.etcd}"

    @property
    def ca_bundle(self) -> str:
        return self._authority.bundle

    def kubeconfig_for(self, user: str, group: str = GROUP) -> Path:
        """See `ProcessHost`. `group`: of a user whom the suite does not know."""
        if not user or "/" in user:
            raise UsageError(f"an identity needs a name without '/', found {user!r}")
        identity = IDENTITIES.get(user, Identity(user, group))
        if identity.user != user:
            raise UsageError(f"the identity {user} is the control plane's own; choose another name")
        return self._started.write_kubeconfig(user, identity)

    def bind_cluster_admin(self, user: str) -> None:
        """See `ProcessHost`."""
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        self._started.create(manifests.cluster_admin(user, subject))

    def serving_certificate(self, names: Sequence[str], directory: Path) -> Path:
        """See `ProcessHost`."""
        pair = self._authority.server(names)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(directory / "tls.crt", pair.certificate)
        write_private(directory / "tls.key", pair.key)
        write_private(directory / "ca.crt", self._authority.certificate)
        return directory

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> Process:
        """See `ProcessHost` and `isolation`."""
        if name in _SYSTEM or not name or "/" in name:
            raise UsageError(
                f"a process beside the control plane cannot be named {name!r}: expected a name "
                "without '/' that is not a component's"
            )
        folder = self.directory / "spawned" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._started.supervisor.spawn(
            name=name,
            argv=with_private_files(argv, files=files or {}, staging=folder / "files", what=name),
            env=os.environ if env is None else env,
            cwd=cwd or folder,
            log=self._started.layout.log(name),
        )

    # What is known of this kind only.

    @property
    def server(self) -> str:
        """URL of the API server."""
        return self._started.server

    @property
    def processes(self) -> Mapping[str, Process]:
        """All processes by name, those that ended too."""
        return dict(self._started.supervisor.processes)

    # Start and end.

    def start(self) -> Self:
        """See `Cluster`. Nodes are ready then, and namespaces get their service account."""
        if self._supervisor is not None:
            raise InfraError("this control plane is already started")
        directories.sweep()
        for remaining in reversed(range(START_TRIES)):
            try:
                self._start_once()
                break
            except BaseException as error:
                again = remaining and isinstance(error, InfraError) and self._port_was_taken()
                self.stop()
                if not again:
                    raise
        return self

    def stop(self) -> None:
        """End all processes, remove the directory."""
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is None:
            return
        # The last first, so that none complains. The state of the parts is worth no goodbye.
        order = [
            StopStep(name, signal.SIGKILL, 1.0)
            if name in _SYSTEM
            else StopStep(name, signal.SIGTERM, OPERATOR_GRACE)
            for name in reversed(supervisor.processes)
        ]
        supervisor.stop(order=order)
        if self._boot is not None:
            self._boot.api.close()

    def _start_once(self) -> None:
        self._boot = None
        ports = Ports(*free_ports(4))
        # The reaper before any key: from here on the directory goes away with this process.
        self._supervisor = Supervisor(prefix=directories.prefix())
        place = self._supervisor.directory
        logs = (self._kept_logs or place / "logs").absolute()
        logs.mkdir(parents=True, exist_ok=True)
        self._boot = Boot(
            programs=self._programs,
            nodes=self._node_count,
            authority=self._authority,
            layout=Layout(directory=place, logs=logs),
            ports=ports,
            supervisor=self._supervisor,
        )
        self._boot.run()

    def _port_was_taken(self) -> bool:
        return self._boot is not None and any(
            not process.running and "address already in use" in process.tail(200)
            for process in self._boot.supervisor.processes.values()
        )

    @property
    def _started(self) -> Boot:
        if self._boot is None:
            raise InfraError("the embedded control plane is not started")
        return self._boot
