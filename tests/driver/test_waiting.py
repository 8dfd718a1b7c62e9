from pathlib import Path

import pytest

from conformance.driver import waiting
from conformance.driver.waiting import WaitLine, until


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ticking = Clock()
    monkeypatch.setattr(waiting, "time", ticking)
    return ticking


def test_the_line_says_what_is_awaited_how_long_and_of_which_bound(
    clock: Clock, tmp_path: Path
) -> None:
    line = WaitLine(path=tmp_path / "gw0.waiting", case="add/worker")
    line.show(lambda: "1 of 2 pods ready", elapsed=3.21, bound=30.0)
    text = (tmp_path / "gw0.waiting").read_text()
    assert text == "add/worker: 1 of 2 pods ready, 3.2 s of 30 s\n"


def test_a_state_is_described_only_when_a_line_is_due(clock: Clock, tmp_path: Path) -> None:
    asked: list[float] = []

    def what() -> str:
        asked.append(clock.now)
        return "something"

    line = WaitLine(path=tmp_path / "gw0.waiting", case="add/worker")
    for _ in range(5):
        line.show(what, elapsed=0.0, bound=30.0)
        clock.now += 1.0
    assert asked == [100.0, 102.0, 104.0]


def test_a_line_that_cannot_be_written_fails_no_case(clock: Clock, tmp_path: Path) -> None:
    line = WaitLine(path=tmp_path / "missing" / "gw0.waiting", case="add/worker")
    line.show(lambda: "something", elapsed=0.0, bound=30.0)
    assert list(tmp_path.iterdir()) == []


def test_clearing_takes_the_line_away_and_may_be_done_twice(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "gw0.waiting"
    line = WaitLine(path=path, case="add/worker")
    line.show(lambda: "something", elapsed=0.0, bound=30.0)
    assert path.exists()
    line.clear()
    line.clear()
    assert not path.exists()


def test_without_a_file_nothing_is_described(clock: Clock) -> None:
    def what() -> str:
        raise AssertionError("nobody reads it")

    line = WaitLine(path=None)
    line.show(what, elapsed=0.0, bound=30.0)
    line.clear()


def test_polling_ends_with_the_first_answer_that_is_true() -> None:
    answers = iter([None, None, "there"])
    assert until(lambda: next(answers), every=0.001) == "there"


def test_polling_looks_once_at_least_and_ends_in_time() -> None:
    looks: list[str] = []

    def look() -> bool:
        looks.append("looked")
        return False

    assert until(look, every=60.0, within=0.0) is False
    assert looks == ["looked"]


@pytest.mark.parametrize("problem", [ValueError("no"), KeyboardInterrupt()])
def test_what_a_look_raises_ends_polling_as_it_is(problem: BaseException) -> None:
    def look() -> bool:
        raise problem

    with pytest.raises(type(problem)) as raised:
        until(look, every=0.001)
    assert raised.value is problem
