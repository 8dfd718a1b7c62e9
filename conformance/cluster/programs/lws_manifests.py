"""Manifests of the LeaderWorkerSet controller: its Go module, and what is kept of them in the cache."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.programs.go import Toolchain, module_cache
from conformance.cluster.programs.pins import LWS_CRDS, LWS_MODULE, PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import whole_file
from conformance.model.errors import InfraError

Objects = list[dict[str, Any]]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def module_directory(environ: Mapping[str, str], progress: Progress) -> Path:
    """The directory of the Go module, downloaded if need be: the module cache has it already if the
    controller was built on this machine. Raises UsageError, InfraError."""
    module = module_cache(environ) / LWS_MODULE
    if module.is_dir():
        return module
    toolchain = Toolchain(environ=environ, progress=progress)
    with progress.step(f"downloading the Go module {LWS_MODULE}"):
        return toolchain.module_directory(LWS_MODULE, required_by=PINS[Program.LWS].module)


def crds_of(module: Path) -> Objects:
    """The CRDs of a module directory. Raises InfraError if a file is missing."""
    try:
        texts = [(module / name).read_text(encoding="utf-8") for name in LWS_CRDS]
    except OSError as error:
        raise InfraError(f"the Go module of LeaderWorkerSet lacks a file: {error}") from error
    return [crd for text in texts for crd in parse(text)]


def parse(text: str) -> Objects:
    """The objects of a YAML text, CRDs without the descriptions of fields: nine tenths of 2.8 MB, which
    each start would send to the API server. Raises InfraError for a text of another kind."""
    try:
        objects = [each for each in yaml.load_all(text, Loader=_LOADER) if each is not None]
        for each in objects:
            kind, _ = each["kind"], each["metadata"]["name"]
            if kind == "CustomResourceDefinition":
                for version in each["spec"]["versions"]:
                    _strip_descriptions(version["schema"])
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise InfraError(f"it holds no manifests: {str(error).splitlines()[0]}") from error
    return objects


def store(objects: Objects, target: Path) -> None:
    """Write a JSON list, whole or not at all."""
    with whole_file(target) as part:
        part.write_text(json.dumps(objects, separators=(",", ":")), encoding="utf-8")


def load(path: Path) -> Objects:
    """What `store` wrote. Raises OSError, ValueError."""
    objects: Objects = json.loads(path.read_bytes())
    return objects


def _strip_descriptions(schema: Any) -> None:
    """A field that is itself named "description" is a schema, not a string, and stays."""
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            del schema["description"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for value in schema:
            _strip_descriptions(value)
