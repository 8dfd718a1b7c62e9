"""`--cluster=kind`: the reference operator as an image in a real cluster."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance import paths
from conformance.cluster.kind import Docker, directories
from conformance.report import files
from conformance.report.compare import differences
from tests.in_kind.conftest import SEED, Suite

pytestmark = pytest.mark.docker


def test_the_seeds_transitions_conform_and_say_what_the_embedded_cluster_says(
    suite: Suite, node_image: str, docker: Docker, tmp_path: Path
) -> None:
    ended = suite(tmp_path / "kind", "--cluster=kind", f"--kind-image={node_image}")
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-2000:]
    assert "3 passed" in ended.stdout
    embedded = suite(tmp_path / "embedded", "--cluster=embedded")
    assert embedded.returncode == 0, embedded.stdout[-3000:] + embedded.stderr[-2000:]
    one, other = (files.read(tmp_path / name / "report.json") for name in ("kind", "embedded"))
    assert (one.cluster, other.cluster) == ("kind", "embedded")
    assert one.cluster_admin is False, "in pods it has the rights that it ships with, and no more"
    assert differences(one, other) == []
    assert [row for row in directories.find(docker) if not row.kept] == []


def test_a_mutant_violates_in_pods_too(suite: Suite, node_image: str, tmp_path: Path) -> None:
    ended = suite(
        tmp_path, "--cluster=kind", f"--kind-image={node_image}", "--timeout-factor=0.4",
        "--fault=deployment-kept-on-add", cases=["test_add_multinode.py::test_three_nodes"],
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout[-3000:] + ended.stderr[-2000:]
    assert "Deployment vllm-agg-vllmdecodeworker still exists" in ended.stdout
    # The author is the ServiceAccount's user, told from the node's audit log.
    assert "created by the operator" in ended.stdout


def test_a_killed_run_leaves_neither_container_nor_process(
    node_image: str, docker: Docker, tmp_path: Path
) -> None:
    before = {node.name for node in docker.nodes()}
    run = subprocess.Popen(
        [
            sys.executable, "-m", "pytest", str(paths.cases() / SEED[0]), "--operator=reference",
            "--cluster=kind", f"--kind-image={node_image}", f"--results={tmp_path}", "-q",
        ],
        cwd=paths.root(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _until(lambda: {node.name for node in docker.nodes()} > before, within=120)
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    _until(lambda: {node.name for node in docker.nodes()} == before, within=60)
    assert [row for row in directories.find(docker) if not row.kept] == []


def _until(done: object, *, within: float) -> None:
    assert callable(done)
    end = time.monotonic() + within
    while not done():
        assert time.monotonic() < end, f"not within {within:.0f} s"
        time.sleep(0.2)
