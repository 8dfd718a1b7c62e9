"""Runs the programs of the user's machine that an installation needs: docker, kubectl, helm, pip."""

import os
import shutil
import subprocess

from conformance.model.errors import InfraError, UsageError

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
        ended = subprocess.run(
            [found, *arguments],
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
