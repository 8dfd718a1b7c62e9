"""How long the operator had its turn."""

import pytest

from conformance.history.load import after_turn, before_turn, counted, had_turn
from conformance.history.records import JSON_LINES, Load


def load(at: float, **measured: float | int) -> Load:
    return Load(at=at, seconds=1.0, **measured)  # type: ignore[arg-type]


def test_an_idle_operator_has_its_turn() -> None:
    assert had_turn([load(101), load(102)], 100, 102) == 2.0


def test_one_that_works_for_others_alone_has_not() -> None:
    assert had_turn([load(101, elsewhere=3), load(102)], 100, 102) == 1.0


def test_one_that_works_here_too_has() -> None:
    assert had_turn([load(101, elsewhere=3, here=1)], 100, 101) == 1.0


@pytest.mark.parametrize("who", ["operator", "platform"])
def test_a_starved_one_has_it_in_part(who: str) -> None:
    assert had_turn([load(101, **{who: 0.25})], 100, 101) == pytest.approx(0.25)


def test_the_one_that_got_least_decides() -> None:
    assert counted(load(101, operator=0.5, platform=0.2)) == 0.2


def test_an_api_server_that_answers_slowly_lends_less_of_its_time() -> None:
    assert counted(load(101, request=1.0)) == 0.25
    assert counted(load(101, request=0.1)) == 1.0


def test_time_of_which_nothing_is_known_counts_in_full() -> None:
    assert had_turn([], 100, 130) == 30
    assert had_turn([load(101, operator=0.0)], 100, 130) == 29


def test_a_stretch_counts_as_far_as_it_lies_within() -> None:
    stretch = [load(101, operator=0.0)]
    assert had_turn(stretch, 100.5, 102) == pytest.approx(1.0)
    assert had_turn(stretch, 101, 102) == 1.0


def test_it_is_stored_with_the_history() -> None:
    stretch = load(101, operator=0.5, elsewhere=2)
    assert JSON_LINES.decode(JSON_LINES.encode(stretch)) == stretch


STRETCHES = [load(101, operator=0.5), load(103, elsewhere=2), load(104)]


@pytest.mark.parametrize(
    ("seconds", "reached"),
    [
        (0.0, 100.0),
        (0.25, 100.5),
        (0.5, 101.0),
        (1.0, 101.5),
        (1.5, 102.0),
        (2.0, 103.5),
        (4.0, 105.5),
    ],
)
def test_when_the_operator_has_had_its_turn(seconds: float, reached: float) -> None:
    assert after_turn(STRETCHES, 100, seconds) == pytest.approx(reached)
    assert had_turn(STRETCHES, 100, reached) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("seconds", "began"),
    [
        (0.0, 104.0),
        (0.5, 103.5),
        (1.0, 103.0),
        (1.5, 101.5),
        (2.0, 101.0),
        (2.25, 100.5),
        (3.0, 99.5),
    ],
)
def test_since_when_the_operator_had_its_turn(seconds: float, began: float) -> None:
    assert before_turn(STRETCHES, 104, seconds) == pytest.approx(began)
    assert had_turn(STRETCHES, began, 104) == pytest.approx(seconds)
