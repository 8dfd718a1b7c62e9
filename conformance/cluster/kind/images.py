"""The images of KWOK and the LeaderWorkerSet controller: official, or built from the programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.pins import IMAGES, REGISTRY, REGISTRY_VARIABLE
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure_one
from conformance.cluster.programs.progress import Progress

_COMMANDS = {Program.LWS: "/manager", Program.KWOK: "/kwok"}
_NOBODY = "65532:65532"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The image of a program; `source` is what it is built from, None for an official one."""

    program: Program
    name: str
    source: Path | None = None

    def build(self, docker: Docker) -> None:
        """Have Docker know it: it holds the program alone, which is static. Takes a second or two.
        Raises InfraError."""
        if self.source is None or docker.has_image(self.name):
            return
        command = _COMMANDS[self.program]
        with tempfile.TemporaryDirectory(prefix="dgd-conformance-image-") as directory:
            target = Path(directory, command.removeprefix("/"))
            # A second name for the file where the file system allows, since it is large.
            with contextlib.suppress(OSError):
                os.link(self.source, target)
            if not target.exists():
                shutil.copy(self.source, target)
            Path(directory, "Dockerfile").write_text(
                f"FROM scratch\nCOPY {target.name} {command}\n"
                f'USER {_NOBODY}\nENTRYPOINT ["{command}"]\n',
                encoding="utf-8",
            )
            docker.build(self.name, Path(directory))


def find(
    program: Program, *, docker: Docker, environ: Mapping[str, str], progress: Progress
) -> Image:
    """The official image, if Docker has it or can pull it, else one to be built. Pulling it, or
    making the program, may take minutes the first time. Raises InfraError or UsageError."""
    registry = environ.get(REGISTRY_VARIABLE, REGISTRY).rstrip("/")
    if registry:
        image = f"{registry}/{IMAGES[program]}"
        why = None
        if not docker.has_image(image):
            with progress.step(f"pulling {image}"):
                why = docker.pull(image)
        if why is None:
            return Image(program=program, name=image)
        progress.say(f"{image} cannot be pulled ({why}); it is built from {program.value}")
    source = ensure_one(program, environ, progress)
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    name = f"dgd-conformance/{program.value}:{PINS[program].version}-{digest}"
    return Image(program=program, name=name, source=source)
