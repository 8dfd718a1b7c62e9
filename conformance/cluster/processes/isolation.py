"""Files at fixed paths for one process only, in a mount namespace of its own: some operators read a
path that only a pod has, and two operators with the same path run side by side."""

import functools
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.cluster.certificates import write_private
from conformance.cluster.processes import private_files
from conformance.cluster.processes.reaper_process import script_command
from conformance.model.errors import UsageError

_LAUNCHER = tuple(script_command(private_files.__file__))


@functools.cache
def refusal() -> str | None:
    """Why this machine gives no private mount namespace; None if it does."""
    tried = subprocess.run([*_LAUNCHER, "-"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    return tried.stderr.strip() or f"the attempt ended with code {tried.returncode}"


def with_private_files(
    argv: Sequence[str], *, files: Mapping[str, bytes], staging: Path, what: str
) -> list[str]:
    """The command that runs `argv` with `files` (absolute path → content) visible to it alone.

    The directory of a file is covered: the process sees in it the given files and no others.
    `staging` is a private directory for the contents; `what` names the process in errors. Raises
    UsageError if a path is not a plain absolute one, its directory is one that the whole system
    needs, or the machine gives no mount namespace."""
    if not files:
        return list(argv)
    for path in files:
        if not os.path.isabs(path) or os.path.normpath(path) != path:
            raise UsageError(f"{what}: a private file needs a plain absolute path, found {path!r}")
        folder = os.path.dirname(path)
        if folder.count("/") < 2:
            raise UsageError(
                f"{what}: {path} cannot be private, since all of {folder} would be hidden from the "
                "process; expected a file at least two directories deep"
            )
    why = refusal()
    if why is not None:
        raise UsageError(
            f"{what} needs files at fixed paths ({', '.join(files)}), which takes a private mount "
            f"namespace, and this machine gives none ({why}): run as root, or with CAP_SYS_ADMIN"
        )
    staging.mkdir(mode=0o700, parents=True, exist_ok=True)
    # JSON has no bytes; each of them is one character of Latin-1.
    contents = {path: content.decode("latin-1") for path, content in files.items()}
    spec = write_private(staging / "files.json", json.dumps(contents).encode())
    return [*_LAUNCHER, str(spec), *argv]
