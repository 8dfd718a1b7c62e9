"""Checks the templates of a profile and the files that it names, without a cluster.

A mistake costs a second then, and not an installation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.profile import Profile
from conformance.operator.templates import PLACEHOLDERS, VALUE_PLACEHOLDERS, fill

_PROCESS_TEMPLATES = {"command", "env", "ready", "cert_dir", "fault_argument", "files"}
_POD_TEMPLATES = {"values", "fault_argument"}
_PROCESS_FILES = ("prerequisites", "crds", "webhooks", "rbac")
_POD_FILES = ("prerequisites", "crds", "manifests", "dockerfile", "chart_path")


def problems(profile: Profile, directory: Path, *, where: str) -> list[str]:
    """A sentence for each placeholder that no installation fills in, and each file that is missing."""
    return [
        f"{where}: {problem}"
        for problem in (*_bad_templates(profile), *_missing_files(profile, directory))
    ]


def shown(path: Path) -> str:
    """The shorter of the absolute path and the one from here: what a user would type."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _bad_templates(profile: Profile) -> Iterator[str]:
    for field, template in _templates(profile):
        try:
            fill(template, dict.fromkeys(_known(profile, field), ""), where=f"`{field}`")
        except UsageError as error:
            yield str(error)


def _templates(profile: Profile) -> Iterator[tuple[str, str]]:
    """Field and text of every template."""
    if profile.install is not None:
        yield from _texts(profile.install.model_dump(include=_PROCESS_TEMPLATES), "install")
    if profile.in_cluster is not None:
        yield from _texts(profile.in_cluster.model_dump(include=_POD_TEMPLATES), "in_cluster")


def _texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(part, f"{field}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, f"{field}.{index}")


def _known(profile: Profile, field: str) -> set[str]:
    """The placeholders that a field may use."""
    if field == "in_cluster.fault_argument":
        return {"fault"}
    if field.startswith("in_cluster.values"):
        return set(VALUE_PLACEHOLDERS)
    install = profile.process
    known = {*PLACEHOLDERS, *(f"port_{name}" for name in (*install.ports, *install.fixed_ports))}
    if field == "install.fault_argument":
        return known | {"fault"}
    # The certificate directory is itself a placeholder of the others.
    return known - {"cert_dir"} if field == "install.cert_dir" else known


def _missing_files(profile: Profile, directory: Path) -> Iterator[str]:
    for part, fields in (("install", _PROCESS_FILES), ("in_cluster", _POD_FILES)):
        install = getattr(profile, part)
        for field in fields if install else ():
            value = getattr(install, field)
            entries = [value] if isinstance(value, str) else value
            for entry in entries:
                if entry not in ("", "{crds}") and not (directory / entry).exists():
                    yield (
                        f"`{part}.{field.removesuffix('_path')}` lists {entry}, and there is no file "
                        f"or directory {shown(directory / entry)}"
                    )
