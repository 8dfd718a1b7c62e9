"""How many graphs are deployed or changed at once follows from how it goes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conformance.driver import admission as module
from conformance.driver.admission import FIRST, Admission, Place
from conformance.history.records import Load

SINCE = 100.0


def load(at: float, *, share: float = 1.0, here: int = 0, request: float = 0.0) -> Load:
    return Load(at=at, seconds=0.5, operator=share, here=here, request=request)


def test_no_more_are_admitted_than_there_are_places(tmp_path: Path) -> None:
    admission = Admission(tmp_path)
    taken = [admission.enter() for _ in range(int(FIRST))]
    entered = threading.Event()
    threading.Thread(target=lambda: (admission.enter(), entered.set()), daemon=True).start()
    assert not entered.wait(0.5)
    taken[0].leave()
    assert entered.wait(5)


def test_a_place_is_free_again_when_its_worker_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from conformance.driver.admission import Admission\n"
        "places = [Admission(Path(sys.argv[1])).enter() for _ in range(int(sys.argv[2]))]\n"
        "print('all taken', flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(int(FIRST))],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdout is not None
    assert worker.stdout.readline() == "all taken\n"
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert isinstance(Admission(tmp_path).enter(), Place)


@pytest.mark.parametrize(
    ("loads", "change"),
    [
        pytest.param([load(100.5, here=1)], 1, id="soon, with the processor"),
        pytest.param([load(100.5), load(103.0, here=1)], -1, id="late: its queue is long"),
        pytest.param([load(100.5, here=1, share=0.2)], -1, id="soon, but starved"),
        pytest.param([load(100.5, here=1, request=2.0)], -1, id="an API server that is slow"),
        pytest.param([load(100.5)], 0, id="an operator that does nothing says nothing"),
        pytest.param([load(99.0, here=1, share=0.0)], 0, id="what was before does not count"),
        pytest.param([], 0, id="nothing measured"),
    ],
)
def test_places_follow_how_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loads: list[Load], change: int
) -> None:
    admission, another = Admission(tmp_path), Admission(tmp_path)
    admission.learn(0.5, 1.0)
    before = another.places()
    monkeypatch.setattr(time, "time", lambda: SINCE)
    admission.enter().leave(loads)
    assert (another.places() > before) - (another.places() < before) == change


def test_there_are_never_too_few_places_nor_too_many(tmp_path: Path) -> None:
    admission = Admission(tmp_path)
    for _ in range(50):
        admission.learn(0.5, 0.0)
    assert admission.places() == 4.0
    for _ in range(100):
        admission.learn(0.5, 1.0)
    assert admission.places() == 64.0


def test_an_operator_that_is_slow_by_nature_has_no_queue(tmp_path: Path) -> None:
    admission = Admission(tmp_path)
    admission.learn(8.0, 1.0)
    admission.learn(9.0, 1.0)
    assert admission.places() == FIRST + 2
    admission.learn(17.0, 1.0)
    assert admission.places() < FIRST + 2


def test_a_place_is_left_once_and_learns_from_its_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: SINCE)
    admission = Admission(tmp_path)
    place = admission.enter()
    before = load(SINCE - 5.0, here=1, share=0.0)
    place.leave([before, load(SINCE + 0.5, here=1)])
    place.leave([load(SINCE + 0.5, here=1, share=0.0)])
    assert admission.places() == FIRST + 1


def test_a_place_that_is_kept_too_long_is_overdue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Admission(tmp_path).enter()
    assert not place.overdue
    later = time.time() + 6.0
    monkeypatch.setattr(module.time, "time", lambda: later)
    assert place.overdue
