"""What operator and control plane got of the processors they asked for."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.record.meter import Measured, Meter, got


def write(proc: Path, pid: int, thread: int, *, ran: float, waited: float) -> None:
    place = proc / str(pid) / "task" / str(thread)
    place.mkdir(parents=True, exist_ok=True)
    (place / "schedstat").write_text(f"{int(ran * 1e9)} {int(waited * 1e9)} 7\n")


def test_a_process_that_asks_for_little_loses_what_it_waited() -> None:
    assert got(ran=0.01, waited=0.03, seconds=1.0) == pytest.approx(0.97)


def test_one_that_asks_for_all_has_its_share() -> None:
    assert got(ran=0.5, waited=1.5, seconds=1.0) == pytest.approx(0.25)


def test_one_that_waited_for_nothing_lost_nothing() -> None:
    assert got(ran=1.0, waited=0.0, seconds=1.0) == 1.0


def test_the_process_that_got_least_counts_and_threads_add_up(tmp_path: Path) -> None:
    meter, measured = Meter(proc=tmp_path), Measured(operator=(1,), platform=(2, 3))
    for pid, thread in ((1, 1), (1, 11), (2, 2), (3, 3)):
        write(tmp_path, pid, thread, ran=5.0, waited=5.0)
    assert meter.look(measured) == (1.0, 1.0), "nothing can be said of a first look"
    write(tmp_path, 1, 1, ran=6.0, waited=15.0)
    write(tmp_path, 1, 11, ran=6.0, waited=11.0)
    write(tmp_path, 3, 3, ran=6.0, waited=104.0)
    assert meter.look(measured) == (pytest.approx(2 / 18), pytest.approx(1 / 100))
    assert meter.look(measured) == (1.0, 1.0), "nothing was waited for since"


def test_what_has_ended_or_is_not_known_takes_nothing_away(tmp_path: Path) -> None:
    meter = Meter(proc=tmp_path)
    assert meter.look(Measured(operator=(404,))) == (1.0, 1.0)
    assert meter.look(Measured()) == (1.0, 1.0)


def test_processes_are_noted_beside_the_record(tmp_path: Path) -> None:
    assert Measured.read(tmp_path) == Measured()
    noted = Measured(operator=(7,), platform=(8, 9))
    noted.write(tmp_path)
    assert Measured.read(tmp_path) == noted


def test_a_starved_process_is_seen_on_this_machine() -> None:
    """Two busy processes on one processor: each gets half of what it asks for."""
    cpu = sorted(os.sched_getaffinity(0))[:1]
    burner = [
        sys.executable,
        "-c",
        "import time\nend = time.time() + 20\nwhile time.time() < end: pass",
    ]
    burning = [subprocess.Popen(burner) for _ in range(2)]
    try:
        for process in burning:
            os.sched_setaffinity(process.pid, cpu)
        meter, measured = Meter(), Measured(operator=(burning[0].pid,))
        meter.look(measured)
        time.sleep(1.5)
        operator, _ = meter.look(measured)
        assert operator < 0.8
    finally:
        for process in burning:
            process.kill()
            process.wait()
