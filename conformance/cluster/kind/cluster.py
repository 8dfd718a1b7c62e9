"""A real cluster in a container, for operators as they ship: `KindCluster`."""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from conformance.cluster.identities import SUITE
from conformance.cluster.kind import directories
from conformance.cluster.kind.boot import Boot
from conformance.cluster.kind.controllers import KWOK, LWS
from conformance.cluster.kind.directories import Claim, KindDirectory, new_name, root
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KEPT_NAME, KindOptions, Tools, find_tools
from conformance.cluster.kind.pytest_kind import Kind, KindClusterClass
from conformance.cluster.kind.reaper import remove_containers
from conformance.cluster.nodes import RealNodes
from conformance.cluster.protocol import Cluster
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import Actor

_LIVE_SECONDS = 5.0


class KindCluster(Cluster):
    """One real node for the operator, and simulated ones for its graphs. However the owning process
    ends, a reaper removes the cluster, unless it is kept."""

    def __init__(
        self,
        *,
        options: KindOptions,
        cluster_class: KindClusterClass,
        logs: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`logs`: a directory for logs at the end, and all that kind can export if the start fails."""
        self._options = options
        self._class = cluster_class
        self._logs = logs
        self._environ = environ
        self._claim: Claim | None = None
        self._boot: Boot | None = None

    # What every cluster answers; see `protocol.Cluster`. What a kept one holds needs no id of a run,
    # and goes with its cases.

    process_host = None
    real_nodes = RealNodes()

    @property
    def kubeconfig(self) -> Path:
        return self._started.directory.suite

    @property
    def audit_log(self) -> Path:
        return self._started.directory.audit_log

    @property
    def versions(self) -> Mapping[str, str]:
        return dict(self._started.versions)

    @property
    def users(self) -> Mapping[str, Actor]:
        return {
            SUITE: Actor.SUITE,
            LWS.user: Actor.LWS_CONTROLLER,
            KWOK.user: Actor.PLATFORM,
            "kubernetes-admin": Actor.PLATFORM,
            f"system:node:{self.node}": Actor.PLATFORM,
        }

    @property
    def throw_away(self) -> bool:
        return not self._options.keep

    def failure(self) -> str | None:
        """Asks Docker and the API server: 0.1 s, and up to 5 s for a server that is silent."""
        boot = self._started
        nodes = boot.docker.nodes(self.name)
        container = f"the container {self.node} of the kind cluster"
        if not nodes:
            return f"{container} is gone"
        if nodes[0].state != "running":
            return f"{container} is {nodes[0].state} (code {nodes[0].exit_code})"
        try:
            answer = boot.api.request("GET", "/livez", timeout=_LIVE_SECONDS)
        except InfraError as error:
            return f"the kind cluster {self.name} is silent: {error}"
        if answer.ok:
            return None
        return f"the API server of the kind cluster {self.name} is not well ({answer.code})"

    def load_image(self, image: str) -> None:
        """One that Docker has. Pods must not ask for it to be pulled: a tag other than `latest`, or
        `imagePullPolicy: IfNotPresent`."""
        boot = self._started
        if not boot.docker.has_image(image):
            raise UsageError(
                f"the image {image} is not in Docker, so it cannot be loaded into the kind cluster: "
                "build or pull it first"
            )
        boot.kind.load_image(image)

    def kinds_changed(self) -> None:
        """Restart kube-controller-manager, which takes 1 to 3 s."""
        self._started.docker.restart_controller_manager(self.node)

    def export_evidence(self, directory: Path) -> None:
        """Journals, logs of pods, descriptions of the node, and the audit log."""
        self._started.save_logs(directory)
        self._started.kind.export_logs(directory)

    # What is known of this kind only.

    @property
    def name(self) -> str:
        return self._started.directory.cluster

    @property
    def node(self) -> str:
        return self._started.directory.node

    # Start and end.

    def start(self) -> Self:
        """Make the cluster, or use a kept one again."""
        if self._claim is not None:
            raise InfraError("this kind cluster is already started")
        options = self._options
        tools = find_tools(options, self._environ)
        docker = Docker(tools.docker, self._environ)
        docker.check()
        directories.sweep(docker, self._environ)
        name = options.name or (KEPT_NAME if options.keep else new_name())
        self._claim = Claim(KindDirectory(root(self._environ) / name), docker)
        try:
            self._open(self._claim, tools, docker)
        except BaseException as error:
            if self._logs is not None and isinstance(error, Exception):
                with contextlib.suppress(Exception):  # the first error is the one to tell
                    self._started.kind.export_logs(self._logs)
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Delete the cluster, or leave a kept one."""
        claim, self._claim = self._claim, None
        boot, self._boot = self._boot, None
        if claim is None:
            return
        if boot is not None:
            if self._logs is not None:
                with contextlib.suppress(OSError):
                    boot.save_logs(self._logs)
            boot.close()
        if boot is None or claim.kept:
            claim.release()
            return
        try:
            boot.kind.delete()
        except InfraError as error:
            claim.release()  # the reaper tries in its own way
            if boot.docker.nodes(boot.directory.cluster):
                raise InfraError(f"a container is left behind: {error}") from error
            return
        claim.done()

    def _open(self, claim: Claim, tools: Tools, docker: Docker) -> None:
        directory, options = claim.directory, self._options
        nodes, made = docker.nodes(directory.cluster), directory.made()
        running = bool(nodes and made) and all(each.state == "running" for each in nodes)
        if not running:
            claim.set_kept(False)
            remove_containers(str(docker.program), directory.cluster, quiet=0)
        kind = Kind(self._class, directory=directory, tools=tools, image=options.node_image)
        boot = Boot(kind=kind, docker=docker, options=options, environ=self._environ)
        fingerprint = boot.fingerprint()
        if running and made.get("fingerprint") != fingerprint:
            raise UsageError(
                f"the kept kind cluster {directory.cluster} was made with other options or by another "
                f"version of the suite: delete it (kind delete cluster --name {directory.cluster}), or "
                "name another with --cluster-name"
            )
        self._boot = boot
        if running:
            boot.reuse(made_at=made["made_at"])
        else:
            boot.create()
            made = {"fingerprint": fingerprint, "made_at": time.time()}
        directory.record_made({**made, "keep": options.keep})
        claim.set_kept(options.keep)

    @property
    def _started(self) -> Boot:
        if self._boot is None:
            raise InfraError("the kind cluster is not started")
        return self._boot
