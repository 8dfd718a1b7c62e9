import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.cluster.programs.pins import Program
from conformance.cluster.programs.progress import Progress
from tests.cluster.conftest import Machine
from tests.processes import wait_gone


def start(machine: Machine) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "conformance.cluster.programs"],
        env=machine.environ,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path, seconds: float = 20) -> str:
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text(encoding="utf-8").strip()):
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.02)
    return path.read_text(encoding="utf-8").strip()


SLOW_SCHEDULER = """
    case "$6" in *kube-scheduler)
      [ -e {flag} ] || {{ echo $$ > {pid}; sleep 60 & wait; }} ;;
    esac"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_goes_on_where_it_stopped(
    machine: Machine, number: signal.Signals
) -> None:
    flag, pid_file = machine.root / "fast", machine.root / "pid"
    machine.install_go(build=SLOW_SCHEDULER.format(flag=flag, pid=pid_file))
    first = start(machine)
    compiler = int(wait_for(pid_file))
    os.kill(first.pid, number)
    _, errors = first.communicate(timeout=20)
    wait_gone(compiler)
    if number is signal.SIGINT:
        assert first.returncode == 130
        assert "the next run goes on from here" in errors
        assert not list(machine.folder(Program.SCHEDULER).glob(".*.part"))
    assert not (machine.folder(Program.SCHEDULER) / "kube-scheduler").exists()
    before = len(machine.builds)
    flag.touch()
    second = start(machine)
    output, errors = second.communicate(timeout=30)
    assert second.returncode == 0, errors
    assert "kube-scheduler" in output
    rebuilt = [line.split()[0] for line in machine.builds[before:]]
    assert rebuilt == [
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "sigs.k8s.io/lws/cmd",
        "sigs.k8s.io/kwok/cmd/kwok",
    ]


def test_two_runs_at_once_build_once(machine: Machine) -> None:
    machine.install_go(build="sleep 0.2")
    runs = [start(machine), start(machine)]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert len(machine.builds) == len(Program)
    assert sum("waiting for another run" in errors for _, errors in outputs) == 1


def test_a_usage_error_of_the_command_is_one_line(machine: Machine, tmp_path: Path) -> None:
    machine.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    run = start(machine)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 4
    assert errors.splitlines()[-1].startswith(
        "error: building the control plane's programs needs Go"
    )
    assert "Traceback" not in errors


def test_a_log_gets_a_line_now_and_then() -> None:
    stream = io.StringIO()
    with Progress(stream, log_seconds=0.05).step("building x", detail=lambda: "downloading y"):
        time.sleep(0.18)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "building x"
    assert lines[1:-1].count("building x, 0 s (downloading y)") >= 2
    assert lines[-1] == "building x: done after 0 s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_changes() -> None:
    stream = Terminal()
    with Progress(stream).step("building x"):
        time.sleep(0.7)
    assert stream.getvalue().startswith("\rbuilding x, 0 s")
    assert stream.getvalue().count("\n") == 1
    last = stream.getvalue().rsplit("\r", 1)[1]
    assert last == "building x: done after 0 s\n"


def test_a_failed_step_says_so() -> None:
    stream = io.StringIO()
    with pytest.raises(ValueError, match="no"), Progress(stream).step("building x"):
        raise ValueError("no")
    assert "building x: failed after 0 s" in stream.getvalue()
