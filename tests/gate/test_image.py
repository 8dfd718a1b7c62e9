"""The suite's image, with a Docker that only writes down what it is asked for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import __version__
from tests.gate.support import CI, ROOT, environment, executable, run

MINOR = "{}.{}".format(*sys.version_info)
BUILD = CI / "image" / "build.sh"


def docker(tmp_path: Path, *, says: str = MINOR) -> Path:
    """`run` prints the version of Python in the base; `build` keeps a copy of its context."""
    return executable(
        tmp_path / "docker",
        f"""#!{sys.executable}
import json, shutil, sys
with open({str(tmp_path / "docker.jsonl")!r}, "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
if sys.argv[1] == "build":
    shutil.copytree(sys.argv[-1], {str(tmp_path / "context")!r}, symlinks=True)
elif "-v" not in sys.argv:
    print({says!r})
""",
    )


def pip(tmp_path: Path) -> Path:
    """An interpreter whose pip downloads two empty wheels, and builds a third."""
    return executable(
        tmp_path / "python",
        f"""#!{sys.executable}
import json, os, pathlib, sys
words = sys.argv[1:]
with open({str(tmp_path / "pip.jsonl")!r}, "a") as file:
    print(json.dumps(words), file=file)
if words[:3] == ["-m", "pip", "download"]:
    for name in ("pytest-9.2.0", "rich-15.0.0"):
        pathlib.Path(words[words.index("-d") + 1], f"{{name}}-py3-none-any.whl").touch()
elif words[:3] == ["-m", "pip", "wheel"]:
    folder = words[words.index("--wheel-dir") + 1]
    pathlib.Path(folder, "dgd_conformance-1-py3-none-any.whl").touch()
else:
    os.execv(sys.executable, [sys.executable, *words])
""",
    )


def build(tmp_path: Path, *arguments: str, says: str = MINOR) -> subprocess.CompletedProcess[str]:
    return run(
        BUILD, *arguments, cwd=tmp_path,
        env=environment(
            PYTHON=str(pip(tmp_path)), DOCKER=str(docker(tmp_path, says=says)),
            BASE="example/python:offline", WHEELHOUSE=str(tmp_path / "wheels"),
        ),
    )  # fmt: skip


def lines(path: Path) -> list[list[str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_context_has_wheels_scripts_and_nothing_of_the_network(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"dgd-conformance:{__version__}\n"
    context = tmp_path / "context"
    assert sorted(path.name for path in (context / "wheelhouse").iterdir()) == [
        "dgd_conformance-1-py3-none-any.whl", "pytest-9.2.0-py3-none-any.whl",
        "rich-15.0.0-py3-none-any.whl",
    ]  # fmt: skip
    assert list((context / "cache").iterdir()) == []
    for script in CI.rglob("*.sh"):
        copied = context / "ci" / script.relative_to(CI)
        assert copied.read_text() == script.read_text()
        assert os.access(copied, os.X_OK) == os.access(script, os.X_OK)
    (call,) = (call for call in lines(tmp_path / "docker.jsonl") if call[0] == "build")
    assert call[:7] == [
        "build", "--quiet", "--build-arg", "BASE=example/python:offline", "-t",
        f"dgd-conformance:{__version__}", "-f",
    ]  # fmt: skip
    fetched = lines(tmp_path / "pip.jsonl")
    (download,) = (call for call in fetched if call[:3] == ["-m", "pip", "download"])
    assert "--require-hashes" in download
    assert str(ROOT / "requirements.lock") in download


def test_wheels_for_another_python_are_fetched_within_the_base(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    done = build(tmp_path, "mine:1", says="3.99")
    assert done.returncode == 0, done.stderr
    assert not any(call[:3] == ["-m", "pip", "download"] for call in lines(tmp_path / "pip.jsonl"))
    (fetch,) = (call for call in lines(tmp_path / "docker.jsonl") if "-v" in call)
    assert fetch[-6:] == ["--only-binary=:all:", "--require-hashes", "-r", "/requirements.lock",
                          "-d", "/wheelhouse"]  # fmt: skip
    assert done.stdout == "mine:1\n"


def test_a_base_that_cannot_be_run_is_told_in_a_sentence(tmp_path: Path) -> None:
    broken = executable(tmp_path / "broken", "#!/bin/sh\nexit 125\n")
    done = run(
        BUILD,
        cwd=tmp_path,
        env=environment(DOCKER=str(broken), BASE="none:1", PYTHON=sys.executable),
    )
    assert done.returncode == 4
    assert done.stderr == "error: none:1 cannot be run, or holds no python3; set BASE\n"


def test_programs_are_laid_out_as_the_suites_cache_has_them(tmp_path: Path) -> None:
    from conformance.cluster.programs import sources
    from conformance.cluster.programs.pins import Program

    done = build(tmp_path, "--with-programs", "mine:2")
    assert done.returncode == 0, done.stderr
    cache = tmp_path / "context" / "cache" / "dgd-conformance" / "programs"
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "context" / "cache")}
    found = sources.look_around(environ, note=lambda text: pytest.fail(text))
    assert set(found) == set(Program)
    assert len(list(cache.glob("lws-*/crds.json"))) == 1
    shutil.rmtree(tmp_path / "context")


def test_the_dockerfile_fetches_nothing_and_runs_as_nobody_in_particular() -> None:
    text = (CI / "image" / "Dockerfile").read_text()
    steps = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert steps[0].startswith("ARG BASE=")
    assert sum(step.startswith("FROM ${BASE}") for step in steps) == 2
    assert "--no-index" in text
    assert not any(word in text for word in ("apt", "curl", "wget", "ADD "))
    user = next(step.split()[1] for step in reversed(steps) if step.startswith("USER"))
    assert user.split(":")[0].isdigit()
    assert user != "0:0"
