import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.driver import hold as hold_module
from conformance.driver.hold import Wait, WaitResult
from conformance.driver.waiting import WaitLine
from conformance.history.records import CheckpointEnd, Event, EventType, Load
from conformance.judge.changes import Act, Change
from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Wanted
from conformance.judge.writers import CountedWrite
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.model.kinds import Actor
from conformance.model.state import State
from conformance.model.verdict import CheckerName
from tests.objects import a_profile

SINCE, DEADLINE, FOLLOW, HOLD, POLL = 1000.0, 30.0, 10.0, 5.0, 0.2
PATIENCE = Bounds().patience
NOTHING = Wanted(namespace="ns", graphs=(), components=(), profile=a_profile())
LWS_MISSING = Mismatch(
    checker=CheckerName.COEXISTENCE, subject="Worker", message="there is no LeaderWorkerSet"
)


class World:
    """A namespace by script: when it matches, what is recorded, which writes count. It stands in for
    the live record and for the clock."""

    def __init__(self) -> None:
        self.now = SINCE
        self.wrong: list[tuple[float, float]] = []
        """Stretches (from, to) in which the state does not match."""
        self.events: list[Event] = []
        self.writes: list[float] = []
        self.requests: list[float] = []
        """When the operator sent a request, of whatever effect."""
        self.loads: list[Load] = []
        """What is known of the operator's turns; at all other times it is sure to have had them."""
        self.dies_at = float("inf")
        self.looks = 0
        self.described = 0
        self._generation = 0
        self._told = 0
        self.log = self

    def time(self) -> float:
        return self.now

    def happens(
        self, at: float, kind: str = "Deployment", *, counted: bool = False, status: bool = False,
        says: dict[str, Any] | None = None, labels: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        """`status`: the generation stays as it is; `says` is what the status then is."""
        self._generation += not status
        self.events.append(
            Event(
                type=EventType.MODIFIED, revision=len(self.events) + 1, at=at,
                object={
                    "kind": kind,
                    "metadata": {"name": "a", "uid": kind, "generation": self._generation,
                                 "labels": labels or {}},
                    "status": says or {},
                },
            )
        )  # fmt: skip
        self.events.sort(key=lambda event: event.at)
        if counted:
            self.writes.append(at)

    def broken(self, start: float, end: float) -> None:
        """The state does not match in between, and both changes are recorded."""
        self.wrong.append((start, end))
        self.happens(start)
        self.happens(end)

    # What a LiveRecord is asked -----------------------------------------------------------------

    def poll(self) -> list[Event]:
        if self.now >= self.dies_at:
            raise InfraError("the recorder showed no sign of life")
        new = [event for event in self.events[self._told :] if event.at <= self.now]
        self._told += len(new)
        return new

    def state(self) -> State:
        return State(())

    def counted(self, start: float, end: float) -> list[CountedWrite]:
        return [
            CountedWrite(
                change=Change(event=event, before=None, act=Act.CHANGED), writer=Actor.OPERATOR
            )
            for event in self.events
            if event.at in self.writes and start < event.at <= end
        ]

    def too_many(self, start: float, end: float, *, allowed: int) -> float | None:
        sent = [at for at in self.requests if start < at <= end]
        return sent[-allowed - 1] if len(sent) > allowed else None

    def look(self, _state: State) -> list[Mismatch]:
        self.looks += 1
        return [LWS_MISSING] if any(a <= self.now < b for a, b in self.wrong) else []


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    scripted = World()
    monkeypatch.setattr(hold_module, "time", scripted)
    return scripted


class ScriptedWait(Wait):
    def look(self, state: State) -> list[Mismatch]:
        return world_of(self).look(state)

    def describe(self) -> str:
        world_of(self).described += 1
        return "2 of 2 pods ready"


def world_of(wait: Wait) -> World:
    assert isinstance(wait.record, World)
    return wait.record


def wait(
    world: World, *, quiet: bool = False, hold: float = HOLD, requests: int | None = None
) -> WaitResult:
    """Step through the script until the wait ends."""
    under_way = ScriptedWait(
        record=world, wanted=NOTHING, bounds=Bounds(follow=FOLLOW), since=SINCE,
        deadline=DEADLINE, hold=hold, blocked=quiet, requests=requests,
    )  # type: ignore[arg-type]  # fmt: skip
    while world.now < SINCE + 10 * DEADLINE:
        settled = under_way.step()
        if settled is not None:
            return settled
        world.now += POLL
    raise AssertionError("the wait has no end")


def close(value: float | None, wanted: float) -> bool:
    """Equal but for one pause between two looks."""
    return value is not None and wanted - 1e-6 <= value <= wanted + POLL + 1e-6


def test_what_matches_at_once_is_held_after_the_hold_window(world: World) -> None:
    settled = wait(world)
    assert settled.end is CheckpointEnd.HELD
    assert settled.mismatches == ()
    assert close(settled.reached_at, SINCE)
    assert close(settled.ended_at, SINCE + HOLD)


def test_the_hold_begins_when_the_last_change_arrived_and_not_when_it_was_looked_at(
    world: World,
) -> None:
    world.broken(SINCE, SINCE + 3.07)
    settled = wait(world)
    assert settled.reached_at == SINCE + 3.07
    assert close(settled.ended_at, SINCE + 3.07 + HOLD)


def test_a_mismatch_during_the_hold_begins_it_anew(world: World) -> None:
    world.broken(SINCE + 4.0, SINCE + 6.0)
    settled = wait(world)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE + 6.0)
    assert close(settled.ended_at, SINCE + 6.0 + HOLD)


def test_a_counted_write_begins_the_hold_anew(world: World) -> None:
    world.happens(SINCE + 4.5, counted=True)
    settled = wait(world)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE + 4.5)
    assert close(settled.ended_at, SINCE + 4.5 + HOLD)


def test_a_write_that_does_not_count_leaves_the_hold_alone(world: World) -> None:
    world.happens(SINCE + 4.5)
    settled = wait(world)
    assert close(settled.reached_at, SINCE)
    assert close(settled.ended_at, SINCE + HOLD)


def test_a_hold_begun_before_the_deadline_may_end_after_it(world: World) -> None:
    world.broken(SINCE, SINCE + DEADLINE - 1.0)
    settled = wait(world)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE + DEADLINE - 1.0)
    assert settled.ended_at > SINCE + DEADLINE


def test_a_hold_that_never_began_ends_at_the_deadline_with_what_is_wrong(world: World) -> None:
    world.broken(SINCE, SINCE + 10 * DEADLINE)
    settled = wait(world)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.DEADLINE, None)
    assert settled.mismatches == (LWS_MISSING,)
    assert close(settled.ended_at, SINCE + DEADLINE)


def test_a_hold_that_is_broken_after_the_deadline_is_not_begun_again(world: World) -> None:
    world.broken(SINCE, SINCE + DEADLINE - 1.0)
    world.happens(SINCE + DEADLINE + 2.0, counted=True)
    settled = wait(world)
    assert settled.end is CheckpointEnd.DEADLINE
    assert close(settled.ended_at, SINCE + DEADLINE + 2.0)


def test_a_mismatch_after_the_deadline_ends_the_wait(world: World) -> None:
    world.broken(SINCE, SINCE + DEADLINE - 1.0)
    world.broken(SINCE + DEADLINE + 1.0, SINCE + DEADLINE + 2.0)
    settled = wait(world)
    assert (settled.end, settled.mismatches) == (CheckpointEnd.DEADLINE, (LWS_MISSING,))


def starved(world: World, start: float, end: float, *, share: float = 0.0) -> None:
    """The operator got that share of a processor in between."""
    world.loads.append(Load(at=end, seconds=end - start, operator=share))


def test_an_operator_without_a_turn_is_waited_for(world: World) -> None:
    world.broken(SINCE, SINCE + 70)
    starved(world, SINCE, SINCE + 60)
    ended = wait(world)
    assert ended.end is CheckpointEnd.HELD
    assert close(ended.reached_at, SINCE + 70)


def test_one_that_had_its_turn_in_part_is_waited_for_as_much_longer(world: World) -> None:
    world.broken(SINCE, SINCE + 1000)
    starved(world, SINCE, SINCE + 1000, share=0.5)
    ended = wait(world)
    assert ended.end is CheckpointEnd.DEADLINE
    assert close(ended.ended_at, SINCE + 2 * DEADLINE)
    assert close(ended.turn, DEADLINE)


def test_patience_ends_and_then_nothing_is_proven(world: World) -> None:
    world.broken(SINCE, SINCE + 1000)
    starved(world, SINCE, SINCE + 1000, share=0.1)
    ended = wait(world)
    assert ended.end is CheckpointEnd.LATE
    assert close(ended.ended_at, SINCE + PATIENCE * DEADLINE)
    assert close(ended.turn, 0.1 * PATIENCE * DEADLINE)


def test_one_that_works_for_others_only_now_and_then_is_not_excused_for_ever(world: World) -> None:
    world.broken(SINCE, SINCE + 1000)
    for second in range(0, 1000, 2):
        at = SINCE + second + 1
        world.loads.append(Load(at=at, seconds=1.0, elsewhere=5))
    ended = wait(world)
    assert ended.end is CheckpointEnd.DEADLINE
    assert close(ended.ended_at, SINCE + 2 * DEADLINE + 1)


def test_what_a_slow_platform_took_is_not_held_against_the_operator(world: World) -> None:
    world.happens(SINCE + 20.0, "Pod", status=True)
    world.happens(SINCE + 25.0, "StatefulSet", status=True)
    world.broken(SINCE, SINCE + 34.0)
    settled = wait(world)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE + 34.0)
    assert settled.deadline == 35.0


def test_the_status_of_a_workload_is_the_platforms(world: World) -> None:
    world.happens(SINCE + 1.0, "LeaderWorkerSet")
    world.happens(SINCE + 28.0, "LeaderWorkerSet", status=True)
    world.wrong.append((SINCE, SINCE + 10 * DEADLINE))
    assert wait(world).deadline == 38.0


def test_what_the_operator_writes_late_gives_it_no_more_time(world: World) -> None:
    world.happens(SINCE + 1.0, "LeaderWorkerSet")
    world.happens(SINCE + 28.0, "LeaderWorkerSet")
    world.happens(SINCE + 29.0, "DynamoGraphDeployment", status=True)
    world.wrong.append((SINCE, SINCE + 10 * DEADLINE))
    settled = wait(world)
    assert settled.deadline == DEADLINE
    assert close(settled.ended_at, SINCE + DEADLINE)


def test_a_platform_that_never_rests_doubles_the_deadline_and_no_more(world: World) -> None:
    for second in range(1, 200, 2):
        world.happens(SINCE + second, "Pod", status=True)
    world.wrong.append((SINCE, SINCE + 10 * DEADLINE))
    settled = wait(world)
    assert (settled.end, settled.deadline) == (CheckpointEnd.DEADLINE, 2 * DEADLINE)
    assert close(settled.ended_at, SINCE + 2 * DEADLINE)


def test_writes_without_an_end_are_no_rest(world: World) -> None:
    for second in range(int(DEADLINE) + 5):
        world.happens(SINCE + second, counted=True)
    assert wait(world).end is CheckpointEnd.DEADLINE


def test_in_quiet_mode_every_change_begins_the_hold_anew(world: World) -> None:
    world.happens(SINCE + 4.5, "Pod")
    settled = wait(world, quiet=True)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE + 4.5)


def test_evidence_is_no_change_even_in_quiet_mode(world: World) -> None:
    world.happens(SINCE + 4.5, "Event")
    world.happens(SINCE + 4.6, "EndpointSlice")
    settled = wait(world, quiet=True)
    assert close(settled.ended_at, SINCE + HOLD)


GRAPH = "DynamoGraphDeployment"


def heartbeat(world: World, *, says: dict[str, Any] | None = None, **last: Any) -> None:
    """A graph's status is written every 3 s, the last time 4.5 s after the start as told."""
    said = {"conditions": [{"type": "Ready", "status": "False", "message": "1 ago"}]}
    for at, message in ((-6.0, "1 ago"), (-3.0, "2 ago"), (0.5, "3 ago"), (3.5, "4 ago")):
        again = {"conditions": [{**said["conditions"][0], "message": message}]}
        world.happens(SINCE + at, GRAPH, status=True, says=again)
    world.happens(SINCE + 4.5, GRAPH, status=True, says=says or said, **last)


def test_a_status_that_is_said_again_in_other_words_is_no_change(world: World) -> None:
    heartbeat(world)
    settled = wait(world, quiet=True)
    assert (settled.end, settled.reached_at) == (CheckpointEnd.HELD, SINCE)


def test_a_status_that_claims_something_else_is_a_change_in_quiet_mode(world: World) -> None:
    heartbeat(world, says={"conditions": [{"type": "Ready", "status": "True"}]})
    assert wait(world, quiet=True).reached_at == SINCE + 4.5


def test_labels_that_come_with_a_status_are_a_change_in_quiet_mode(world: World) -> None:
    heartbeat(world, labels={"a": "b"})
    assert wait(world, quiet=True).reached_at == SINCE + 4.5


def test_the_status_of_a_workload_is_always_a_change_in_quiet_mode(world: World) -> None:
    world.happens(SINCE + 0.5, "Deployment", status=True)
    world.happens(SINCE + 4.5, "Deployment", status=True)
    assert wait(world, quiet=True).reached_at == SINCE + 4.5


def test_an_operator_that_backs_off_comes_to_rest(world: World) -> None:
    world.requests = [SINCE + tenth / 10 for tenth in range(1, 41)]
    settled = wait(world, requests=5)
    assert (settled.end, settled.reached_at) == (
        CheckpointEnd.HELD,
        SINCE + 3.5,
    )  # five came after it
    assert close(settled.ended_at, SINCE + 3.5 + HOLD)


def test_requests_without_effect_do_not_matter_where_no_number_is_set(world: World) -> None:
    world.requests = [SINCE + tenth / 10 for tenth in range(1, 600)]
    assert close(wait(world).ended_at, SINCE + HOLD)


def test_an_operator_that_never_stops_sending_is_at_no_rest(world: World) -> None:
    world.requests = [SINCE + tenth / 10 for tenth in range(1, 600)]
    settled = wait(world, requests=5)
    assert settled.end is CheckpointEnd.DEADLINE


def test_nothing_is_steady_before_the_answer_to_the_last_request(world: World) -> None:
    world.happens(SINCE - 3.0)
    settled = wait(world)
    assert settled.reached_at == SINCE
    assert close(settled.ended_at, SINCE + HOLD)


def test_the_state_is_looked_at_only_when_something_arrived(world: World) -> None:
    world.happens(SINCE + 2.0)
    wait(world)
    assert world.looks == 2


def test_a_dead_recorder_ends_the_wait_without_a_conclusion(world: World) -> None:
    world.dies_at = SINCE + 2.0
    with pytest.raises(InfraError, match="no sign of life"):
        wait(world)


# The wait itself, by the real clock, with short times ------------------------------------------


def real(world: World, line: WaitLine) -> WaitResult:
    under_way = ScriptedWait(
        record=world, wanted=NOTHING, bounds=Bounds(follow=0.1, poll=0.01), since=world.time(),
        deadline=0.2, hold=0.1,
    )  # type: ignore[arg-type]  # fmt: skip
    return under_way.until_held(line)


class RealTime(World):
    def time(self) -> float:
        import time

        self.now = time.time()
        return self.now


@pytest.fixture
def real_world(monkeypatch: pytest.MonkeyPatch) -> RealTime:
    return RealTime()


def test_a_wait_looks_until_it_is_held_and_takes_its_line_away(
    real_world: RealTime, tmp_path: Path
) -> None:
    line = tmp_path / "gw0.waiting"
    settled = real(real_world, WaitLine(path=line, case="add/worker"))
    assert settled.end is CheckpointEnd.HELD
    assert settled.reached_at is not None
    assert settled.ended_at - settled.reached_at >= 0.1
    assert real_world.described == 1  # one line in two seconds; describing a state is dear
    assert not line.exists()


class Shown(WaitLine):
    def __init__(self) -> None:
        super().__init__(path=None)
        self.lines: list[tuple[float, float]] = []

    def show(self, what: Callable[[], str], *, elapsed: float, bound: float) -> None:
        self.lines.append((elapsed, bound))


def test_the_line_of_a_hold_window_tells_how_much_of_it_is_over(
    real_world: RealTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold_module, "time", real_world)
    line = Shown()
    now = real_world.time()
    real_world.wrong.append((0.0, now + 0.10))
    real_world.happens(now + 0.12)
    ended = real(real_world, line)
    assert ended.end is CheckpointEnd.HELD
    assert {bound for _, bound in line.lines} == {0.1, 0.2}
    assert ended.reached_at == now + 0.12
    last, bound = line.lines[-1]
    assert (round(last - (ended.ended_at - ended.reached_at), 1), bound) == (0.0, 0.1)


def test_a_wait_ends_at_the_deadline(real_world: RealTime) -> None:
    began = real_world.time()
    real_world.wrong.append((0.0, float("inf")))
    settled = real(real_world, WaitLine(path=None))
    assert (settled.end, settled.mismatches) == (CheckpointEnd.DEADLINE, (LWS_MISSING,))
    assert 0.2 <= settled.ended_at - began < 2.0


def test_the_result_of_a_wait_cannot_be_changed() -> None:
    settled: Any = WaitResult(
        end=CheckpointEnd.HELD, reached_at=1.0, ended_at=2.0, turn=1.0, deadline=30.0, mismatches=()
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        settled.end = CheckpointEnd.DEADLINE
