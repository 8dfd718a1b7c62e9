"""Where an operator's image comes from; docker and pip are stand-ins that note what they are asked."""

import importlib.metadata
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.model.errors import UsageError
from conformance.operator.pods import operator_image
from conformance.operator.pods.operator_image import fetch_wheels, provide

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a shell script on PATH, and gives the file in which it notes its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(name: str, script: str) -> Path:
        log = tmp_path / f"{name}.log"
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "$@" >> {log}\n{script}\n', encoding="utf-8")
        path.chmod(0o755)
        return log

    return put


def refused(image: str) -> None:
    raise UsageError(f"{image}: this cluster takes no images")


def test_local_image_is_loaded(program: Program) -> None:
    program("docker", "exit 0")
    loaded: list[str] = []
    assert provide(image="op:1", dockerfile=None, load=loaded.append) == "op:1"
    assert loaded == ["op:1"]


@pytest.mark.parametrize("engine", ["exit 1", None])
def test_image_that_is_not_local_is_left_to_the_nodes(
    program: Program, monkeypatch: pytest.MonkeyPatch, engine: str | None
) -> None:
    if engine is None:
        monkeypatch.setenv("PATH", "/nowhere")
    else:
        program("docker", engine)
    assert provide(image="op:1", dockerfile=None, load=refused) == ""


def test_local_image_of_a_cluster_that_takes_none_is_pulled_like_any_other(
    program: Program,
) -> None:
    program("docker", "exit 0")
    assert provide(image="op:1", dockerfile=None, load=refused) == ""


@pytest.fixture
def dockerfile(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "code.py").write_text("", encoding="utf-8")
    (folder / "Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n", encoding="utf-8")
    return folder / "Dockerfile"


def test_image_is_built_from_a_copy_on_the_base_of_the_environment(
    program: Program, dockerfile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DGD_CONFORMANCE_PYTHON_IMAGE", "own/python:1")
    # The context is gone after the build, so that the stand-in looks into it.
    log = program("docker", 'for last; do :; done; ls "$last" >> "$0.context"')
    loaded: list[str] = []
    assert provide(image="op:1", dockerfile=dockerfile, load=loaded.append) == "op:1"
    assert loaded == ["op:1"]
    told = log.read_text(encoding="utf-8")
    assert told.startswith("build --quiet --tag op:1 --build-arg BASE=own/python:1 --file ")
    context = (log.parent / "bin" / "docker.context").read_text(encoding="utf-8").split()
    assert context == ["Dockerfile", "code.py", "wheels"]
    assert sorted(path.name for path in dockerfile.parent.iterdir()) == ["Dockerfile", "code.py"]


def test_wheels_of_the_requirements_are_fetched_in_the_versions_that_run_here(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = program("python", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("# why\nurllib3>=2  # newer\nno-such-thing\n", encoding="utf-8")
    fetch_wheels(requirements, tmp_path / "wheels")
    version = importlib.metadata.version("urllib3")
    told = log.read_text(encoding="utf-8").split()
    assert told[-2:] == [f"urllib3=={version}", "no-such-thing"]
    assert "--no-deps" in told


def test_failed_build_is_told_in_the_engines_words(program: Program, dockerfile: Path) -> None:
    program("docker", "echo 'pull access denied for base' >&2; exit 1")
    with pytest.raises(UsageError, match=r"building op:1 .* failed: pull access denied for base"):
        provide(image="op:1", dockerfile=dockerfile, load=refused)


def test_build_without_an_engine_says_what_to_install(
    dockerfile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="needs `docker`, which is not on PATH: install Docker"):
        provide(image="op:1", dockerfile=dockerfile, load=refused)


def test_built_image_that_cannot_be_loaded_is_an_error(program: Program, dockerfile: Path) -> None:
    program("docker", "exit 0")
    with pytest.raises(UsageError, match="this cluster takes no images"):
        provide(image="op:1", dockerfile=dockerfile, load=refused)


def test_base_is_a_public_image_unless_another_is_named(
    program: Program, dockerfile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(operator_image.BASE_VARIABLE, raising=False)
    log = program("docker", "exit 0")
    provide(image="op:1", dockerfile=dockerfile, load=lambda image: None)
    assert "--build-arg BASE=python:3.13-slim " in log.read_text(encoding="utf-8")
    assert os.environ.get(operator_image.BASE_VARIABLE) is None
