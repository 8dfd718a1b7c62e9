"""Reads the manifests that a profile names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.kube import load_manifests
from conformance.model.errors import UsageError
from conformance.operator.profiles import LoadedProfile


def read_manifests(
    loaded: LoadedProfile, entries: Sequence[str], *, what: str, crds: Path | None = None
) -> list[dict[str, Any]]:
    """The objects in files and directories relative to the profile; `{crds}` stands for `crds`.
    Raises UsageError that names the field `what`, or the option."""
    found: list[dict[str, Any]] = []
    for entry in entries:
        if entry == "{crds}" and crds is not None:
            path, where = crds, f"--operator-crds={crds}"
        else:
            path, where = loaded.directory / entry, f"{loaded.shown}: `{what}`"
        try:
            found += [m for file in _files(path) for m in load_manifests(file)]
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    return found


def _files(path: Path) -> list[Path]:
    """A directory's manifests without its kustomization, which is no object; else the file
    itself."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.iterdir() if file.suffix in (".yaml", ".yml", ".json"))
    return sorted(f for f in files if f.stem != "kustomization") or [path]
