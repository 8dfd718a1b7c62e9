import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cluster.processes import directory as directories
from conformance.cluster.processes.supervisor import Process, StopStep, Supervisor
from conformance.cluster.readiness import wait_until
from conformance.model.errors import InfraError
from tests.cluster.test_interruption import wait_for
from tests.processes import alive, wait_gone

PYTHON = sys.executable
SLEEPER = ["sh", "-c", "sleep 300 & echo $! > child; wait"]


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "cluster-"


@pytest.fixture
def supervisor(prefix: Path) -> Iterator[Supervisor]:
    with Supervisor(prefix=prefix) as running:
        yield running


def spawn(
    supervisor: Supervisor, argv: list[str], *, name: str = "it", cwd: Path | None = None
) -> Process:
    return supervisor.spawn(
        name=name,
        argv=argv,
        env=dict(os.environ),
        cwd=cwd or supervisor.directory,
        log=supervisor.directory.parent / f"{name}.log",
    )


def test_exit_codes_and_signals_are_seen(supervisor: Supervisor) -> None:
    assert spawn(supervisor, ["sh", "-c", "exit 7"], name="a").wait(5) == 7
    process = spawn(supervisor, ["sleep", "300"], name="b")
    process.terminate()
    assert process.wait(5) == -signal.SIGTERM
    assert not process.running


def test_a_log_holds_output_and_errors_of_all_starts(supervisor: Supervisor) -> None:
    process = spawn(supervisor, ["sh", "-c", "echo out; echo err >&2"])
    process.wait(5)
    process.start()
    process.wait(5)
    assert process.log.read_text(encoding="utf-8") == "out\nerr\nout\nerr\n"
    assert process.starts == 2
    assert process.tail(1) == "err"


def test_a_restart_is_a_new_process(supervisor: Supervisor) -> None:
    process = spawn(supervisor, ["sleep", "300"])
    first = process.pid
    assert first is not None
    process.restart()
    assert process.running
    assert process.pid != first
    assert not alive(first)


def test_a_running_process_is_not_started_twice(supervisor: Supervisor) -> None:
    process = spawn(supervisor, ["sleep", "300"])
    with pytest.raises(InfraError, match=r"it is still running \(pid \d+\); end it"):
        process.start()
    with pytest.raises(InfraError, match="named it is already running"):
        spawn(supervisor, ["sleep", "300"])


def test_a_program_that_is_not_there_is_one_sentence(supervisor: Supervisor) -> None:
    with pytest.raises(InfraError, match=r"it could not be started \(/no/such\): .*No such file"):
        spawn(supervisor, ["/no/such"])
    assert spawn(supervisor, ["true"], name="next").wait(5) == 0


def test_waiting_has_an_end(supervisor: Supervisor) -> None:
    process = spawn(supervisor, ["sleep", "300"])
    with pytest.raises(TimeoutError, match=r"it \(pid \d+\) still runs after 0.05 s"):
        process.wait(0.05)


def test_what_a_process_leaves_behind_is_ended_with_it(supervisor: Supervisor) -> None:
    process = spawn(supervisor, SLEEPER)
    child = int(wait_for(supervisor.directory / "child"))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait(5)
    wait_gone(child)


def test_a_child_in_a_session_of_its_own_ends_at_the_latest_with_the_cluster(
    supervisor: Supervisor,
) -> None:
    spawn(supervisor, ["sh", "-c", "setsid sh -c 'echo $$ > far; exec sleep 300' & wait"])
    far = int(wait_for(supervisor.directory / "far"))
    supervisor.stop()
    assert not alive(far)


def test_stopping_keeps_the_order_and_removes_the_directory(prefix: Path) -> None:
    supervisor = Supervisor(prefix=prefix)
    order = prefix.parent / "order"
    script = f"trap 'echo $0 >> {order}; exit' TERM; echo up > $0; while :; do sleep .1; done"
    for name in ("first", "second"):
        spawn(supervisor, ["sh", "-c", script, name], name=name)
        wait_for(supervisor.directory / name)
    steps = [StopStep(name=name, signal=signal.SIGTERM, grace=5.0) for name in ("second", "first")]
    supervisor.stop(order=steps)
    assert order.read_text(encoding="utf-8").split() == ["second", "first"]
    assert not supervisor.directory.exists()
    supervisor.stop()


def test_a_process_that_does_not_heed_the_signal_is_killed(prefix: Path) -> None:
    supervisor = Supervisor(prefix=prefix)
    process = spawn(
        supervisor, ["sh", "-c", "trap '' TERM; echo 1 > up; while :; do sleep 1; done"]
    )
    wait_for(supervisor.directory / "up")
    began = time.monotonic()
    supervisor.stop(order=[StopStep(name="it", signal=signal.SIGTERM, grace=0.1)])
    assert time.monotonic() - began < 5
    assert process.pid is not None
    assert not alive(process.pid)


def test_nothing_can_be_started_after_the_end(prefix: Path) -> None:
    supervisor = Supervisor(prefix=prefix)
    supervisor.stop()
    with pytest.raises(InfraError, match="stopped"):
        spawn(supervisor, ["true"])


def test_waiting_ends_at_once_when_a_process_died(supervisor: Supervisor) -> None:
    process = spawn(supervisor, ["sh", "-c", "echo no port left; exit 3"])
    process.wait(5)
    with pytest.raises(InfraError, match="it ended with code 3 while waiting for it to be ready"):
        wait_until(lambda: False, within=60, what="it to be ready", alive=[process])


def test_waiting_without_success_tells_for_what() -> None:
    with pytest.raises(InfraError, match="waited 0 s for the moon"):
        wait_until(lambda: False, within=0.01, what="the moon")


OWNER = """
import sys, time
from pathlib import Path
from conformance.cluster.processes.supervisor import Supervisor
supervisor = Supervisor(prefix=Path(sys.argv[1]))
place = supervisor.directory
(place / "key").write_text("secret")
process = supervisor.spawn(
    name="it", argv=["sh", "-c", "sleep 300 & echo $! > ../child; wait"],
    env={"PATH": "/usr/bin:/bin"}, cwd=place, log=place / "log",
)
print(process.pid, supervisor.reaper.process.pid, flush=True)
time.sleep(300)
"""


def own(prefix: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """An owner in a process of its own, and the pids of its process, the reaper and a
    grandchild."""
    owner = subprocess.Popen(
        [PYTHON, "-c", OWNER, str(prefix)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    return owner, [*pids, int(wait_for(prefix.parent / "child"))]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_survives_the_owner(prefix: Path, number: signal.Signals) -> None:
    owner, pids = own(prefix)
    os.killpg(owner.pid, number)
    owner.wait(10)
    for pid in pids:
        wait_gone(pid)
    assert not list(prefix.parent.glob("cluster-*"))


def test_a_forked_copy_of_the_owner_does_not_keep_it_alive(prefix: Path) -> None:
    """The copy holds the owner's end of the socket open, so only the owner's own end tells."""
    script = OWNER.replace("time.sleep(300)", "import os\nos.fork()\ntime.sleep(300)")
    owner = subprocess.Popen(
        [PYTHON, "-c", script, str(prefix)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    process, reaper = (int(pid) for pid in owner.stdout.readline().split())
    wait_for(prefix.parent / "child")
    time.sleep(0.1)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait(5)
    wait_gone(process, 3)
    wait_gone(reaper, 3)
    os.killpg(owner.pid, signal.SIGKILL)


def test_children_die_with_the_reaper_and_the_next_start_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "MEMORY", tmp_path)
    monkeypatch.setattr(directories, "MEMORY_NEEDED", 0)
    starting = Path(f"{directories.prefix()}starting")
    starting.mkdir()
    with Supervisor(prefix=directories.prefix()) as living:
        supervisor = Supervisor(prefix=directories.prefix())
        place = supervisor.directory
        process = spawn(supervisor, ["sleep", "300"])
        supervisor.reaper.process.kill()
        process.wait(10)
        assert process.pid is not None
        wait_gone(process.pid)
        assert place.exists()
        supervisor.reaper.process.wait()
        assert directories.sweep() == [place]
        # Its owner is still there, but as after a kill of both the directory has no lock any more.
        assert (place.exists(), living.directory.exists(), starting.exists()) == (False, True, True)


def test_the_owner_removes_the_directory_of_a_killed_reaper(prefix: Path) -> None:
    supervisor = Supervisor(prefix=prefix)
    process = spawn(supervisor, ["sleep", "300"])
    supervisor.reaper.process.kill()
    assert process.wait(10) == -signal.SIGKILL
    supervisor.stop()
    assert not supervisor.directory.exists()


def test_a_directory_is_private_and_falls_back_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "MEMORY", tmp_path / "no-such")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with Supervisor(prefix=directories.prefix()) as supervisor:
        assert supervisor.directory.parent == tmp_path
        assert supervisor.directory.stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        InfraError, match=r"reaper of the control plane did not make /.*/no/cluster"
    ):
        Supervisor(prefix=tmp_path / "no" / "cluster-")


def test_an_owner_that_dies_at_once_leaves_nothing(prefix: Path) -> None:
    """Killed as soon as the reaper is on its way, whatever it has done by then."""
    script = (
        "import sys, os, signal, subprocess, pathlib\n"
        "from conformance.cluster.processes import supervisor\n"
        "def popen(*args, real=subprocess.Popen, **kwargs):\n"
        "    print(real(*args, **kwargs).pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "subprocess.Popen = popen\n"
        "supervisor.Supervisor(prefix=pathlib.Path(sys.argv[1]))\n"
    )
    run = subprocess.run(
        [PYTHON, "-c", script, str(prefix)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL
    wait_gone(int(run.stdout))
    assert not list(prefix.parent.glob("cluster-*"))


def test_the_protocol_survives_long_messages(supervisor: Supervisor) -> None:
    long = "x" * 60000
    process = supervisor.spawn(
        name="long",
        argv=[PYTHON, "-c", "import os, json; print(json.dumps(len(os.environ['LONG'])))"],
        env={"LONG": long},
        cwd=supervisor.directory,
        log=supervisor.directory.parent / "long.log",
    )
    assert process.wait(10) == 0
    assert json.loads(process.log.read_text(encoding="utf-8")) == len(long)
