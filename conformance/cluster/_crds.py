"""The LeaderWorkerSet CRDs, from the Go module that the controller is built from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.pins import LWS_CRDS
from conformance.model.errors import InfraError


def convert(module: Path) -> bytes:
    """The CRDs of a module directory as one JSON list, without the descriptions of fields: nine
    tenths of 2.8 MB, which each start would send to the API server. Raises InfraError if a file is
    missing."""
    crds = []
    for name in LWS_CRDS:
        path = module / name
        try:
            crd = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
        except OSError as error:
            raise InfraError(f"the Go module of LeaderWorkerSet lacks {name}: {error}") from error
        for version in crd["spec"]["versions"]:
            _strip(version["schema"])
        crds.append(crd)
    return json.dumps(crds, separators=(",", ":")).encode()


def store(content: bytes, target: Path) -> None:
    """Write the list, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(target)


def load(path: Path) -> list[dict[str, Any]]:
    """The CRDs as they are sent to the API server."""
    crds: list[dict[str, Any]] = json.loads(path.read_bytes())
    return crds


def _strip(schema: Any) -> None:
    """Remove descriptions. A field that is itself named "description" is a schema, not a string."""
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            del schema["description"]
        for value in schema.values():
            _strip(value)
    elif isinstance(schema, list):
        for value in schema:
            _strip(value)


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
