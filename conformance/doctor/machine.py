"""The machine itself: architecture, cores, memory, disk, namespaces; and which clusters it knows."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from conformance.cluster.programs.sources import architecture, cache_root
from conformance.doctor.probing import Finding, State
from conformance.model.errors import UsageError

MEMORY_GIB = 3.0
"""The control plane takes 1.2 GiB at work, ten workers 0.9 GiB, the operator its own."""
DISK_GIB = 6.0
"""The programs take 0.5 GiB; building them takes 5 GiB for Go's caches."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_GIB = 1 << 30


def hardware() -> Iterator[Finding]:
    """Whether the programs run here at all."""
    try:
        yield State.OK.of("architecture", version=f"{sys.platform} on {architecture()}")
    except UsageError as error:
        yield State.MISSING.of(
            "architecture",
            version=f"{sys.platform} on {platform.machine()}",
            note=str(error),
            install="Linux on amd64 or arm64, or a Linux container",
        )


def resources() -> Iterator[Finding]:
    """Cores, memory that is free, and disk."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores and cores >= 2:
        yield State.OK.of("cores", version=str(cores))
    else:
        note = "cases run one after another then; give -n 2"
        yield State.WARNING.of("cores", version=str(cores or "?"), note=note)
    cache = cache_root(os.environ)
    there = next(place for place in (cache, *cache.parents) if place.is_dir())
    yield _enough("memory", _free_memory(), MEMORY_GIB, "free")
    yield _enough("disk", shutil.disk_usage(there).free / _GIB, DISK_GIB, f"free in {there}")
    if os.access(there, os.W_OK):
        yield State.OK.of("cache", place=str(cache))
    else:
        note = "it cannot be written to, so nothing can be prepared"
        install = "XDG_CACHE_HOME with a folder that can be written to"
        yield State.WARNING.of("cache", place=str(cache), note=note, install=install)


def _enough(name: str, found: float | None, wanted: float, what: str) -> Finding:
    if found is None:
        return State.UNKNOWN.of(name, note="the system does not say")
    version = f"{found:.1f} GiB"
    if found >= wanted:
        return State.OK.of(name, version=version, place=what)
    note = f"a run wants about {wanted:g} GiB"
    return State.WARNING.of(name, version=version, place=what, note=note)


def _free_memory() -> float | None:
    """GiB that programs can get, within the limit of a container. None if nobody says."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable"):
                found.append(int(line.split()[1]) / (1 << 20))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # ValueError: "max"
            found.append(int(Path("/sys/fs/cgroup", limit).read_text(encoding="ascii")) / _GIB)
    return min(found, default=None)


def private_files() -> Iterator[Finding]:
    """A mount namespace of one process' own: for operators with files at fixed paths."""
    # Here, and not above: it needs packages that may be missing, which is then a finding.
    from conformance.cluster.processes import isolation

    why = isolation.refusal()
    if why is None:
        yield State.OK.of("mount-namespaces")
    else:
        install = "root or CAP_SYS_ADMIN, only for operators that need files at fixed paths"
        yield State.WARNING.of("mount-namespaces", note=f"refused: {why}", install=install)


def kubeconfig(environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """The contexts that a run could name. No cluster is asked."""
    named = environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    contexts: list[str] = []
    broken = ""
    for path in (Path(part) for part in named.split(os.pathsep) if part):
        if not path.is_file():
            continue
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
            contexts += [str(context["name"]) for context in data.get("contexts") or ()]
        except (OSError, ValueError, yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
            broken = f"{path} is no kubeconfig: {' '.join(str(error).split())[:120]}"
    if contexts:
        shown = ", ".join(contexts[:5]) + (", …" if len(contexts) > 5 else "")
        yield State.OK.of("kubeconfig", place=named, version=shown, note=broken)
    elif SERVICE_ACCOUNT.is_file():
        note = "this is a pod: ci/kubernetes/kubeconfig.sh makes a kubeconfig of its ServiceAccount"
        yield State.WARNING.of("kubeconfig", note=note)
    else:
        note = broken or "no context in it"
        install = "a kubeconfig with a context of your cluster (KUBECONFIG)"
        yield State.MISSING.of("kubeconfig", place=named, note=note, install=install)
