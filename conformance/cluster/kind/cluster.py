"""A real cluster in a container, for operators as they ship: `KindCluster`."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from conformance.cluster.identities import SUITE
from conformance.cluster.kind import kwok, leftovers, lws, node
from conformance.cluster.kind.access import save_logs
from conformance.cluster.kind.boot import Boot
from conformance.cluster.kind.claim import Claim, check_ours
from conformance.cluster.kind.directories import KindDirectory, new_name, root
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KEPT_NAME, KindOptions, find_tools
from conformance.cluster.kind.pytest_kind import Kind, KindClusterClass
from conformance.cluster.kind.reaper import remove_containers
from conformance.cluster.nodes import RealNodes
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import Actor

_LIVE_SECONDS = 5.0


class KindCluster:
    """One kind cluster: one real node for the operator, and simulated ones for its graphs.

    `with KindCluster(...) as cluster:`, or `start()` and `stop()`. However the owning process ends, a
    reaper removes the cluster, unless it is kept."""

    def __init__(
        self,
        *,
        options: KindOptions,
        cluster_class: KindClusterClass,
        nodes: int = 4,
        logs: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`cluster_class`: pytest-kind's `KindCluster`. `nodes` simulated nodes with 128 GPUs each.
        `logs`: a directory that gets the audit log and the logs of the parts at the end, and all
        that kind can export if the start fails. `environ` None: this process' environment."""
        if nodes < 1:
            raise UsageError(f"a kind cluster needs at least 1 simulated node, found {nodes}")
        self._options = options
        self._class = cluster_class
        self._node_count = nodes
        self._logs = logs
        self._environ = os.environ if environ is None else environ
        self._claim: Claim | None = None
        self._docker: Docker | None = None
        self._kind: Kind | None = None
        self._boot: Boot | None = None
        self._kept = False

    # What every cluster answers; see `protocol.Cluster`.

    @property
    def kubeconfig(self) -> Path:
        """Its context is kind-NAME."""
        return self._directory.suite

    @property
    def audit_log(self) -> Path:
        return self._directory.audit_log

    @property
    def versions(self) -> Mapping[str, str]:
        return dict(self._started.versions)

    @property
    def users(self) -> Mapping[str, Actor]:
        return {
            SUITE: Actor.SUITE,
            lws.USER: Actor.LWS_CONTROLLER,
            kwok.USER: Actor.PLATFORM,
            "kubernetes-admin": Actor.PLATFORM,
            f"system:node:{self.node}": Actor.PLATFORM,
        }

    @property
    def run(self) -> str:
        """Empty: what a kept cluster holds is known by its owner label alone."""
        return ""

    @property
    def throw_away(self) -> bool:
        """False for a cluster that is kept."""
        return not self._options.keep

    @property
    def operator_installed(self) -> bool:
        return False

    @property
    def process_host(self) -> None:
        return None

    @property
    def real_nodes(self) -> RealNodes:
        return RealNodes()

    def plan(self) -> list[str]:
        """Empty: the cluster is the suite's own."""
        return []

    def clear(self) -> None:
        """Nothing: the namespaces of a kept cluster go with their cases."""

    def failure(self) -> str | None:
        """One sentence if the node's container ended or its API server does not answer. Asks both:
        0.1 s, and up to 5 s for a server that is silent."""
        boot, docker = self._started, self._docker
        assert docker is not None
        nodes = docker.nodes(self.name)
        if not nodes:
            return f"the container {boot.node} of the kind cluster is gone"
        if nodes[0].state != "running":
            return (
                f"the container {boot.node} of the kind cluster is {nodes[0].state} "
                f"(code {nodes[0].exit_code})"
            )
        try:
            answer = boot.api.request("GET", "/livez", timeout=_LIVE_SECONDS)
        except InfraError as error:
            return f"the kind cluster {self.name} is silent: {error}"
        if answer.ok:
            return None
        return f"the API server of the kind cluster {self.name} is not well ({answer.code})"

    def load_image(self, image: str) -> None:
        """Make an image that Docker has known to the node. Pods must not ask for it to be pulled:
        a tag other than `latest`, or `imagePullPolicy: IfNotPresent`. Raises UsageError if Docker
        does not have it, InfraError otherwise."""
        kind, docker = self._kind, self._docker
        if kind is None or docker is None:
            raise InfraError("the kind cluster is not started")
        if not docker.has_image(image):
            raise UsageError(
                f"the image {image} is not in Docker, so it cannot be loaded into the kind cluster: "
                "build or pull it first"
            )
        kind.load_image(image)

    def kinds_changed(self) -> None:
        """Restart kube-controller-manager, which takes 1 to 3 s."""
        name, docker = self.node, self._docker
        assert docker is not None
        node.restart_controller_manager(docker, name)

    def export_evidence(self, directory: Path) -> None:
        """Everything that explains a failure: journals, logs of pods, descriptions of the node, and
        the audit log. Raises InfraError."""
        if self._kind is None:
            raise InfraError("the kind cluster is not started")
        self._save(directory)
        self._kind.export_logs(directory)

    # What is known of this kind only.

    @property
    def name(self) -> str:
        return self._directory.cluster

    @property
    def node(self) -> str:
        """Name of the real node, and of its container."""
        return self._started.node

    # Start and end.

    def start(self) -> Self:
        """Make the cluster, or use a kept one again. Returns when nodes are ready, the
        LeaderWorkerSet webhook, DNS and KWOK answer, and namespaces get their service account.
        Raises UsageError or InfraError with nothing left behind."""
        if self._claim is not None:
            raise InfraError("this kind cluster is already started")
        options = self._options
        tools = find_tools(options, self._environ)
        self._docker = docker = Docker(tools.docker, self._environ)
        docker.check()
        leftovers.sweep(docker, self._environ)
        name = options.name or (KEPT_NAME if options.keep else new_name())
        directory = KindDirectory(root(self._environ) / name)
        # Before it is claimed: what is claimed may be removed.
        check_ours(directory, docker)
        self._claim = Claim(directory, docker)
        try:
            self._kept = directory.made().get("keep") is True
            self._open(directory, docker)
        except BaseException as error:
            if self._logs is not None and isinstance(error, Exception) and self._boot is not None:
                with contextlib.suppress(Exception):  # the first error is the one to tell
                    self.export_evidence(self._logs)
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Delete the cluster, or leave a kept one. May be called again, and before `start`."""
        if self._logs is not None and self._boot is not None:
            with contextlib.suppress(OSError, InfraError):
                self._save(self._logs)
        claim, self._claim = self._claim, None
        if claim is None:
            return
        if self._boot is not None:
            self._boot.close()
        if self._kept:
            claim.release()
            return
        try:
            if self._kind is not None:
                self._kind.delete()
        except InfraError as error:
            claim.release()  # the reaper tries in its own way
            assert self._docker is not None
            if self._docker.nodes(claim.directory.cluster):
                raise InfraError(f"a container is left behind: {error}") from error
            return
        claim.done()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _open(self, directory: KindDirectory, docker: Docker) -> None:
        tools = find_tools(self._options, self._environ)
        running = self._running(directory, docker)
        boot = Boot(
            kind=(kind := Kind(
                self._class, directory=directory, tools=tools, image=self._options.node_image
            )),
            docker=docker, directory=directory, options=self._options, nodes=self._node_count,
            environ=self._environ,
        )  # fmt: skip
        made = directory.made()
        if running and made.get("fingerprint") != boot.fingerprint():
            raise UsageError(
                f"the kept kind cluster {directory.cluster} was made with other options or by another "
                f"version of the suite: delete it (kind delete cluster --name {directory.cluster}), or "
                "name another with --cluster-name"
            )
        self._kind, self._boot = kind, boot
        made_at = float(made.get("made_at", 0.0))
        if running:
            boot.reuse(made_at=made_at)
        else:
            self._kept = False
            boot.create()
            made_at = time.time()
        directory.record_made(
            {"fingerprint": boot.fingerprint(), "keep": self._options.keep, "made_at": made_at}
        )
        self._kept = self._options.keep
        assert self._claim is not None
        self._claim.keep() if self._kept else self._claim.lose()

    def _running(self, directory: KindDirectory, docker: Docker) -> bool:
        """Whether the cluster is there and complete. One that is not complete is removed."""
        nodes = docker.nodes(directory.cluster)
        if nodes and directory.made() and all(each.state == "running" for each in nodes):
            return True
        assert self._claim is not None
        self._claim.lose()
        if nodes:
            remove_containers(str(docker.program), directory.cluster, quiet=0)
        return False

    def _save(self, directory: Path) -> None:
        """The audit log, what kind said, and the logs of the parts."""
        directory.mkdir(parents=True, exist_ok=True)
        for source in (self._directory.audit_log, self._directory.log):
            if source.exists():
                shutil.copyfile(source, directory / source.name)
        if self._boot is not None:
            with contextlib.suppress(InfraError):  # there may be no API server to ask
                save_logs(self._boot.api, directory)

    @property
    def _directory(self) -> KindDirectory:
        if self._claim is None:
            raise InfraError("the kind cluster is not started")
        return self._claim.directory

    @property
    def _started(self) -> Boot:
        if self._boot is None or self._claim is None:
            raise InfraError("the kind cluster is not started")
        return self._boot
