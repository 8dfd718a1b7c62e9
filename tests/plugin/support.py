"""Runs of pytest within tests, and what they said."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

CASES = '''
from conformance.suite import Feature, Trial, case, every_version

@case(feature="add")
def test_good(trial):
    """Multinode is added, and the Deployment goes."""
    trial.good()

@case(feature="restart", needs=[Feature.RESTART], disruptive=True)
def test_kill(trial):
    """An operator that is killed finishes the work."""
    trial.good()

@case(feature="restart", needs=[Feature.RESTART], disruptive=True)
def test_stop(trial):
    """An operator that is stopped finishes the work."""
    trial.good()

@case(feature="deploy")
@every_version()
def test_deploy(trial, version):
    """A graph
    becomes Deployments.

    In each version."""
    trial.good()
'''


def profile(directory: Path, name: str = "mine", **fields: object) -> Path:
    """A small profile of an operator that needs nothing."""
    data = {
        "identity": {"name": name},
        "versions": ["v1beta1", "v1alpha1"],
        "install": {"command": ["true"]},
        **fields,
    }
    path = directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def told(result: pytest.RunResult) -> list[str]:
    """The lines on stderr that say something."""
    return [line for line in result.stderr.lines if line.strip()]


def usage_error(result: pytest.RunResult) -> str:
    """The one sentence of a mistake in the command line: exit 4, no traceback."""
    lines = told(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.outlines + lines
    assert len(lines) == 1, lines
    assert "Traceback" not in result.stdout.str() + lines[0]
    return lines[0].removeprefix("ERROR: ")


def fake_run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A whole run in a process of its own, on clusters that are none (tests/plugin/fake_run.py)."""
    return pytester.runpytest_subprocess(
        "-p", "tests.plugin.fake_run", "-p", "no:cacheprovider", *arguments, timeout=120
    )


def log(pytester: pytest.Pytester) -> list[str]:
    """What clusters and cases told during a fake run, in order."""
    return (pytester.path / "results" / "told.log").read_text().splitlines()
