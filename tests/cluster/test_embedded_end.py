"""Clusters side by side, starts that fail, and that nothing of a cluster is left, however it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.embedded import cluster as embedded
from conformance.cluster.processes import directory
from conformance.cluster.processes.directory import PREFIX
from conformance.cluster.processes.ports import free_ports
from conformance.cluster.programs.pins import Program
from conformance.cluster.programs.prepare import Programs
from conformance.cluster.programs.sources import Found, Source
from conformance.kube import Api
from conformance.model.errors import InfraError
from tests.cluster.clusters import DEFAULT, create, eventually
from tests.cluster.fakes import program_at
from tests.cluster.test_interruption import wait_for
from tests.processes import alive, wait_gone

pytestmark = pytest.mark.xdist_group("cluster")


def test_two_clusters_run_side_by_side_and_a_dead_part_is_named(
    cluster: EmbeddedCluster, api: Api, programs: Programs, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "audit.jsonl").write_text("of an earlier run\n", encoding="utf-8")
    with EmbeddedCluster(programs=programs, nodes=1, logs=tmp_path / "logs") as other:
        with Api.from_kubeconfig(other.kubeconfig) as second:
            create(second, f"{DEFAULT}/configmaps", {"metadata": {"name": "here"}})
            assert len(second.list("/api/v1/nodes")[0]) == 1
            assert api.request("GET", f"{DEFAULT}/configmaps/here").code == 404
        assert other.directory != cluster.directory
        assert other.failure() is None
        kwok = other.processes["kwok"]
        kwok.kill()
        kwok.wait(5)
        assert other.failure() == (
            f"kwok of the embedded control plane ended with code -9; its log is {kwok.log}"
        )
        pids = [process.pid for process in other.processes.values()]
        place = other.directory
    assert not place.exists()
    assert not any(alive(pid) for pid in pids if pid is not None)
    # Logs that were asked for stay, and hold no key.
    audit = (tmp_path / "logs" / "audit.jsonl").read_text(encoding="utf-8")
    assert '"name":"here"' in audit
    assert "of an earlier run" not in audit
    assert not any(b"PRIVATE KEY" in path.read_bytes() for path in (tmp_path / "logs").iterdir())
    assert cluster.failure() is None


def children_of_self() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_part_that_does_not_start_is_an_error_that_leaves_nothing(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = program_at(tmp_path / "kwok", "no stages found")
    with_broken = Programs(
        found={**programs.found, Program.KWOK: Found(broken, Source.PATH)}, crds=programs.crds
    )
    monkeypatch.setattr(directory, "MEMORY", tmp_path)
    monkeypatch.setattr(directory, "MEMORY_NEEDED", 0)
    children = children_of_self()
    with pytest.raises(
        InfraError, match=r"kwok ended with code 0 while waiting for (?s:.*)no stages"
    ):
        EmbeddedCluster(programs=with_broken).start()
    assert children_of_self() <= children
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def test_a_taken_port_is_tried_again_with_another(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        def ports(count: int) -> list[int]:
            chosen = free_ports(count)
            if not asked:
                chosen[2] = taken.getsockname()[1]
            asked.append(chosen)
            return chosen

        monkeypatch.setattr(embedded, "free_ports", ports)
        with EmbeddedCluster(programs=programs, nodes=1) as running:
            assert len(asked) == 2
            assert running.server.endswith(f":{asked[1][2]}")


OWNER = """
import pathlib, sys, time
from conformance.cluster.processes import directory
from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.programs.prepare import ensure
directory.MEMORY, directory.MEMORY_NEEDED = pathlib.Path(sys.argv[1]).parent, 0
cluster = EmbeddedCluster(programs=ensure(), nodes=1)
started = pathlib.Path(sys.argv[1])
if sys.argv[2] == "late":
    cluster.start()
    cluster.spawn("operator", ["sh", "-c", "sleep 300 & wait"])
    state = [cluster.directory, *(p.pid for p in cluster.processes.values())]
    started.write_text(" ".join(map(str, state)))
    time.sleep(300)
else:
    started.write_text("starting")
    with cluster:
        time.sleep(300)
"""


def owner(flag: Path, when: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(flag), when],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_a_running_cluster_survives_its_owner(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = owner(tmp_path / "flag", "late")
    place, *pids = wait_for(tmp_path / "flag", 60).split()
    assert len(pids) == 7
    os.killpg(process.pid, number)
    process.communicate(timeout=20)
    for pid in pids:
        wait_gone(int(pid))
    eventually(lambda: not Path(place).exists(), within=10)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("after", [0.05, 0.5, 1.5])
def test_nothing_of_a_cluster_in_mid_start_survives_its_owner(
    tmp_path: Path, number: signal.Signals, after: float
) -> None:
    process = owner(tmp_path / "flag", "early")
    wait_for(tmp_path / "flag", 30)
    time.sleep(after)
    os.killpg(process.pid, number)
    process.communicate(timeout=20)
    # Every part has the cluster's directory on its command line; the reaper has how it begins.
    eventually(lambda: not command_lines(str(tmp_path / PREFIX)), within=10)
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def command_lines(text: str) -> list[str]:
    """Of all processes, those that hold the text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found
