"""The end of real runs: what is judged there, and that a run which is broken off leaves nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cluster.programs.pins import Program
from conformance.cluster.programs.prepare import ensure
from conformance.history import store
from conformance.model.bounds import Bounds
from conformance.model.run_cases import RunCase
from tests.plugin.support import ROOT

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A directory of all programs whose etcd says its version, and nothing more."""
    programs = ensure()
    folder = tmp_path / "programs"
    folder.mkdir()
    for program in Program:
        (folder / program.value).symlink_to(programs.path(program))
    etcd = folder / Program.ETCD.value
    etcd.unlink()
    etcd.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {programs.path(Program.ETCD)} --version\n'
        "echo 'the disk is full' >&2\nexit 1\n"
    )
    etcd.chmod(0o755)
    return folder


@contextlib.contextmanager
def started(
    results: Path, *options: str, assets: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A run with real clusters, in a process group of its own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    if assets is not None:
        environ["KUBEBUILDER_ASSETS"] = str(assets)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "pytest", str(ROOT / "cases" / "test_rest.py"),
            "-p", "no:cacheprovider", "--operator=reference", f"--results={results}", *options,
        ],
        cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
        # A shell's background job, and so all below it, is deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def descendants(pid: int) -> dict[int, str]:
    """Everything below a process: pid → command line. Reapers have a session of their own."""
    rows = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    parsed = [(int(row.split()[0]), int(row.split()[1]), row.split(None, 2)[2]) for row in rows]
    found: dict[int, str] = {}
    level = {pid}
    while level:
        below = {child: line for child, parent, line in parsed if parent in level}
        found |= below
        level = set(below)
    return found


def gone(processes: dict[int, str], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def clusters(processes: dict[int, str]) -> set[Path]:
    """The private directories of the clusters that these processes belong to."""
    words = (word for line in processes.values() for word in line.split() if "/pki/" in word)
    return {Path(word.partition("=")[2]).parents[1] for word in words}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_part_that_does_not_start_is_told_with_its_last_words_and_exit_3(
    tmp_path: Path, broken: Path, workers: tuple[str, ...]
) -> None:
    with started(tmp_path / "results", *workers, assets=broken) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 3, output
    assert "etcd ended with code 1 while waiting for" in output
    assert "the disk is full" in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output


def test_ctrl_c_leaves_no_process_and_the_report_of_what_is_known(tmp_path: Path) -> None:
    with started(tmp_path, "-n", "2", "-k", "idle or annotation") as process:
        end = time.monotonic() + 120
        while not list((tmp_path / "cases").glob("*.json")):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        below = descendants(process.pid)
        assert any("kube-apiserver" in line for line in below.values())
        directories = clusters(below)
        assert directories
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "INTERNALERROR" not in output
    assert gone(below)
    assert not any(directory.exists() for directory in directories)
    report = yaml.safe_load((tmp_path / "report.yaml").read_text())
    verdicts = [case["verdict"] for case in report["cases"] if not case.get("not_run")]
    assert "conforms" in verdicts
    assert (report["verdict"], len(verdicts)) == ("unknown", 3)


def judgements(results: Path) -> dict[str, dict[str, Any]]:
    report = yaml.safe_load((results / "report.yaml").read_text())
    return {case["id"]: case for case in report["cases"] if case["id"].startswith("run/")}


def test_a_run_is_judged_to_its_end_and_a_good_operator_conforms(tmp_path: Path) -> None:
    with started(tmp_path, "-n", "2", "-k", "idle or annotation") as process:
        output, _ = process.communicate(timeout=400)
    assert process.returncode == 0, output
    found = judgements(tmp_path)
    assert set(found) == set(RunCase)
    assert {case["verdict"] for case in found.values()} == {"conforms"}, output
    soaks = store.read(tmp_path / found[RunCase.REST]["history"]["path"]).soaks
    assert {row.case.partition("/")[0] for row in soaks} == {"rest"}
    assert len(soaks) == 3
    left = store.read(tmp_path / found[RunCase.NOTHING_LEFT]["history"]["path"])
    assert left.checkpoints[-1].hold == Bounds().hold


def test_what_stays_of_a_case_that_conformed_is_found_at_the_end(tmp_path: Path) -> None:
    options = ("-k", "idle_deployments", "--fault=deletion-leaves-child", "--timeout-factor=0.5")
    with started(tmp_path, *options) as process:
        output, _ = process.communicate(timeout=400)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output
    assert "1 passed" in output
    found = judgements(tmp_path)
    assert found[RunCase.REST]["verdict"] == "conforms"
    assert found[RunCase.NOTHING_LEFT]["verdict"] == "violates"
    messages = [row["message"] for row in found[RunCase.NOTHING_LEFT]["findings"]]
    assert any("created in namespace rest-idle-deployments-" in text for text in messages)
    assert all("by the operator" in text for text in messages), messages
