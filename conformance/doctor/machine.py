"""The machine itself, its Python and what is installed in it; and which clusters it knows."""

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from packaging.requirements import Requirement

from conformance import __version__
from conformance.cluster.programs.sources import architecture, cache_root
from conformance.doctor.probing import Finding, State
from conformance.model.errors import UsageError

MEMORY_GIB = 3.0
"""The control plane takes 1.2 GiB at work, ten workers 0.9 GiB, the operator its own."""
DISK_GIB = 6.0
"""The programs take 0.5 GiB; building them takes 5 GiB for Go's caches."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
OLDEST_PYTHON = (3, 11)
LOCK = "requirements.lock"
_INSTALL_LOCK = f"pip install --require-hashes -r {LOCK}, or simply make"
_ROOT = Path(__file__).resolve().parents[2]
_MOST = 4
_GIB = 1 << 30


def python() -> Iterator[Finding]:
    """The interpreter and the suite itself."""
    version, place = platform.python_version(), sys.executable
    install = f"Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer"
    recent = sys.version_info >= OLDEST_PYTHON
    yield State.MISSING.unless(recent, "python", version=version, place=place, install=install)
    yield State.OK.of("suite", version=__version__, place=str(_ROOT / "conformance"))


def lock(folder: Path = _ROOT) -> Iterator[Finding]:
    """Whether the installed packages are those of the lock, which only a checkout has."""
    path = folder / LOCK
    if not path.is_file():
        note = "installed as a package: its dependencies are ranges, and there is no lock beside it"
        yield State.OK.of("lock", note=note)
        return
    pinned = _locked(path.read_text(encoding="utf-8"))
    wanted = {each.name: next(iter(each.specifier)).version for each in pinned}
    found = {name: _version(name) for name in wanted}
    absent = [name for name, there in found.items() if not there]
    other = [
        f"{name} {there} instead of {wanted[name]}"
        for name, there in found.items()
        if there not in ("", wanted[name])
    ]
    notes = [f"{len(other)} differ: {_some(other)}"] if other else []
    notes += [f"{len(absent)} are not installed: {_some(absent)}"] if absent else []
    version, note = f"{len(wanted)} packages", "; ".join(notes)
    yield State.WARNING.unless(
        not notes, "lock", version=version, place=str(path), note=note, install=_INSTALL_LOCK
    )


def _locked(text: str) -> Iterator[Requirement]:
    """The pinned requirements that apply to this machine."""
    for line in text.splitlines():
        # The others are hashes and comments.
        if line[:1].isalnum() and "==" in line:
            wanted = Requirement(line.rstrip("\\ "))
            if wanted.marker is None or wanted.marker.evaluate():
                yield wanted


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def pytest_kind() -> Iterator[Finding]:
    """The extra for clusters of kind `kind`: the maintained distribution, and not both of them."""
    maintained, old = _version("pytest-kind-ng"), _version("pytest-kind")
    install = "pip install 'dgd-conformance[kind]'"
    if maintained and old:
        note = "pytest-kind and pytest-kind-ng are both installed, and pytest cannot load both"
        install = "pip uninstall pytest-kind pytest-kind-ng, then " + install
        yield State.MISSING.of("pytest-kind", note=note, install=install)
    elif maintained:
        yield State.OK.of("pytest-kind", version=maintained, place="pytest-kind-ng")
    elif old:
        note = "pytest-kind is no longer maintained; pytest-kind-ng took its place"
        yield State.WARNING.of("pytest-kind", note=note, install=install)
    else:
        yield State.MISSING.of("pytest-kind", install=install)


def _version(name: str) -> str:
    """Of an installed distribution; empty if there is none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


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
    note = "cases run one after another then; give -n 2"
    yield State.WARNING.unless((cores or 0) >= 2, "cores", version=str(cores or "?"), note=note)
    memory = _free_memory()
    if memory is None:
        yield State.UNKNOWN.of("memory", note="the system does not say")
    else:
        yield _enough("memory", memory, MEMORY_GIB, "free")
    cache = cache_root(os.environ)
    there = next(place for place in (cache, *cache.parents) if place.is_dir())
    yield _enough("disk", shutil.disk_usage(there).free / _GIB, DISK_GIB, f"free in {there}")
    note = "it cannot be written to, so nothing can be prepared"
    install = "XDG_CACHE_HOME with a folder that can be written to"
    yield State.WARNING.unless(
        os.access(there, os.W_OK), "cache", place=str(cache), note=note, install=install
    )


def _enough(name: str, found: float, wanted: float, what: str) -> Finding:
    version, note = f"{found:.1f} GiB", f"a run wants about {wanted:g} GiB"
    return State.WARNING.unless(found >= wanted, name, version=version, place=what, note=note)


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
    install = "root or CAP_SYS_ADMIN, only for operators that need files at fixed paths"
    yield State.WARNING.unless(
        why is None, "mount-namespaces", note=f"refused: {why}", install=install
    )


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
