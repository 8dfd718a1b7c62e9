"""A Lease that shows that a run is alive, in a namespace of its own, renewed until the run ends. Its
times are the API server's, so that the clocks of two machines need not agree."""

import datetime
import email.utils
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

import urllib3

from conformance.kube import Answer, Api, raise_for
from conformance.kube.resource import LEASES, NAMESPACES
from conformance.model import labels
from conformance.model.errors import InfraError

LEASE = "run"
PREFIX = "dgd-conformance-run-"
"""With the run's id, the name of the namespace that holds its Lease."""
RENEW_SECONDS = 10.0
ALIVE_SECONDS = 60.0
"""A Lease not renewed for this long is a crashed run's: six renewals were missed."""


def namespace_of(run: str) -> str:
    """Name of a run's own namespace."""
    return f"{PREFIX}{run}"


class RunLease:
    """The Lease of a run, kept alive from `start` to `stop`."""

    def __init__(self, api: Api, run: str) -> None:
        self._api, self._run = api, run
        self._halt = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._path = LEASES.path(namespace_of(run), LEASE)
        self._problem = ""
        self._renewed_at = time.monotonic()

    def failure(self) -> str | None:
        """Says that it was not renewed for so long that the run looks dead."""
        if not self._problem or time.monotonic() - self._renewed_at <= ALIVE_SECONDS:
            return None
        namespace = namespace_of(self._run)
        return f"the run's Lease in namespace {namespace} cannot be renewed: {self._problem}"

    def start(self) -> None:
        """Make the namespace and its Lease. Raises InfraError if that is refused."""
        name, marks = namespace_of(self._run), labels.of_run(self._run)
        metadata = {"name": name, "labels": marks}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        made = raise_for(self._api.create(NAMESPACES, namespace), f"creating namespace {name}")
        metadata = {"name": LEASE, "namespace": name, "labels": marks}
        spec = {
            "holderIdentity": _holder(),
            "leaseDurationSeconds": int(ALIVE_SECONDS),
            "renewTime": _stamp(server_time(made)),
        }
        kind = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        lease = {**kind, "metadata": metadata, "spec": spec}
        raise_for(self._api.create(LEASES, lease), "creating the run's Lease")
        self._renewed_at = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing."""
        self._halt.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=RENEW_SECONDS)

    def _renew(self) -> None:
        while not self._halt.wait(RENEW_SECONDS):
            try:
                # A read first: it tells the server's time and the version to replace.
                read = raise_for(self._api.request("GET", self._path), "the Lease")
                read.body["spec"]["renewTime"] = _stamp(server_time(read))
                raise_for(self._api.request("PUT", self._path, read.body), "the Lease")
                self._problem, self._renewed_at = "", time.monotonic()
            except InfraError as error:
                self._problem = str(error)


def alive(api: Api, namespace: dict[str, Any]) -> bool:
    """True if the run that this namespace belongs to lives: its process is seen to on this machine, or
    its Lease was renewed lately. Raises InfraError if the Lease cannot be read."""
    meta = namespace["metadata"]
    answer = api.request("GET", LEASES.path(meta["name"], LEASE))
    now = server_time(answer)
    if answer.code == 404:
        # The Lease is made shortly after its namespace.
        return (
            "deletionTimestamp" not in meta and age(meta["creationTimestamp"], now) < ALIVE_SECONDS
        )
    spec = raise_for(answer, f"reading the Lease of {meta['name']}").body.get("spec") or {}
    here = _lives_here(str(spec.get("holderIdentity") or ""))
    if here is not None:
        return here
    return age(spec.get("renewTime") or meta["creationTimestamp"], now) < ALIVE_SECONDS


def _holder() -> str:
    """This process, as others on the machine find it: host/boot/pid/start."""
    pid = os.getpid()
    return "/".join((socket.gethostname(), _boot(), str(pid), _started(pid)))


def _lives_here(identity: str) -> bool | None:
    """None if it cannot be told."""
    parts = identity.split("/")
    if len(parts) != 4 or parts[:2] != [socket.gethostname(), _boot()] or not parts[1]:
        return None
    return parts[2].isdigit() and _started(int(parts[2])) == parts[3] != ""


def _boot() -> str:
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        # A container shares the machine's boot id, not its processes.
        return f"{text}-{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When the process started, in the kernel's ticks; empty if it is gone or only waits to be
    collected. A pid may be given again, both together not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return ""
    # The name, in parentheses, may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def server_time(answer: Answer) -> datetime.datetime:
    """The API server's clock as of an answer; this machine's if it does not say."""
    try:
        said = urllib3.HTTPHeaderDict(answer.headers).get("Date", "")
        return email.utils.parsedate_to_datetime(said)
    except ValueError:
        return datetime.datetime.now(datetime.UTC)


def age(stamp: str, now: datetime.datetime) -> float:
    """Seconds since a time as Kubernetes writes it."""
    return (now - datetime.datetime.fromisoformat(stamp)).total_seconds()


def _stamp(when: datetime.datetime) -> str:
    return when.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
