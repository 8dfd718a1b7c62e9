"""pytest-kind's cluster, used around its faults.

The class is handed in: its package is GPL and an optional extra, which the suite never imports. By
itself it downloads a kind and a kubectl of 2022: it gets the paths of programs that are there. It makes
`.pytest-kind/NAME` in the current directory: its directory is our own. It uses a cluster again with
whatever its kubeconfig holds: that is exported first. It neither keeps kind's output nor ends kind with
the test run: `launcher` does."""

import contextlib
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conformance.cluster.kind import launcher
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.options import Tools
from conformance.cluster.processes.reaper_process import script_command
from conformance.model.errors import InfraError, UsageError

KindClusterClass = Callable[..., Any]
"""`pytest_kind.KindCluster` itself."""


class Kind:
    """One kind cluster by way of pytest-kind."""

    def __init__(
        self, factory: KindClusterClass, *, directory: KindDirectory, tools: Tools, image: str
    ) -> None:
        self.directory = directory
        directory.log.touch()
        words = [*script_command(launcher.__file__), str(directory.log), str(tools.kind)]
        directory.launcher.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
        directory.launcher.chmod(0o700)
        # Its constructor makes .pytest-kind/NAME; an absolute name is a directory of its own.
        self._cluster = factory(
            str(directory.path),
            directory.admin,
            image=image,
            kind_path=directory.launcher,
            kubectl_path=tools.kubectl,
        )
        self._cluster.name = directory.cluster

    def version(self) -> str:
        """Of kind, without the "v"."""
        words = self._run("asking kind for its version", "version").split()
        return next((word.removeprefix("v") for word in words if word.startswith("v")), "unknown")

    # What follows raises InfraError; UsageError if the node's image cannot be had.

    def create(self) -> None:
        """Create the cluster of the directory's configuration. The node is not ready yet."""
        with self._doing("creating the kind cluster"):
            self._cluster.create(self.directory.config)

    def reuse(self) -> None:
        """Connect to the cluster, which is there."""
        self.directory.admin.unlink(missing_ok=True)
        name, kubeconfig = self.directory.cluster, self.directory.admin
        command = ["export", "kubeconfig", f"--name={name}", f"--kubeconfig={kubeconfig}"]
        self._run("exporting the kubeconfig", *command)
        self.create()

    def delete(self) -> None:
        """Delete the cluster."""
        with self._doing("deleting the kind cluster"):
            self._cluster.delete()

    def load_image(self, image: str) -> None:
        """Load an image that Docker has into the node."""
        with self._doing(f"loading the image {image} into the kind cluster"):
            self._cluster.load_docker_image(image)

    def kubectl(self, *arguments: str) -> str:
        """Output of kubectl."""
        with self._doing(f"kubectl {' '.join(arguments)[:80]}"):
            return str(self._cluster.kubectl(*arguments, stderr=subprocess.PIPE))

    def export_logs(self, directory: Path) -> None:
        """`kind export logs`: journals, pods' logs and descriptions."""
        command = ["export", "logs", str(directory), f"--name={self.directory.cluster}"]
        self._run("exporting the logs of the kind cluster", *command)

    def _run(self, what: str, *arguments: str) -> str:
        with self._doing(what):
            return subprocess.run(
                [str(self.directory.launcher), *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
            ).stdout  # fmt: skip

    @contextlib.contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        log = self.directory.log
        try:
            before = log.stat().st_size
            yield
        except subprocess.CalledProcessError as error:
            said = _complaint(log.read_bytes()[before:].decode("utf-8", "replace") or error.stderr)
            if "failed to pull image" in said:
                raise UsageError(
                    f"the node image cannot be had ({said}): give one that Docker has with "
                    "--kind-image, such as kindest/node:offline, which a checkout builds without "
                    "a registry (tools/kind-offline/node-image.sh)"
                ) from error
            raise InfraError(
                f"{what} {self.directory.cluster} failed with code {error.returncode}: {said}"
            ) from error
        except (OSError, KeyError, TypeError, ValueError) as error:
            # pytest-kind reads the kubeconfig, and does not expect one that says nothing.
            raise InfraError(f"{what} {self.directory.cluster} failed: {error!r}") from error


def _complaint(output: str | None) -> str:
    """What kind (or another program) said last about an error."""
    said = [line for line in (output or "").splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR: ")]
    return (errors or said or ["it said nothing"])[-1].removeprefix("ERROR: ").strip()
