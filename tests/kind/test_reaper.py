import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cluster.kind import reaper
from conformance.cluster.kind.directories import Claim, KindDirectory, find, new_name, root, sweep
from conformance.cluster.processes.owner import LOCK_NAME, Owner
from conformance.model.errors import UsageError
from tests.kind.fakes import Machine

_OWNER = """
import sys, time
from pathlib import Path
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.directories import Claim, KindDirectory
claim = Claim(KindDirectory(Path(sys.argv[1])), Docker(Path(sys.argv[2]) / "docker"))
for word in sys.argv[3:]:
    claim.set_kept(word == "keep")
print("claimed", flush=True)
time.sleep(60)
"""


@pytest.fixture
def directory(machine: Machine) -> KindDirectory:
    return KindDirectory(root(machine.environ) / "a-cluster")


def owner_of(machine: Machine, directory: KindDirectory, *words: str) -> subprocess.Popen[str]:
    """Another process that uses the cluster."""
    command = [sys.executable, "-c", _OWNER, str(directory.path), str(machine.bin), *words]
    owner = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "claimed\n"
    return owner


def kill(owner: subprocess.Popen[str]) -> None:
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert owner.stdout is not None
    owner.stdout.close()


def eventually_gone(path: Path) -> None:
    end = time.monotonic() + 30
    while path.exists():
        assert time.monotonic() < end, f"{path} is still there"
        time.sleep(0.05)


def removed(machine: Machine) -> list[str]:
    return [call for call in machine.calls("docker") if call.startswith("rm ")]


def test_a_killed_owner_leaves_neither_container_nor_directory(
    machine: Machine, directory: KindDirectory
) -> None:
    owner = owner_of(machine, directory)
    machine.run_node("a-cluster", directory.audit)
    kill(owner)
    eventually_gone(directory.path)
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_container_that_comes_after_the_owners_death_is_removed_too(
    machine: Machine, directory: KindDirectory
) -> None:
    owner = owner_of(machine, directory)
    kill(owner)
    time.sleep(1)  # a `docker run` was under way
    machine.run_node("a-cluster", directory.audit)
    eventually_gone(directory.path)
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_kept_cluster_outlives_a_killed_owner(machine: Machine, directory: KindDirectory) -> None:
    owner = owner_of(machine, directory, "keep")
    machine.run_node("a-cluster", directory.audit)
    directory.record_made({"keep": True})
    kill(owner)
    claim = claim_when_free(machine, directory)
    claim.release()
    assert directory.path.exists()
    assert removed(machine) == []


@pytest.mark.parametrize("held", [False, True], ids=["closed", "held-by-a-copy"])
@pytest.mark.parametrize(
    ("said", "last"), [(b"keep\n", "keep"), (b"", "lose"), (b"keep\ndo", "keep")]
)
def test_the_last_word_of_an_owner_that_went_before_anybody_looked_counts(
    said: bytes, last: str, held: bool
) -> None:
    """On a busy machine an owner was killed and collected before its reaper could watch it."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    ours, theirs = socket.socketpair()
    with theirs, ours:
        ours.sendall(said)
        if not held:
            ours.close()
        assert reaper.last_word(Owner(theirs, gone.pid), "lose") == last


def claim_when_free(machine: Machine, directory: KindDirectory) -> Claim:
    end = time.monotonic() + 20
    while True:
        try:
            return Claim(directory, machine.docker)
        except UsageError:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_kept_cluster_that_is_used_again_stays_kept_until_it_is_not(
    machine: Machine, directory: KindDirectory
) -> None:
    directory.path.mkdir(parents=True)
    machine.run_node("a-cluster", directory.audit)
    directory.record_made({"keep": True})
    kill(owner_of(machine, directory))
    claim_when_free(machine, directory).release()
    assert directory.path.exists()
    kill(owner_of(machine, directory, "lose"))
    eventually_gone(directory.path)
    assert len(removed(machine)) == 1


def test_a_removed_cluster_takes_its_directory_along(
    machine: Machine, directory: KindDirectory
) -> None:
    claim = Claim(directory, machine.docker)
    claim.done()
    assert not directory.path.exists()
    assert removed(machine) == []


def test_two_runs_do_not_use_one_cluster(machine: Machine, directory: KindDirectory) -> None:
    owner = owner_of(machine, directory)
    with pytest.raises(UsageError, match=rf"a-cluster is in use by process {owner.pid}:"):
        Claim(directory, machine.docker)
    assert directory.path.exists()
    kill(owner)
    eventually_gone(directory.path)


def test_what_a_run_in_use_has_is_no_leftover(machine: Machine, directory: KindDirectory) -> None:
    claim = Claim(directory, machine.docker)
    machine.run_node("a-cluster", directory.audit)
    assert find(machine.docker, machine.environ) == []
    assert sweep(machine.docker, machine.environ) == []
    claim.done()


def abandoned(machine: Machine, directory: KindDirectory) -> None:
    """As after a kill of owner and reaper."""
    directory.path.mkdir(parents=True)
    (directory.path / LOCK_NAME).write_text("1\n", encoding="utf-8")
    machine.run_node("a-cluster", directory.audit)


def test_the_next_run_removes_what_nobody_uses(machine: Machine, directory: KindDirectory) -> None:
    abandoned(machine, directory)
    (found,) = find(machine.docker, machine.environ)
    assert str(found) == (
        "kind cluster a-cluster (a-cluster-control-plane): its run ended without removing it"
    )
    assert sweep(machine.docker, machine.environ) == [found]
    assert not directory.path.exists()
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_container_whose_directory_is_gone_is_a_leftover(
    machine: Machine, directory: KindDirectory
) -> None:
    machine.run_node("a-cluster", directory.audit)
    assert [each.name for each in sweep(machine.docker, machine.environ)] == ["a-cluster"]
    assert len(removed(machine)) == 1


def test_a_kept_cluster_is_removed_only_if_it_is_asked_for(
    machine: Machine, directory: KindDirectory
) -> None:
    abandoned(machine, directory)
    directory.record_made({"keep": True})
    assert sweep(machine.docker, machine.environ) == []
    (found,) = find(machine.docker, machine.environ)
    assert found.kept
    assert sweep(machine.docker, machine.environ, kept=True) == [found]
    assert not directory.path.exists()


def test_another_users_cluster_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    machine.run_node("a-cluster", tmp_path / "other" / "a-cluster" / "audit")
    assert find(machine.docker, machine.environ) == []
    assert removed(machine) == []


def test_a_directory_whose_reaper_is_just_starting_is_left_alone(
    machine: Machine, directory: KindDirectory
) -> None:
    directory.path.mkdir(parents=True)
    assert sweep(machine.docker, machine.environ) == []
    os.utime(directory.path, (1, 1))
    assert [each.name for each in sweep(machine.docker, machine.environ)] == ["a-cluster"]
    assert not directory.path.exists()


def test_each_cluster_of_a_run_has_a_name_that_tells_its_owner() -> None:
    first, second = new_name(), new_name()
    assert first != second
    assert first.startswith(f"dgd-conformance-{os.getpid()}-")
    assert len(first) <= 63 - len("-control-plane")
