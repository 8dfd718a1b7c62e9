"""Kind clusters that no process uses: kept ones, and those of runs killed with their reaper."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.kind.directories import KindDirectory, root
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.reaper import AUDIT, remove_containers
from conformance.cluster.processes.directory import unused


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


def find(docker: Docker, environ: Mapping[str, str] | None = None) -> list[LeftoverCluster]:
    """All of this user's, kept ones too. Raises InfraError if Docker does not answer."""
    base = root(environ)
    containers: dict[Path, list[str]] = {directory: [] for directory in base.glob("*")}
    for node in docker.nodes():
        mounted = node.mounts.get(AUDIT)
        # Another user's run, or one in a container, has its directories elsewhere: who uses those
        # cannot be told from here.
        if mounted is not None and mounted.parent.parent == base:
            containers.setdefault(mounted.parent, []).append(node.name)
    found = []
    for path, names in sorted(containers.items()):
        with unused(path) as abandoned:
            if abandoned:
                kept = bool(names) and KindDirectory(path).made().get("keep") is True
                found.append(LeftoverCluster(directory=path, containers=tuple(names), kept=kept))
    return found


def sweep(
    docker: Docker, environ: Mapping[str, str] | None = None, *, kept: bool = False
) -> list[LeftoverCluster]:
    """Remove what killed runs left, and kept ones if asked; returns what is gone. Raises InfraError."""
    removed = []
    for leftover in find(docker, environ):
        if leftover.kept and not kept:
            continue
        with unused(leftover.directory) as abandoned:
            if abandoned and remove_containers(str(docker.program), leftover.name, quiet=0):
                shutil.rmtree(leftover.directory, ignore_errors=True)
                removed.append(leftover)
    return removed
