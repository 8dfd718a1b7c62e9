from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cluster.kind import keeper
from conformance.cluster.kind.places import Claim, Place, leftovers, own_name, root, sweep
from conformance.model.errors import UsageError
from tests.kind.fakes import Machine

_OWNER = """
import sys, time
from pathlib import Path
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.places import Claim, Place
claim = Claim(Place(Path(sys.argv[1])), Docker(Path(sys.argv[2]) / "docker"))
for word in sys.argv[3:]:
    getattr(claim, word)()
print("claimed", flush=True)
time.sleep(60)
"""


@pytest.fixture
def place(machine: Machine) -> Place:
    return Place(root(machine.environ) / "a-cluster")


def owner_of(machine: Machine, place: Place, *words: str) -> subprocess.Popen[str]:
    """Another process that uses the cluster."""
    command = [sys.executable, "-c", _OWNER, str(place.directory), str(machine.bin), *words]
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
    machine: Machine, place: Place
) -> None:
    owner = owner_of(machine, place)
    machine.run_node("a-cluster", place.audit)
    kill(owner)
    eventually_gone(place.directory)
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_container_that_comes_after_the_owners_death_is_removed_too(
    machine: Machine, place: Place
) -> None:
    owner = owner_of(machine, place)
    kill(owner)
    time.sleep(1)  # a `docker run` was under way
    machine.run_node("a-cluster", place.audit)
    eventually_gone(place.directory)
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_kept_cluster_outlives_a_killed_owner(machine: Machine, place: Place) -> None:
    owner = owner_of(machine, place, "keep")
    machine.run_node("a-cluster", place.audit)
    place.record_made({"keep": True})
    kill(owner)
    claim = claim_when_free(machine, place)
    claim.release()
    assert place.directory.exists()
    assert removed(machine) == []


@pytest.mark.parametrize("held", [False, True], ids=["closed", "held-by-a-copy"])
@pytest.mark.parametrize(
    ("said", "last"), [(b"keep\n", "keep"), (b"", "lose"), (b"keep\ndo", "keep")]
)
def test_the_last_word_of_an_owner_that_went_before_anybody_looked_counts(
    said: bytes, last: str, held: bool
) -> None:
    """On a busy machine an owner was killed and collected before its keeper could watch it."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    ours, theirs = socket.socketpair()
    with theirs, ours:
        ours.sendall(said)
        if not held:
            ours.close()
        assert keeper._serve(theirs, gone.pid, "lose") == last


def claim_when_free(machine: Machine, place: Place) -> Claim:
    end = time.monotonic() + 20
    while True:
        try:
            return Claim(place, machine.docker)
        except UsageError:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_kept_cluster_that_is_used_again_stays_kept_until_it_is_not(
    machine: Machine, place: Place
) -> None:
    place.directory.mkdir(parents=True)
    machine.run_node("a-cluster", place.audit)
    place.record_made({"keep": True})
    kill(owner_of(machine, place))
    claim_when_free(machine, place).release()
    assert place.directory.exists()
    kill(owner_of(machine, place, "lose"))
    eventually_gone(place.directory)
    assert len(removed(machine)) == 1


def test_a_removed_cluster_takes_its_directory_along(machine: Machine, place: Place) -> None:
    claim = Claim(place, machine.docker)
    claim.done()
    assert not place.directory.exists()
    assert removed(machine) == []


def test_two_runs_do_not_use_one_cluster(machine: Machine, place: Place) -> None:
    owner = owner_of(machine, place)
    with pytest.raises(UsageError, match=rf"a-cluster is in use by process {owner.pid}:"):
        Claim(place, machine.docker)
    assert place.directory.exists()
    kill(owner)
    eventually_gone(place.directory)


def test_what_a_run_in_use_has_is_no_leftover(machine: Machine, place: Place) -> None:
    claim = Claim(place, machine.docker)
    machine.run_node("a-cluster", place.audit)
    assert leftovers(machine.docker, machine.environ) == []
    assert sweep(machine.docker, machine.environ) == []
    claim.done()


def abandoned(machine: Machine, place: Place) -> None:
    """As after a kill of owner and keeper."""
    place.directory.mkdir(parents=True)
    (place.directory / "owner.lock").write_text("1\n", encoding="utf-8")
    machine.run_node("a-cluster", place.audit)


def test_the_next_run_removes_what_nobody_uses(machine: Machine, place: Place) -> None:
    abandoned(machine, place)
    (found,) = leftovers(machine.docker, machine.environ)
    assert found.describe() == (
        "kind cluster a-cluster (a-cluster-control-plane): its run ended without removing it"
    )
    assert sweep(machine.docker, machine.environ) == [found]
    assert not place.directory.exists()
    assert removed(machine) == ["rm --force --volumes 0123"]


def test_a_container_whose_directory_is_gone_is_a_leftover(machine: Machine, place: Place) -> None:
    machine.run_node("a-cluster", place.audit)
    assert [each.name for each in sweep(machine.docker, machine.environ)] == ["a-cluster"]
    assert len(removed(machine)) == 1


def test_a_kept_cluster_is_removed_only_if_it_is_asked_for(machine: Machine, place: Place) -> None:
    abandoned(machine, place)
    place.record_made({"keep": True})
    assert sweep(machine.docker, machine.environ) == []
    (found,) = leftovers(machine.docker, machine.environ)
    assert found.kept
    assert sweep(machine.docker, machine.environ, kept=True) == [found]
    assert not place.directory.exists()


def test_another_users_cluster_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    machine.run_node("a-cluster", tmp_path / "other" / "a-cluster" / "audit")
    assert leftovers(machine.docker, machine.environ) == []
    assert removed(machine) == []


def test_a_directory_whose_keeper_is_just_starting_is_left_alone(
    machine: Machine, place: Place
) -> None:
    place.directory.mkdir(parents=True)
    assert sweep(machine.docker, machine.environ) == []
    os.utime(place.directory, (1, 1))
    assert [each.name for each in sweep(machine.docker, machine.environ)] == ["a-cluster"]
    assert not place.directory.exists()


def test_each_cluster_of_a_run_has_a_name_that_tells_its_owner() -> None:
    first, second = own_name(), own_name()
    assert first != second
    assert first.startswith(f"dgd-conformance-{os.getpid()}-")
    assert len(first) <= 63 - len("-control-plane")
