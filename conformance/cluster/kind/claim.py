"""The use of one kind cluster by one process: `Claim`."""

from __future__ import annotations

import contextlib
import shutil

from conformance.cluster.kind import reaper
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.reaper import AUDIT, TRY_SECONDS
from conformance.cluster.processes.reaper_process import ReaperProcess
from conformance.model.errors import UsageError


def check_ours(directory: KindDirectory, docker: Docker) -> None:
    """Raises UsageError if another's cluster has the name."""
    nodes = docker.nodes(directory.cluster)
    if any(node.mounts.get(AUDIT) != directory.audit for node in nodes):
        raise UsageError(
            f"a kind cluster {directory.cluster} is there, and it was not made by this suite for this "
            "user: name another with --cluster-name"
        )


class Claim:
    """The use of one cluster by this process, which ends however the process ends."""

    def __init__(self, directory: KindDirectory, docker: Docker) -> None:
        """A cluster that was kept stays so until `lose`; a new one is lost until `keep`. Raises
        UsageError if another process uses it."""
        self.directory = directory
        directory.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._reaper = ReaperProcess(
            reaper.__file__,
            str(directory.path),
            directory.cluster,
            str(docker.program),
            "keep" if directory.made().get("keep") else "lose",
            failure=f"the reaper of the kind cluster {directory.cluster} did not start",
        )
        holder = self._reaper.greeting.get("busy")
        if holder is not None:
            self.release()
            raise UsageError(
                f"the kind cluster {directory.cluster} is in use by process {holder}: wait for it, or "
                "name another cluster with --cluster-name"
            )

    def keep(self) -> None:
        """The cluster is complete, and outlives this process from now on."""
        self._tell("keep")

    def lose(self) -> None:
        """The cluster goes with this process from now on."""
        self._tell("lose")

    def release(self) -> None:
        """End the use. The reaper removes a cluster that is not kept."""
        self._reaper.close(TRY_SECONDS)

    def done(self) -> None:
        """The cluster is removed: its directory goes, too."""
        self._tell("done")
        self.release()
        # The reaper has done so, unless it was killed.
        shutil.rmtree(self.directory.path, ignore_errors=True)

    def _tell(self, word: str) -> None:
        with contextlib.suppress(OSError):  # it was killed; the next run removes what is left
            self._reaper.tell(word)
