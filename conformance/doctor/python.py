"""This Python, and what is installed in it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from conformance import __version__
from conformance.doctor.findings import Finding

OLDEST = (3, 11)
LOCK = "requirements.lock"
_INSTALL_LOCK = f"pip install --require-hashes -r {LOCK}, or simply make"
_MOST = 4


def python() -> list[Finding]:
    """The interpreter and the suite itself."""
    enough = sys.version_info[:2] >= OLDEST
    wanted = ".".join(str(part) for part in OLDEST)
    version, place = platform.python_version(), sys.executable
    suite = Finding.ok("suite", version=__version__, place=str(Path(__file__).resolve().parents[1]))
    if enough:
        return [Finding.ok("python", version=version, place=place), suite]
    install = f"Python {wanted} or newer"
    return [Finding.missing("python", version=version, place=place, install=install), suite]


def lock(folder: Path | None = None) -> list[Finding]:
    """Whether the installed packages are those of the lock, which stands in a checkout alone.
    `folder` is where it lies, by default beside the package."""
    path = (folder or Path(__file__).resolve().parents[2]) / LOCK
    if not path.is_file():
        note = "installed as a package: its dependencies are ranges, and there is no lock beside it"
        return [Finding.ok("lock", note=note)]
    other, absent, count = [], [], 0
    for wanted in _locked(path.read_text(encoding="utf-8")):
        count += 1
        version = next(iter(wanted.specifier)).version
        try:
            found = importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            absent.append(wanted.name)
            continue
        if found != version:
            other.append(f"{wanted.name} {found} instead of {version}")
    notes = [
        f"{len(found)} {what}: {_some(found)}"
        for what, found in (("differ", other), ("are not installed", absent))
        if found
    ]
    version = f"{count} packages"
    if not notes:
        return [Finding.ok("lock", version=version, place=str(path))]
    note = "; ".join(notes)
    return [
        Finding.warning("lock", version=version, place=str(path), note=note, install=_INSTALL_LOCK)
    ]


def _locked(text: str) -> Iterator[Requirement]:
    """The pinned requirements that apply to this machine."""
    for match in re.finditer(r"^([A-Za-z0-9][^\n\\]*?==[^\n\\]*?)\s*\\?$", text, re.MULTILINE):
        try:
            wanted = Requirement(match[1])
        except InvalidRequirement:
            continue
        if wanted.marker is None or wanted.marker.evaluate():
            yield wanted


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def pytest_kind() -> list[Finding]:
    """The extra for clusters of kind `kind`: the maintained distribution, and not both of them."""
    installed = {
        canonicalize_name(distribution.metadata["Name"] or "")
        for distribution in importlib.metadata.distributions()
    }
    install = "pip install 'dgd-conformance[kind]'"
    if {"pytest-kind", "pytest-kind-ng"} <= installed:
        note = "pytest-kind and pytest-kind-ng are both installed, and pytest cannot load both"
        install = "pip uninstall pytest-kind pytest-kind-ng, then " + install
        return [Finding.missing("pytest-kind", note=note, install=install)]
    if "pytest-kind-ng" in installed:
        version = importlib.metadata.version("pytest-kind-ng")
        return [Finding.ok("pytest-kind", version=version, place="pytest-kind-ng")]
    if "pytest-kind" in installed:
        note = "pytest-kind is no longer maintained; pytest-kind-ng took its place"
        return [Finding.warning("pytest-kind", note=note, install=install)]
    return [Finding.missing("pytest-kind", install=install)]
