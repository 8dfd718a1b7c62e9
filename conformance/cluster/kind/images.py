"""The images of KWOK and the LeaderWorkerSet controller: official, or built from the programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.pins import IMAGES, REGISTRY, REGISTRY_VARIABLE
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure_one
from conformance.cluster.programs.progress import Progress

_COMMANDS = {Program.LWS: "/manager", Program.KWOK: "/kwok"}
_NOBODY = "65532:65532"


def find(
    program: Program, *, docker: Docker, environ: Mapping[str, str], progress: Progress
) -> str | Path:
    """The official image with the program, if Docker has it or can pull it, else the program, from
    which `build` makes one. Pulling it, or making the program, may take minutes the first time.
    Raises InfraError or UsageError."""
    registry = environ.get(REGISTRY_VARIABLE, REGISTRY).rstrip("/")
    if registry:
        image = f"{registry}/{IMAGES[program]}"
        if docker.has_image(image):
            return image
        with progress.step(f"pulling {image}"):
            why = docker.pull(image)
        if why is None:
            return image
        progress.say(f"{image} cannot be pulled ({why}); it is built from {program.value}")
    return ensure_one(program, environ, progress)


def name_of(program: Program, source: str | Path) -> str:
    """The name of the image that `find` found, or that `build` makes of a program."""
    if isinstance(source, str):
        return source
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    return f"dgd-conformance/{program.value}:{PINS[program].version}-{digest}"


def build(program: Program, source: Path, *, name: str, docker: Docker) -> None:
    """Have an image of that program alone: it is static, and needs nothing beside it. Takes a
    second or two. Raises InfraError."""
    if docker.has_image(name):
        return
    command = _COMMANDS[program]
    with tempfile.TemporaryDirectory(prefix="dgd-conformance-image-") as directory:
        target = Path(directory, command.removeprefix("/"))
        # A second name for the file where the file system allows, since it is large.
        with contextlib.suppress(OSError):
            os.link(source, target)
        if not target.exists():
            shutil.copy(source, target)
        Path(directory, "Dockerfile").write_text(
            f'FROM scratch\nCOPY {target.name} {command}\nUSER {_NOBODY}\nENTRYPOINT ["{command}"]\n',
            encoding="utf-8",
        )
        docker.build(name, Path(directory))
