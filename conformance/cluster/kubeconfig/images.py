"""Images for a cluster that is not the suite's own: only kind can be given one directly."""

from __future__ import annotations

import shutil
import subprocess

from conformance.model.errors import InfraError, UsageError

LOAD_SECONDS = 300.0
"""Some images are a gigabyte."""


def load(image: str, *, context: str) -> None:
    """Load an image into the nodes of the kind cluster of a context. Raises UsageError if it is none
    (its context is not kind-NAME, or `kind` is not on PATH) or the image is not there."""
    name = context.removeprefix("kind-")
    program = shutil.which("kind")
    if name == context or program is None:
        why = "it is no kind cluster" if name == context else "kind is not on PATH"
        raise UsageError(
            f"the image {image} cannot be loaded into context {context} ({why}): push it to a registry "
            "that the cluster can pull from, and name it there"
        )
    try:
        done = subprocess.run(
            [program, "load", "docker-image", image, "--name", name],
            capture_output=True,
            text=True,
            timeout=LOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InfraError(
            f"kind did not load {image} into cluster {name} within {LOAD_SECONDS:g} s"
        ) from None
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise UsageError(
            f"kind could not load {image} into cluster {name}: {words[-1] if words else 'no reason'}"
        )
