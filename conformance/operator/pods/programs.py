"""Programs of the user's machine that an installation needs: docker, kubectl, helm, pip. With docker
the operator's image is built from its Dockerfile, if it has one, and loaded where it can be."""

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

from conformance.model.errors import InfraError, UsageError

BASE_VARIABLE = "DGD_CONFORMANCE_PYTHON_IMAGE"
"""Environment variable with the Python image that built images start from."""
DEFAULT_BASE = "python:3.13-slim"
BUILD_SECONDS = 600.0
"""The base may have to be pulled."""
_WHEELS = "wheels"

_DROPPED = ("KUBECONFIG", "HELM_KUBE", "HELM_NAMESPACE")
"""How variables begin that would lead to another cluster than the run's."""

_GET_IT = {
    "docker": "install Docker, or give a built image (--operator-image=REFERENCE)",
    "helm": "install Helm 3.13 or newer (https://helm.sh/docs/intro/install)",
    "kubectl": "install kubectl (https://kubernetes.io/docs/tasks/tools)",
}


def run(
    program: str,
    *arguments: str,
    doing: str,
    within: float,
    error: type[UsageError | InfraError] = InfraError,
) -> str:
    """What a program printed that is on PATH or given by its path. `within`: seconds. Raises UsageError
    if it is not there, `error` with its last words if it fails, InfraError if the time is up."""
    found = shutil.which(program)
    if found is None:
        raise UsageError(f"{doing} needs `{program}`, which is not on PATH: {_GET_IT[program]}")
    env = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    try:
        return subprocess.check_output(
            [found, *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=within,
        )
    except subprocess.TimeoutExpired as expired:
        raise InfraError(f"{doing} did not finish within {within:.0f} s") from expired
    except subprocess.CalledProcessError as failed:
        words = _last_words(failed.stderr) or _last_words(failed.stdout)
        raise error(f"{doing} failed: {words}") from None
    except OSError as failed:
        raise error(f"{doing} failed: {failed}") from failed


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:])[-600:]


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
    with contextlib.suppress(UsageError, InfraError):
        run("docker", "image", "inspect", image, doing="looking for an image", within=BUILD_SECONDS)
        return True
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
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return f"{name}=={importlib.metadata.version(name)}"
    return name
