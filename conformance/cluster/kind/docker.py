"""The container engine below kind, by way of its command line: the few things kind does not do."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster.kind.reaper import AUDIT, CLUSTER_LABEL
from conformance.model.errors import InfraError, UsageError

ANSWER_SECONDS = 30.0
"""For the daemon to answer: it takes 0.1 s, more on a machine under load."""
EXEC_SECONDS = 60.0
"""For a short command in the node."""
PULL_SECONDS = 600.0
"""For an image of some 100 MB over a slow line."""
_RESTART_SECONDS = 180
# crictl gives up after 2 s by default, which a busy machine needs for one answer of containerd.
_CRICTL = "crictl --timeout 60s"
_RESTART = f"""
running() {{ {_CRICTL} ps --quiet --name '^kube-controller-manager$'; }}
old=$(running)
end=$(($(date +%s) + {_RESTART_SECONDS}))
while [ "$(date +%s)" -lt "$end" ]; do
  new=$(running)
  # Removed, not just ended: kubelet makes a container that it finds dead wait, longer each time.
  if [ -n "$old" ] && [ "$new" = "$old" ]; then {_CRICTL} rm --force "$old" >/dev/null || true; fi
  if [ -n "$new" ] && [ "$new" != "$old" ] &&
    curl --silent --insecure --fail --max-time 2 https://127.0.0.1:10257/healthz >/dev/null
  then exit 0; fi
  sleep 0.1
done
echo "it did not come back within {_RESTART_SECONDS} s"
exit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContainer:
    """The container of a kind node."""

    name: str
    state: str
    """As Docker says it: running, exited, paused, ..."""
    exit_code: int
    audit: Path | None
    """The directory of this machine that gets the audit log; None for a node that is not ours."""


class Docker:
    """One daemon, as the environment names it."""

    def __init__(self, program: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.program = program
        self._environ = environ

    def check(self) -> None:
        """Raises UsageError, saying what to do, if no local daemon answers."""
        host = self._environ.get("DOCKER_HOST", "")
        if host and not host.startswith("unix://"):
            raise UsageError(
                f"DOCKER_HOST={host} is another machine's Docker, whose kind node could not write "
                "the audit log to this one: run the suite where Docker runs"
            )
        try:
            answer = self._run(["info", "--format", "{{json .ServerErrors}}"])
        except InfraError as error:
            raise UsageError(
                f"--cluster=kind needs Docker, which does not work: {error}"
            ) from error
        if answer.returncode == 0 and answer.stdout.strip() in ("null", "[]", ""):
            return
        said = f"{answer.stdout}\n{answer.stderr}"
        if "permission denied" in said.lower():
            raise UsageError(
                "this user may not talk to Docker (permission denied): add it to the group docker "
                "and log in again, or run as root"
            )
        raise UsageError(
            "--cluster=kind needs a running Docker daemon, and none answers: start it (systemctl "
            "start docker; in a checkout on a machine without systemd, "
            f"tools/kind-offline/start-dockerd.sh). Docker says: {_last_line(said)}"
        )

    def has_image(self, image: str) -> bool:
        """True if an image of that name is there."""
        return self._run(["image", "inspect", "--format", "{{.Id}}", image]).returncode == 0

    def pull(self, image: str) -> str | None:
        """Fetch an image from its registry. None if it is there now, else why not."""
        try:
            pulled = self._run(["pull", "--quiet", image], timeout=PULL_SECONDS)
        except InfraError as error:
            return str(error)
        return None if pulled.returncode == 0 else _last_line(pulled.stderr)

    def build(self, tag: str, context: Path) -> None:
        """Build the Dockerfile of a directory. Raises InfraError with the end of what it says."""
        command = ["build", "--quiet", "--tag", tag, str(context)]
        self._output(command, what=f"building the image {tag}", timeout=PULL_SECONDS)

    def execute(self, container: str, argv: Sequence[str], *, timeout: float = EXEC_SECONDS) -> str:
        """Output of a command in a container. Raises InfraError."""
        command = ["exec", container, *argv]
        return self._output(command, what=f"{argv[0]} in {container}", timeout=timeout)

    def nodes(self, cluster: str | None = None) -> list[NodeContainer]:
        """The node containers of one kind cluster, or of all, running or not. Raises InfraError."""
        label = CLUSTER_LABEL if cluster is None else f"{CLUSTER_LABEL}={cluster}"
        listed = self._output(["ps", "-aq", "--filter", f"label={label}"], what="docker ps")
        identifiers = listed.split()
        if not identifiers:
            return []
        # One that vanishes meanwhile makes the code 1; the others are told nevertheless.
        inspected = self._run(["inspect", "--type=container", *identifiers])
        try:
            return [_node(each) for each in json.loads(inspected.stdout or "[]")]
        except (ValueError, KeyError, TypeError) as error:
            raise InfraError(f"docker inspect answered what is no container: {error}") from error

    def containerd_answers(self, cluster: str, node: str) -> bool:
        """The node's container runs, and images can be loaded into it."""
        if not any(each.state == "running" for each in self.nodes(cluster)):
            return False
        try:
            self.execute(node, ["ctr", "--namespace=k8s.io", "version"])
        except InfraError:
            return False
        return True

    def restart_controller_manager(self, node: str) -> None:
        """End it, and wait until another one answers. Raises InfraError if it does not come back."""
        self.execute(node, ["sh", "-c", _RESTART], timeout=_RESTART_SECONDS + 30.0)

    def _output(
        self, arguments: Sequence[str], *, what: str, timeout: float = ANSWER_SECONDS
    ) -> str:
        done = self._run(arguments, timeout=timeout)
        if done.returncode != 0:
            said = _last_line(done.stderr or done.stdout)
            raise InfraError(f"{what} failed with code {done.returncode}: {said}")
        return done.stdout

    def _run(
        self, arguments: Sequence[str], *, timeout: float = ANSWER_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [str(self.program), *arguments],
                env=dict(self._environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise InfraError(
                f"docker {arguments[0]} did not end within {timeout:g} s; does its daemon hang?"
            ) from None
        except OSError as error:
            raise InfraError(f"{self.program} cannot be run: {error.strerror}") from error


def _node(container: Mapping[str, Any]) -> NodeContainer:
    mounts = container["Mounts"]
    return NodeContainer(
        name=container["Name"].removeprefix("/"),
        state=container["State"]["Status"],
        exit_code=container["State"]["ExitCode"],
        audit=next((Path(each["Source"]) for each in mounts if each["Destination"] == AUDIT), None),
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "nothing"
