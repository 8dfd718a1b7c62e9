from pathlib import Path

import pytest

from conformance.cluster.kind.options import (
    DEFAULT_KUBERNETES,
    NODE_IMAGES,
    KindOptions,
    find_tools,
)
from conformance.cluster.programs.pins import PINS, Program
from conformance.model.errors import UsageError
from tests.kind.fakes import Machine


def test_programs_come_from_path(machine: Machine) -> None:
    tools = machine.tools()
    assert tools.kind == machine.bin / "kind"
    assert tools.kubectl == machine.bin / "kubectl"
    assert tools.docker == machine.bin / "docker"


def test_a_given_program_goes_before_path(machine: Machine, tmp_path: Path) -> None:
    mine = tmp_path / "my-kind"
    mine.write_text("#!/bin/sh\n", encoding="utf-8")
    mine.chmod(0o755)
    assert machine.tools(KindOptions(kind=mine)).kind == mine


def test_all_that_is_missing_is_told_at_once(machine: Machine) -> None:
    for program in ("kind", "docker"):
        (machine.bin / program).unlink()
    with pytest.raises(UsageError) as raised:
        machine.tools()
    assert "kind (install" in str(raised.value)
    assert "--kind-bin=PATH" in str(raised.value)
    assert "docker (install" in str(raised.value)
    assert "kubectl (install" not in str(raised.value)


def test_a_given_path_must_be_a_program(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--kind-kubectl-bin=.* is not an executable file"):
        machine.tools(KindOptions(kubectl=tmp_path))


def test_other_container_engines_are_refused(machine: Machine) -> None:
    environ = {**machine.environ, "KIND_EXPERIMENTAL_PROVIDER": "podman"}
    with pytest.raises(UsageError, match="KIND_EXPERIMENTAL_PROVIDER=podman"):
        find_tools(KindOptions(), environ)


@pytest.mark.parametrize("version", ["1.36", "v1.36", "1.36.4", "v1.36.0"])
def test_each_kubernetes_version_has_one_node_image(version: str) -> None:
    assert KindOptions(kubernetes=version).node_image == NODE_IMAGES["1.36"]


def test_an_unpinned_kubernetes_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        UsageError, match=r"Kubernetes 1\.19; expected one of 1\.37, .*--kind-image"
    ):
        KindOptions(kubernetes="1.19")


def test_the_given_image_wins() -> None:
    assert KindOptions(image="mine:1", kubernetes="1.19").node_image == "mine:1"


def test_both_kinds_of_cluster_run_the_same_kubernetes() -> None:
    embedded = PINS[Program.APISERVER].version
    assert embedded.startswith(f"{DEFAULT_KUBERNETES}.")
    for minor, image in NODE_IMAGES.items():
        assert image.startswith(f"kindest/node:v{minor}.")
        assert len(image.split("@sha256:")[1]) == 64


@pytest.mark.parametrize("name", ["Upper", "-a", "a_b", "a" * 50])
def test_a_name_that_no_host_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--cluster-name="):
        KindOptions(name=name)


@pytest.mark.parametrize("mirror", [{"docker.io": "mirror:5000"}, {"a/b": "https://m"}])
def test_a_mirror_needs_a_host_and_a_url(mirror: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="mirror"):
        KindOptions(mirrors=mirror)
