"""This Python, and what is installed in it."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from conformance import __version__
from conformance.doctor.probing import Finding, State

OLDEST = (3, 11)
LOCK = "requirements.lock"
_INSTALL_LOCK = f"pip install --require-hashes -r {LOCK}, or simply make"
_ROOT = Path(__file__).resolve().parents[2]
_MOST = 4


def python() -> Iterator[Finding]:
    """The interpreter and the suite itself."""
    old = sys.version_info[:2] < OLDEST
    yield (State.MISSING if old else State.OK).of(
        "python",
        version=platform.python_version(),
        place=sys.executable,
        install=f"Python {OLDEST[0]}.{OLDEST[1]} or newer" if old else "",
    )
    yield State.OK.of("suite", version=__version__, place=str(_ROOT / "conformance"))


def lock(folder: Path = _ROOT) -> Iterator[Finding]:
    """Whether the installed packages are those of the lock, which stands in a checkout alone.
    `folder` is where it lies."""
    path = folder / LOCK
    if not path.is_file():
        note = "installed as a package: its dependencies are ranges, and there is no lock beside it"
        yield State.OK.of("lock", note=note)
        return
    pinned = _locked(path.read_text(encoding="utf-8"))
    wanted = {each.name: next(iter(each.specifier)).version for each in pinned}
    found = {name: _version(name) for name in wanted}
    absent = [name for name, version in found.items() if not version]
    other = [
        f"{name} {version} instead of {wanted[name]}"
        for name, version in found.items()
        if version and version != wanted[name]
    ]
    notes = [
        f"{len(names)} {what}: {_some(names)}"
        for what, names in (("differ", other), ("are not installed", absent))
        if names
    ]
    yield (State.WARNING if notes else State.OK).of(
        "lock",
        version=f"{len(wanted)} packages",
        place=str(path),
        note="; ".join(notes),
        install=_INSTALL_LOCK if notes else "",
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
