"""The directory of a kind cluster on this machine, `KindDirectory`, its use by a process, `Claim`, and
clusters that no process uses: kept ones, and those of runs killed with their reaper.

${XDG_STATE_HOME:-~/.local/state}/dgd-conformance/kind/NAME holds the cluster's configuration, its
kubeconfigs and its audit log, which the node writes through a mount."""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster.kind import reaper
from conformance.cluster.kind.docker import Docker
from conformance.cluster.processes.directory import unused
from conformance.cluster.processes.reaper_process import ReaperProcess
from conformance.cluster.programs.sources import home
from conformance.model.errors import UsageError


class KindDirectory:
    """The directory of one cluster, which has its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cluster = path.name
        self.node = f"{path.name}-control-plane"
        """Name of the real node, and of its container."""
        self.admin = path / "admin.kubeconfig"
        """kind's own kubeconfig: pytest-kind writes it and empties it again."""
        self.suite = path / "suite.kubeconfig"
        self.audit = path / "audit"
        self.audit_log = self.audit / "audit.jsonl"
        self.config = path / "kind.yaml"
        self.launcher = path / "kind"
        """What pytest-kind takes for kind."""
        self.log = path / "kind.log"
        self.settings = path / "settings"
        """What the node's API server and scheduler read."""
        self.mirrors = path / "mirrors"
        """What its containerd reads."""
        self._made = path / "made.json"

    def made(self) -> dict[str, Any]:
        """What `record_made` wrote; empty if the cluster was never complete."""
        try:
            return dict(json.loads(self._made.read_bytes()))
        except (OSError, ValueError):
            return {}

    def record_made(self, facts: Mapping[str, Any]) -> None:
        """Note that the cluster is complete, and how it was made."""
        self._made.write_text(json.dumps(facts), encoding="utf-8")


class Claim:
    """The use of one cluster by this process, which ends however the process ends."""

    def __init__(self, directory: KindDirectory, docker: Docker) -> None:
        """A cluster that was kept stays so, a new one goes with this process. Raises UsageError if
        another process uses it, or it is another's."""
        # What is claimed may be removed.
        if any(node.audit != directory.audit for node in docker.nodes(directory.cluster)):
            raise UsageError(
                f"a kind cluster {directory.cluster} is there, and it was not made by this suite for "
                "this user: name another with --cluster-name"
            )
        self.directory = directory
        directory.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.kept = directory.made().get("keep") is True
        """The cluster outlives this process."""
        self._reaper = ReaperProcess(
            reaper.__file__,
            str(directory.path),
            directory.cluster,
            str(docker.program),
            "keep" if self.kept else "lose",
            failure=f"the reaper of the kind cluster {directory.cluster} did not start",
        )
        holder = self._reaper.greeting.get("busy")
        if holder is not None:
            self.release()
            raise UsageError(
                f"the kind cluster {directory.cluster} is in use by process {holder}: wait for it, or "
                "name another cluster with --cluster-name"
            )

    def set_kept(self, kept: bool) -> None:
        """From now on the cluster outlives this process, or goes with it."""
        self.kept = kept
        with contextlib.suppress(OSError):  # it was killed; the next run removes what is left
            self._reaper.tell("keep" if kept else "lose")

    def release(self) -> None:
        """End the use. The reaper removes a cluster that is not kept."""
        self._reaper.close(reaper.TRY_SECONDS)

    def done(self) -> None:
        """The cluster is removed: its directory goes, too, and nothing is left to the reaper."""
        shutil.rmtree(self.directory.path, ignore_errors=True)
        self.set_kept(True)
        self.release()


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the directories of all clusters lie."""
    base = environ.get("XDG_STATE_HOME") or os.path.join(home(environ), ".local", "state")
    return Path(base) / "dgd-conformance" / "kind"


def new_name() -> str:
    """One that no other run takes, and that tells people which process of which boot made it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        boot = "0"
    return f"dgd-conformance-{os.getpid()}-{boot}-{os.urandom(2).hex()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoverCluster:
    """A cluster of this suite that no process uses."""

    directory: Path
    containers: tuple[str, ...]
    kept: bool
    """Left on purpose, by --keep-cluster."""

    @property
    def name(self) -> str:
        return self.directory.name

    def __str__(self) -> str:
        why = "kept by --keep-cluster" if self.kept else "its run ended without removing it"
        return f"kind cluster {self.name} ({', '.join(self.containers) or 'no container'}): {why}"


def find(docker: Docker, environ: Mapping[str, str] = os.environ) -> list[LeftoverCluster]:
    """All of this user's, kept ones too. Raises InfraError if Docker does not answer."""
    base = root(environ)
    containers: dict[Path, list[str]] = {directory: [] for directory in base.glob("*")}
    for node in docker.nodes():
        # Another user's run, or one in a container, has its directories elsewhere: who uses those
        # cannot be told from here.
        if node.audit is not None and node.audit.parent.parent == base:
            containers.setdefault(node.audit.parent, []).append(node.name)
    found = []
    for path, names in sorted(containers.items()):
        with unused(path) as abandoned:
            if abandoned:
                kept = bool(names) and KindDirectory(path).made().get("keep") is True
                found.append(LeftoverCluster(directory=path, containers=tuple(names), kept=kept))
    return found


def sweep(
    docker: Docker, environ: Mapping[str, str] = os.environ, *, kept: bool = False
) -> list[LeftoverCluster]:
    """Remove what killed runs left, and kept ones if asked; returns what is gone. Raises InfraError."""
    removed = []
    for leftover in find(docker, environ):
        if leftover.kept and not kept:
            continue
        with unused(leftover.directory) as abandoned:
            if abandoned and reaper.remove_containers(str(docker.program), leftover.name, quiet=0):
                shutil.rmtree(leftover.directory, ignore_errors=True)
                removed.append(leftover)
    return removed
