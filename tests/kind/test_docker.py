import time
from pathlib import Path

import pytest

from conformance.cluster.kind import docker as module
from conformance.cluster.kind.docker import Docker
from conformance.model.errors import InfraError, UsageError
from tests.kind.fakes import Machine, program_at


def test_a_daemon_that_answers_is_enough(machine: Machine) -> None:
    machine.docker.check()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is it running?", "start-dockerd.sh"),
        ("permission denied while trying to connect to the Docker API", "group docker"),
    ],
)
def test_a_daemon_that_cannot_be_used_is_told_with_what_to_do(
    machine: Machine, said: str, advice: str
) -> None:
    machine.set("info", f'["{said}"]\n')
    machine.set("info.code", "1")
    with pytest.raises(UsageError, match=advice):
        machine.docker.check()


def test_a_daemon_on_another_machine_is_refused(machine: Machine) -> None:
    docker = Docker(machine.bin / "docker", {**machine.environ, "DOCKER_HOST": "tcp://other:2375"})
    with pytest.raises(UsageError, match=r"DOCKER_HOST=tcp://other:2375"):
        docker.check()
    assert machine.calls("docker") == []


def test_a_daemon_that_hangs_is_told_in_seconds(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(Docker._run, "__kwdefaults__", {"timeout": 0.2})
    program_at(machine.bin / "docker", "#!/bin/sh\nexec sleep 30\n")
    began = time.monotonic()
    with pytest.raises(UsageError, match="does its daemon hang"):
        machine.docker.check()
    assert time.monotonic() - began < 10


def test_nodes_are_told_with_their_state_and_mounts(machine: Machine, tmp_path: Path) -> None:
    machine.run_node("a", tmp_path, status="exited", code=137)
    (node,) = machine.docker.nodes("a")
    assert (node.name, node.state, node.exit_code) == ("a-control-plane", "exited", 137)
    assert node.audit == tmp_path
    assert "label=io.x-k8s.kind.cluster=a" in machine.calls("docker")[0]


def test_no_container_is_no_node(machine: Machine) -> None:
    assert machine.docker.nodes() == []


def test_a_failed_command_in_a_container_is_told(machine: Machine) -> None:
    program_at(machine.bin / "docker", "#!/bin/sh\necho no such file >&2\nexit 7\n")
    with pytest.raises(InfraError, match=r"^kubeadm in node failed with code 7: no such file$"):
        machine.docker.execute("node", ["kubeadm", "init"])


def test_why_an_image_cannot_be_pulled_is_told(machine: Machine) -> None:
    assert machine.docker.pull("example.com/a:1") == "no such host"
    assert not machine.docker.has_image("example.com/a:1")
    machine.set("registry")
    assert machine.docker.pull("example.com/a:1") is None
    assert machine.docker.has_image("example.com/a:1")
