"""Runs the programs of the user's machine that an installation needs: docker, kubectl, helm, pip."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from conformance.model.errors import InfraError, UsageError

_DROPPED = (
    "KUBECONFIG",
    "HELM_KUBECONTEXT",
    "HELM_KUBEAPISERVER",
    "HELM_KUBETOKEN",
    "HELM_NAMESPACE",
)
"""Variables that would lead to another cluster than the run's."""


def find(program: str, *, needed_for: str, get_it: str) -> str:
    """The program on PATH. Raises UsageError that says what it is needed for and how to get it."""
    found = shutil.which(program)
    if found is None:
        raise UsageError(f"{needed_for} needs `{program}`, which is not on PATH: {get_it}")
    return found


def run(
    command: Sequence[str],
    *,
    doing: str,
    within: float,
    error: type[UsageError | InfraError] = InfraError,
) -> str:
    """What the program printed. `within`: seconds. Raises `error` with its last words if it fails, and
    InfraError if the time is up."""
    env = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    try:
        ended = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=True,
        )
    except subprocess.TimeoutExpired as expired:
        raise InfraError(f"{doing} did not finish within {within:.0f} s") from expired
    except subprocess.CalledProcessError as failed:
        words = _last_words(failed.stderr) or _last_words(failed.stdout)
        raise error(f"{doing} failed: {words}") from None
    except OSError as failed:
        raise error(f"{doing} failed: {failed}") from failed
    return ended.stdout


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:])[-600:]
