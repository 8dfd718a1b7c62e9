"""The life of a cluster whose kind does little; the real one is in test_real_cluster.py."""

from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.kind.cluster import KindCluster
from conformance.cluster.kind.directories import KindDirectory, root
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.pytest_kind import KindClusterClass
from conformance.cluster.processes.owner import LOCK_NAME
from conformance.model.errors import InfraError, UsageError
from tests.kind.fakes import Machine


def cluster(
    machine: Machine, cluster_class: KindClusterClass, logs: Path | None = None, **options: Any
) -> KindCluster:
    return KindCluster(
        options=KindOptions(image="kindest/node:mine", **options),
        cluster_class=cluster_class,
        environ=machine.environ,
        logs=logs,
    )


@pytest.fixture(autouse=True)
def on_path(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-kind's own commands see this process' environment."""
    monkeypatch.setenv("PATH", machine.environ["PATH"])


def homes(machine: Machine) -> list[Path]:
    return list(root(machine.environ).iterdir())


def started(machine: Machine, verb: str) -> list[str]:
    return [call for call in machine.calls("kind") if call.startswith(f"{verb} cluster")]


def test_a_cluster_that_cannot_be_created_leaves_nothing(
    machine: Machine, cluster_class: KindClusterClass, tmp_path: Path
) -> None:
    machine.set("refusal", "ERROR: failed to create cluster: out of memory\n")
    logs = tmp_path / "logs"
    with pytest.raises(InfraError, match="out of memory"):
        cluster(machine, cluster_class, logs).start()
    assert homes(machine) == []
    assert len(started(machine, "delete")) == 1
    exported = [call for call in machine.calls("kind") if call.startswith("export logs")]
    assert len(exported) == 1
    assert "out of memory" in (logs / "kind.log").read_text(encoding="utf-8")


def test_each_run_has_a_cluster_of_its_own(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    machine.set("refusal", "ERROR: no\n")
    for _ in range(2):
        with pytest.raises(InfraError):
            cluster(machine, cluster_class).start()
    first, second = (call.split()[2] for call in started(machine, "create"))
    assert first.startswith("--name=dgd-conformance-")
    assert first != second


def test_a_cluster_of_another_maker_is_not_touched(
    machine: Machine, cluster_class: KindClusterClass, tmp_path: Path
) -> None:
    machine.run_node("theirs", tmp_path)
    for keep in (True, False):
        with pytest.raises(UsageError, match="was not made by this suite"):
            cluster(machine, cluster_class, name="theirs", keep=keep).start()
    assert machine.calls("kind") == []
    assert not any(call.startswith("rm") for call in machine.calls("docker"))


def test_a_kept_cluster_of_other_options_is_not_touched(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    directory = KindDirectory(root(machine.environ) / "mine")
    directory.path.mkdir(parents=True)
    directory.record_made({"keep": True, "fingerprint": "another", "made_at": 0.0})
    machine.run_node("mine", directory.audit)
    with pytest.raises(UsageError, match="kind delete cluster --name mine"):
        cluster(machine, cluster_class, name="mine").start()
    assert directory.path.exists()
    assert machine.calls("kind") == []
    assert not any(call.startswith("rm") for call in machine.calls("docker"))


def test_a_kept_cluster_that_does_not_run_any_more_is_made_anew(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    directory = KindDirectory(root(machine.environ) / "dgd-conformance")
    directory.path.mkdir(parents=True)
    directory.record_made({"keep": True, "fingerprint": "another", "made_at": 0.0})
    machine.run_node("dgd-conformance", directory.audit, status="exited")
    machine.set("refusal", "ERROR: seen\n")
    with pytest.raises(InfraError, match="seen"):
        cluster(machine, cluster_class, keep=True).start()
    assert any(call.startswith("rm --force") for call in machine.calls("docker"))
    assert homes(machine) == []


def test_what_was_left_behind_is_removed_at_the_start(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    old = KindDirectory(root(machine.environ) / "old")
    old.path.mkdir(parents=True)
    (old.path / LOCK_NAME).touch()
    machine.set("refusal", "ERROR: no\n")
    with pytest.raises(InfraError):
        cluster(machine, cluster_class).start()
    assert homes(machine) == []


def test_without_docker_nothing_is_begun(machine: Machine, cluster_class: KindClusterClass) -> None:
    machine.set("info", "Cannot connect to the Docker daemon")
    machine.set("info.code", "1")
    with pytest.raises(UsageError, match="running Docker daemon"):
        cluster(machine, cluster_class).start()
    assert not root(machine.environ).exists()
    assert machine.calls("kind") == []


def test_a_cluster_that_is_not_started_can_be_stopped_and_tells_nothing(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    idle = cluster(machine, cluster_class)
    idle.stop()
    for ask in (lambda: idle.kubeconfig, lambda: idle.versions, idle.failure, idle.kinds_changed):
        with pytest.raises(InfraError, match="not started"):
            ask()


def test_only_a_kept_cluster_is_no_throw_away(
    machine: Machine, cluster_class: KindClusterClass
) -> None:
    assert cluster(machine, cluster_class).throw_away
    assert not cluster(machine, cluster_class, keep=True).throw_away
