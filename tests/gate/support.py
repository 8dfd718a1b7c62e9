"""Runs, scripts and stand-ins for the tests of the gate."""

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "ci"

# By the hash of their ids, each of three shards has some of these.
CASES = '''
import pytest
from conformance.suite import Feature, case

@case(feature="add")
@pytest.mark.parametrize("number", range(5))
def test_good(trial, number):
    """Multinode is added, and the Deployment goes."""
    trial.good()

@case(feature="restart", needs=[Feature.RESTART], disruptive=True)
def test_kill(trial):
    """An operator that is killed finishes the work."""
    trial.good()

@case(feature="old", needs=[Feature.V1ALPHA1])
def test_old(trial):
    """An old graph becomes Deployments."""
    trial.good()

@case(feature="remove")
def test_bad(trial):
    """Multinode is removed, and the LeaderWorkerSet goes."""
    trial.bad()
'''


def environment(**more: str) -> dict[str, str]:
    """What a CI has, and nothing that these tests themselves run under."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DGD_", "CI_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHON": sys.executable, **more}


def run(
    *command: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    seconds: float = 120,
) -> subprocess.CompletedProcess[str]:
    """A command to its end, with what it printed."""
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=dict(env or environment()),
        capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def executable(path: Path, text: str) -> Path:
    """A script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def fake_python(path: Path) -> Path:
    """An interpreter that runs pytest on clusters that are none (tests/plugin/fake_run.py)."""
    return executable(
        path,
        f"""#!/bin/sh
case "$1 $2" in
  "-m pytest") shift 2
    exec {sys.executable} -m pytest -p tests.plugin.fake_run "$@" ;;
  *) exec {sys.executable} "$@" ;;
esac
""",
    )


def checkout(folder: Path) -> Path:
    """A checkout with our scripts and cases of its own."""
    (folder / "cases").mkdir(parents=True)
    (folder / "cases" / "test_mine.py").write_text(CASES)
    (folder / "ci").symlink_to(CI)
    return folder


def suite_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The cases above under the reference operator, in a process of its own."""
    if not (folder / "test_mine.py").exists():
        (folder / "test_mine.py").write_text(CASES)
    command = ["-m", "pytest", "-p", "tests.plugin.fake_run", "-p", "no:cacheprovider", "-q"]
    return run(sys.executable, *command, "test_mine.py", *arguments, cwd=folder)
