"""The machine itself: architecture, cores, memory, disk, namespaces; and which clusters it knows."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from conformance.cluster.programs.sources import architecture, cache_root
from conformance.doctor.findings import Finding, State
from conformance.model.errors import UsageError

MEMORY_GIB = 3.0
"""The control plane takes 1.2 GiB at work, ten workers 0.9 GiB, the operator its own."""
DISK_GIB = 6.0
"""The programs take 0.5 GiB; building them takes 5 GiB for Go's caches."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_GIB = 1 << 30


def hardware() -> list[Finding]:
    """Whether the programs run here at all."""
    try:
        found = f"{sys.platform} on {architecture()}"
    except UsageError as error:
        return [
            Finding.missing(
                "architecture",
                version=f"{sys.platform} on {platform.machine()}",
                note=str(error),
                install="Linux on amd64 or arm64, or a Linux container",
            )
        ]
    return [Finding.ok("architecture", version=found)]


def resources(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Cores, memory that is free, and disk."""
    environ = os.environ if environ is None else environ
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cache = cache_root(environ)
    there = next(place for place in (cache, *cache.parents) if place.is_dir())
    return [
        Finding.ok("cores", version=str(cores))
        if cores and cores >= 2
        else Finding.warning(
            "cores",
            version=str(cores or "?"),
            note="cases run one after another then; give -n 2",
        ),
        _enough("memory", _free_memory(), MEMORY_GIB, "free"),
        _enough("disk", shutil.disk_usage(there).free / _GIB, DISK_GIB, f"free in {there}"),
        Finding.ok("cache", place=str(cache))
        if os.access(there, os.W_OK)
        else Finding.warning(
            "cache",
            place=str(cache),
            note="it cannot be written to, so nothing can be prepared",
            install="XDG_CACHE_HOME with a folder that can be written to",
        ),
    ]


def _enough(name: str, found: float | None, wanted: float, what: str) -> Finding:
    if found is None:
        return Finding(name=name, state=State.UNKNOWN, note="the system does not say")
    version = f"{found:.1f} GiB"
    if found >= wanted:
        return Finding.ok(name, version=version, place=what)
    note = f"a run wants about {wanted:g} GiB"
    return Finding.warning(name, version=version, place=what, note=note)


def _free_memory() -> float | None:
    """GiB that programs can get, within the limit of a container. None if nobody says."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    free = next(
        (int(line.split()[1]) / (1 << 20) for line in lines if "MemAvailable" in line), None
    )
    limits = (
        Path("/sys/fs/cgroup/memory.max"),
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    )
    for path in limits:
        try:
            limit = int(path.read_text(encoding="ascii")) / _GIB
        except (OSError, ValueError):
            continue
        free = limit if free is None else min(free, limit)
    return free


def private_files() -> list[Finding]:
    """A mount namespace of one process' own: for operators with files at fixed paths."""
    # Here, and not above: it needs packages that may be missing, which is then a finding.
    from conformance.cluster.processes import isolation

    why = isolation.refusal()
    if why is None:
        return [Finding.ok("mount-namespaces")]
    install = "root or CAP_SYS_ADMIN, only for operators that need files at fixed paths"
    return [Finding.warning("mount-namespaces", note=f"refused: {why}", install=install)]


def kubeconfig(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """The contexts that a run could name. No cluster is asked."""
    environ = os.environ if environ is None else environ
    named = environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    contexts: list[str] = []
    broken = ""
    paths = [Path(part) for part in named.split(os.pathsep) if part]
    for path in paths:
        if not path.is_file():
            continue
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
            contexts += [str(context["name"]) for context in data.get("contexts") or ()]
        except (OSError, ValueError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            broken = f"{path} is no kubeconfig: {' '.join(str(error).split())[:120]}"
    if contexts:
        shown = ", ".join(contexts[:5]) + (", …" if len(contexts) > 5 else "")
        return [Finding.ok("kubeconfig", place=named, version=shown, note=broken)]
    if SERVICE_ACCOUNT.is_file():
        note = "this is a pod: ci/kubernetes/kubeconfig.sh makes a kubeconfig of its ServiceAccount"
        return [Finding.warning("kubeconfig", note=note)]
    note = broken or "no context in it"
    install = "a kubeconfig with a context of your cluster (KUBECONFIG)"
    return [Finding.missing("kubeconfig", place=named, note=note, install=install)]
