"""`python -m conformance cleanup` on this machine, with a Docker that is none."""

from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.cluster import cleanup_command
from conformance.cluster.kind import Docker, directories
from conformance.cluster.kind.directories import LeftoverCluster


class Machine:
    def __init__(self, *left: LeftoverCluster) -> None:
        self.left = list(left)
        self.stuck: set[str] = set()

    def find(self, _docker: object) -> list[LeftoverCluster]:
        return list(self.left)

    def sweep(self, _docker: object, *, kept: bool) -> list[LeftoverCluster]:
        gone = [r for r in self.left if (kept or not r.kept) and r.name not in self.stuck]
        self.left = [row for row in self.left if row not in gone]
        return gone


def cluster(name: str, *, kept: bool = False) -> LeftoverCluster:
    return LeftoverCluster(directory=Path(name), kept=kept, containers=(f"{name}-node",))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(cluster("killed"), cluster("mine", kept=True))
    monkeypatch.setattr(cleanup_command.shutil, "which", lambda *_a, **_k: "/bin/docker")
    monkeypatch.setattr(Docker, "check", lambda _self: None)
    monkeypatch.setattr(directories, "find", made.find)
    monkeypatch.setattr(directories, "sweep", made.sweep)
    return made


def test_what_killed_runs_left_goes_and_what_was_kept_stays(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cleanup"]) == 0
    assert [row.name for row in machine.left] == ["mine"]
    said = capsys.readouterr().out
    assert "left alone: kind cluster mine (mine-node): kept by --keep-cluster; --all" in said
    assert "removed 1 of 1" in said


def test_a_dry_run_removes_nothing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cleanup", "--dry-run"]) == 0
    assert len(machine.left) == 2
    assert "would remove: kind cluster killed" in capsys.readouterr().out


def test_all_takes_kept_clusters_too(machine: Machine) -> None:
    assert main(["cleanup", "--all"]) == 0
    assert machine.left == []


def test_what_stays_is_told_and_is_exit_1(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.stuck = {"killed"}
    assert main(["cleanup"]) == 1
    assert "still there: kind cluster killed" in capsys.readouterr().out


def test_a_kubeconfig_without_a_context_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["cleanup", "--kubeconfig=x"]) == 4
    assert "name the context to clean" in capsys.readouterr().err
