"""What pytest-kind gets wrong when it is used as documented, and does not get wrong here."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.pytest_kind import Kind, KindClusterClass
from conformance.model.errors import InfraError, UsageError
from tests.kind.fakes import KUBECONFIG, Machine
from tests.processes import alive


@pytest.fixture
def directory(machine: Machine) -> KindDirectory:
    directory = KindDirectory(machine.root / "home" / "a-cluster")
    directory.path.mkdir(parents=True)
    directory.config.write_text("kind: Cluster\n", encoding="utf-8")
    return directory


@pytest.fixture
def kind(machine: Machine, directory: KindDirectory, cluster_class: KindClusterClass) -> Kind:
    return Kind(
        cluster_class, directory=directory, tools=machine.tools(), image="kindest/node:mine"
    )


def test_nothing_is_downloaded(
    machine: Machine, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIND_DOWNLOAD_URL", "http://127.0.0.1:1/kind")
    monkeypatch.setenv("KUBECTL_DOWNLOAD_URL", "http://127.0.0.1:1/kubectl")
    kind.create()
    assert kind.kubectl("get", "pods") == "kubectl get pods\n"
    assert len(machine.calls("kind")) == 2


def test_no_file_appears_in_the_current_directory(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    monkeypatch.chdir(empty)
    kind.create()
    kind.delete()
    assert list(empty.iterdir()) == []


def test_the_cluster_has_the_name_and_the_configuration_that_it_was_given(
    machine: Machine, kind: Kind, directory: KindDirectory
) -> None:
    kind.create()
    assert machine.calls("kind")[-1] == (
        f"create cluster --name=a-cluster --kubeconfig={directory.admin} "
        f"--image=kindest/node:mine --config {directory.config}"
    )


def test_a_cluster_is_used_again_with_a_whole_kubeconfig(
    machine: Machine, kind: Kind, directory: KindDirectory
) -> None:
    machine.run_node("a-cluster", directory.audit)
    directory.admin.touch()  # as one of another directory leaves it
    kind.reuse()
    assert directory.admin.read_text(encoding="utf-8") == KUBECONFIG
    assert not [call for call in machine.calls("kind") if call.startswith("create")]


def test_only_the_own_kubeconfig_is_emptied_at_the_end(
    machine: Machine, kind: Kind, directory: KindDirectory
) -> None:
    kind.delete()
    assert machine.calls("kind") == [
        f"delete cluster --name=a-cluster --kubeconfig={directory.admin}"
    ]


def test_logs_go_through_kind(machine: Machine, kind: Kind, tmp_path: Path) -> None:
    kind.export_logs(tmp_path / "logs")
    assert machine.calls("kind") == [
        f"export logs {tmp_path / 'logs'} --name=a-cluster",
    ]


def test_an_error_of_kind_is_told_in_its_own_words(machine: Machine, kind: Kind) -> None:
    machine.set("refusal", "Stack Trace:\nERROR: failed to create cluster: no space left\nmore\n")
    with pytest.raises(InfraError, match=r"code 1: failed to create cluster: no space left$"):
        kind.create()


def test_an_older_error_is_not_told_again(
    machine: Machine, kind: Kind, directory: KindDirectory
) -> None:
    directory.log.write_text("ERROR: of yesterday\n", encoding="utf-8")
    machine.set("refusal", "something else\n")
    with pytest.raises(InfraError, match=r"something else$"):
        kind.create()


def test_a_node_image_that_cannot_be_pulled_is_a_matter_of_the_option(
    machine: Machine, kind: Kind
) -> None:
    machine.set("refusal", 'ERROR: failed to create cluster: failed to pull image "x": denied\n')
    with pytest.raises(UsageError, match="--kind-image"):
        kind.create()


def test_what_kubectl_says_about_an_error_is_told(
    machine: Machine, directory: KindDirectory, cluster_class: KindClusterClass
) -> None:
    kubectl = machine.bin / "kubectl"
    kubectl.write_text("#!/bin/sh\necho not so >&2\nexit 3\n", encoding="utf-8")
    kind = Kind(cluster_class, directory=directory, tools=machine.tools(), image="x")
    with pytest.raises(InfraError, match=r"code 3: not so$"):
        kind.kubectl("kustomize", "/nowhere")


def test_the_version_is_the_programs(kind: Kind) -> None:
    assert kind.version() == "0.33.0"


def test_kind_is_not_heard_but_kept(
    kind: Kind, directory: KindDirectory, capfd: pytest.CaptureFixture[str]
) -> None:
    kind.create()
    assert capfd.readouterr() == ("", "")
    assert "Creating cluster" in directory.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_kind_ends_with_the_process_that_runs_it(
    machine: Machine, kind: Kind, directory: KindDirectory, number: signal.Signals
) -> None:
    machine.set("slow")
    owner = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])",
         str(directory.launcher), "create", "cluster"],
    )  # fmt: skip
    pid = int(_content(machine.state / "pid"))
    os.kill(owner.pid, number)
    owner.wait()
    end = time.monotonic() + 20
    while alive(pid):
        assert time.monotonic() < end, "kind still runs"
        time.sleep(0.02)


def _content(path: Path) -> str:
    end = time.monotonic() + 20
    while not (path.exists() and path.read_text(encoding="utf-8").strip()):
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.02)
    return path.read_text(encoding="utf-8")


def test_a_kubeconfig_that_says_nothing_is_no_traceback(
    machine: Machine, kind: Kind, directory: KindDirectory
) -> None:
    machine.run_node("a-cluster", directory.audit)
    directory.admin.touch()
    with pytest.raises(InfraError, match="creating the kind cluster a-cluster failed"):
        kind.create()
