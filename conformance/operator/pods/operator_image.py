"""Builds the operator's image from its Dockerfile if it has one, and loads it where it can."""

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from conformance.model.errors import UsageError
from conformance.operator.pods.commands import run

BASE_VARIABLE = "DGD_CONFORMANCE_PYTHON_IMAGE"
"""Environment variable with the Python image that built images start from."""
DEFAULT_BASE = "python:3.13-slim"
BUILD_SECONDS = 600.0
"""The base may have to be pulled."""
_WHEELS = "wheels"


def provide(*, image: str, dockerfile: Path | None, load: Callable[[str], None]) -> str:
    """Give the cluster the image. Returns it if the nodes have it now, else nothing: they pull it.

    With a Dockerfile it is built first and must be loaded; else it is loaded if the local container
    engine has it. `image` may be empty. Raises UsageError.
    """
    if dockerfile is not None:
        _build(image, dockerfile)
        load(image)
        return image
    if image and _is_local(image):
        # A cluster that takes no images pulls this one like any other; if it cannot, its pods say so.
        with contextlib.suppress(UsageError):
            load(image)
            return image
    return ""


def fetch_wheels(requirements: Path, target: Path) -> None:
    """The wheels of the packages that a file names, in the versions that run here, so that a build
    needs no network and gives what was tested. Raises UsageError."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    names = (re.split(r"[\s<>=!~;\[#]", line.strip(), maxsplit=1)[0] for line in lines)
    pinned = [_pinned(name) for name in names if name]
    command = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(target), *pinned]
    doing = f"fetching the wheels for an image ({', '.join(pinned)})"
    run(sys.executable, *command, doing=doing, within=BUILD_SECONDS, error=UsageError)


def _is_local(image: str) -> bool:
    """True if there is a local container engine that has the image."""
    try:
        command = ["docker", "image", "inspect", "--format", "{{.Id}}", image]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _build(image: str, dockerfile: Path) -> None:
    """The context is a copy of the Dockerfile's folder, with the wheels beside it, so that nothing is
    written there."""
    base = os.environ.get(BASE_VARIABLE) or DEFAULT_BASE
    with tempfile.TemporaryDirectory(prefix="dgd-conformance-image-") as folder:
        context = Path(folder) / "context"
        ignored = shutil.ignore_patterns("__pycache__", ".*", _WHEELS)
        shutil.copytree(dockerfile.parent, context, ignore=ignored)
        # Not every Dockerfile asks for wheels, but each may copy the directory.
        (context / _WHEELS).mkdir()
        requirements = context / "requirements.txt"
        if requirements.is_file():
            fetch_wheels(requirements, context / _WHEELS)
        command = ["build", "--quiet", "--tag", image, "--build-arg", f"BASE={base}"]
        command += ["--file", str(context / dockerfile.name), str(context)]
        doing = f"building {image} from {dockerfile} on {base} ({BASE_VARIABLE} names another base)"
        run("docker", *command, doing=doing, within=BUILD_SECONDS, error=UsageError)


def _pinned(name: str) -> str:
    try:
        return f"{name}=={importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name
