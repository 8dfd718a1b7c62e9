"""The directory of a kind cluster on this machine, who uses it, and what earlier runs left behind.

${XDG_STATE_HOME:-~/.local/state}/dgd-conformance/kind/NAME holds the cluster's configuration, its
kubeconfigs and its audit log, which the node writes through a mount. It does not depend on the
current directory, so a kept cluster is found from anywhere."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cluster.kind import keeper
from conformance.cluster.kind.config import AUDIT_LOG
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.keeper import AUDIT
from conformance.model.errors import InfraError, UsageError

REPLY_SECONDS = 15.0
"""The keeper answers in 0.1 s; this long means that the machine hangs."""

_YOUNG_SECONDS = 60.0
"""A directory without a lock is one whose keeper is just starting, or crashed before."""


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one cluster."""

    directory: Path

    @property
    def cluster(self) -> str:
        """Name of the cluster."""
        return self.directory.name

    @property
    def settings(self) -> Path:
        """What the node reads."""
        return self.directory / "settings"

    @property
    def mirrors(self) -> Path:
        """Mirrors of registries, for the node's containerd."""
        return self.directory / "mirrors"

    @property
    def audit(self) -> Path:
        """What the node's API server writes."""
        return self.directory / "audit"

    @property
    def audit_log(self) -> Path:
        """The audit log, JSON lines."""
        return self.audit / AUDIT_LOG

    @property
    def config(self) -> Path:
        """The configuration of the cluster."""
        return self.directory / "kind.yaml"

    @property
    def launcher(self) -> Path:
        """What pytest-kind takes for kind."""
        return self.directory / "kind"

    @property
    def log(self) -> Path:
        """What kind said."""
        return self.directory / "kind.log"

    @property
    def admin(self) -> Path:
        """kind's own kubeconfig: pytest-kind writes it and empties it again."""
        return self.directory / "admin.kubeconfig"

    @property
    def suite(self) -> Path:
        """The suite's kubeconfig."""
        return self.directory / "suite.kubeconfig"

    def made(self) -> dict[str, Any]:
        """What `record_made` wrote; empty if the cluster was never whole."""
        try:
            content = json.loads((self.directory / "made.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def record_made(self, facts: Mapping[str, Any]) -> None:
        """Note that the cluster is whole, and how it was made."""
        (self.directory / "made.json").write_text(json.dumps(dict(facts)), encoding="utf-8")


def root(environ: Mapping[str, str] | None = None) -> Path:
    """Where the directories of all clusters lie."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or os.path.join(
        environ.get("HOME") or os.path.expanduser("~"), ".local", "state"
    )
    return Path(base) / "dgd-conformance" / "kind"


def own_name() -> str:
    """A name that no other run takes: with this process' id and the boot that it belongs to, for
    people who wonder where a cluster came from."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        boot = "0"
    return f"dgd-conformance-{os.getpid()}-{boot}-{os.urandom(2).hex()}"


def check_ours(place: Place, docker: Docker) -> None:
    """Raises UsageError if another's cluster has the name."""
    if any(node.mounts.get(AUDIT) != place.audit for node in docker.nodes(place.cluster)):
        raise UsageError(
            f"a kind cluster {place.cluster} is there, and it was not made by this suite for this "
            "user: name another with --cluster-name"
        )


class Claim:
    """The use of one cluster by this process, which ends however the process ends."""

    def __init__(self, place: Place, docker: Docker) -> None:
        """A cluster that was kept stays so until `lose`; a new one is lost until `keep`. Raises
        UsageError if another process uses it."""
        self.place = place
        place.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        self._channel = ours
        with theirs:
            command = [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno())]
            command += [str(os.getpid()), str(place.directory), place.cluster, str(docker.program)]
            command.append("keep" if place.made().get("keep") else "lose")
            self._keeper = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
            )
        try:
            self._channel.settimeout(REPLY_SECONDS)
            # One short line, sent at once: it does not come in pieces.
            reply = json.loads(self._channel.recv(4096))
        except (OSError, ValueError) as error:
            self._close()
            raise InfraError(
                f"the keeper of the kind cluster {place.cluster} did not start within "
                f"{REPLY_SECONDS:g} s ({error})"
            ) from error
        if "busy" in reply:
            self._close()
            raise UsageError(
                f"the kind cluster {place.cluster} is in use by process {reply['busy']}: wait for "
                "it, or name another cluster with --cluster-name"
            )

    def keep(self) -> None:
        """The cluster is whole, and outlives this process from now on."""
        self._say("keep")

    def lose(self) -> None:
        """The cluster goes with this process from now on."""
        self._say("lose")

    def release(self) -> None:
        """End the use of a kept cluster."""
        self._close()

    def done(self) -> None:
        """The cluster is removed: its directory goes, too."""
        self._say("done")
        self._close()
        # The keeper has done so, unless it was killed.
        shutil.rmtree(self.place.directory, ignore_errors=True)

    def _say(self, word: str) -> None:
        with contextlib.suppress(OSError):  # it was killed; the next run removes what is left
            self._channel.sendall(f"{word}\n".encode())

    def _close(self) -> None:
        self._channel.close()
        try:
            self._keeper.wait(keeper.TRY_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A cluster of this suite that no process uses."""

    name: str
    kept: bool
    """Left on purpose, by --keep-cluster."""
    containers: tuple[str, ...]
    directory: Path

    def describe(self) -> str:
        """One line for people."""
        why = "kept by --keep-cluster" if self.kept else "its run ended without removing it"
        return f"kind cluster {self.name} ({', '.join(self.containers) or 'no container'}): {why}"


def leftovers(docker: Docker, environ: Mapping[str, str] | None = None) -> list[Leftover]:
    """The clusters of this user that no process uses, kept ones too. Raises InfraError if Docker
    does not answer."""
    base = root(environ)
    containers: dict[Path, list[str]] = {}
    for node in docker.nodes():
        mounted = node.mounts.get(AUDIT)
        # Another user's run, or one in a container, has its directories elsewhere: who uses those
        # cannot be told from here.
        if mounted is not None and mounted.parent.parent == base:
            containers.setdefault(mounted.parent, []).append(node.name)
    with contextlib.suppress(OSError):
        for directory in base.iterdir():
            containers.setdefault(directory, [])
    found = []
    for directory, names in sorted(containers.items()):
        with _unused(directory) as unused:
            if unused:
                kept = bool(names) and Place(directory).made().get("keep") is True
                found.append(
                    Leftover(
                        name=directory.name,
                        kept=kept,
                        containers=tuple(names),
                        directory=directory,
                    )
                )
    return found


def sweep(
    docker: Docker, environ: Mapping[str, str] | None = None, *, kept: bool = False
) -> list[Leftover]:
    """Remove what runs left behind that were killed together with their keeper, and return it;
    `kept` clusters, too, if asked. Raises InfraError if Docker does not answer."""
    removed = []
    for leftover in leftovers(docker, environ):
        if leftover.kept and not kept:
            continue
        with _unused(leftover.directory) as unused:
            if unused and keeper.remove_containers(str(docker.program), leftover.name, quiet=0):
                shutil.rmtree(leftover.directory, ignore_errors=True)
                removed.append(leftover)
    return removed


@contextlib.contextmanager
def _unused(directory: Path) -> Iterator[bool]:
    """Whether nobody uses the directory; nobody begins to while the block runs."""
    try:
        descriptor = os.open(directory / keeper.LOCK_NAME, os.O_RDWR)
    except FileNotFoundError:
        yield not directory.exists() or time.time() - directory.stat().st_mtime > _YOUNG_SECONDS
        return
    except OSError:
        yield False  # another user's
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
