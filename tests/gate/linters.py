"""Linters of the gate's files: two from PyPI (they ship their binary or are Python), one built from its
Go module (the wheel of actionlint downloads when it is installed)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import filelock

from conformance.cluster.programs.go import Toolchain
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import cache_root

_MODULE = Path(__file__).parent / "actionlint"


def tool(name: str) -> str:
    """A program of the development group."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is not installed; install the development group (make lock, make lint)"
    return found


def check_schema(schema: str, path: Path) -> None:
    """Validate a YAML file against a schema that check-jsonschema ships."""
    command = [tool("check-jsonschema"), "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def actionlint() -> Path:
    """The program, built once a version and kept in the suite's cache."""
    match = re.search(r"rhysd/actionlint (v\S+)", (_MODULE / "go.mod").read_text())
    assert match
    folder = cache_root(os.environ).parent / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"actionlint-{match[1]}"
    with filelock.FileLock(folder / ".lock"):
        if not target.exists():
            go = Toolchain(environ=os.environ, progress=Progress())
            part = target.with_suffix(".part")
            command = [str(go.executable), "build", "-o", str(part)]
            done = subprocess.run(
                [*command, "github.com/rhysd/actionlint/cmd/actionlint"], cwd=_MODULE,
                env=go.environment, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            part.rename(target)
    return target


def lint_workflow(path: Path) -> None:
    """A workflow, with the shell in it."""
    command = [str(actionlint()), "-no-color", "-shellcheck", tool("shellcheck"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=path.parent)
    assert done.returncode == 0, done.stdout + done.stderr
