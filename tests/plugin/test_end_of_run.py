"""How long the end of a run waits: while things go, and not for ever."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.driver.environment import CaseEnvironment
from conformance.history.records import CheckpointEnd, Event, EventType, Record, Scope, Write
from conformance.model.bounds import Bounds
from conformance.model.labels import OWNED
from conformance.model.run_cases import RunCase
from conformance.plugin import end_of_run
from conformance.record.run_record import RunRecord, read_endings
from tests.objects import a_profile, made

BOUNDS = Bounds(deletion_deadline=0.4, follow=0.3, hold=0.2, deadline=0.6)
OPERATOR = "dgd-operator"


class Scripted(RunRecord):
    """A record in which `names` tells what Services there are after so many seconds."""

    def __init__(
        self,
        directory: Path,
        names: Callable[[float], list[str]],
        writes: Callable[[float], int] = lambda _: 0,
    ) -> None:
        super().__init__(directory, read_endings(directory))
        self.begun = time.time()
        self.names, self.writes = names, writes
        self.sent: list[Write] = []

    def catch_up(self, *, within: float) -> None:
        now = time.time()
        while len(self.sent) < self.writes(now - self.begun):
            self.sent.append(
                Write(
                    at=now, received_at=now, verb="patch", user=OPERATOR, agent="", group="",
                    resource="configmaps", subresource="", namespace="operator", name="state",
                    code=200,
                )
            )  # fmt: skip

    def present(self) -> list[Event]:
        names = self.names(time.time() - self.begun)
        return [event(made("Service", name, uid=name)) for name in names]

    def remaining(self, *, since: float, requests: float) -> list[Record]:
        owned = made("Namespace", "case-1", namespace=None, labels={OWNED: "true"})
        return [event(owned, EventType.LISTED), *self.present(), *self.sent]


def event(raw: dict[str, Any], type_: EventType = EventType.ADDED) -> Event:
    return Event(type=type_, revision=1, at=time.time(), object=raw)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_of_run, "_POLL_SECONDS", 0.02)


def judging(record: RunRecord) -> end_of_run._Judging:
    environment = CaseEnvironment(
        profile=a_profile(), bounds=BOUNDS, kubeconfig=Path("none"), recording=Path("none"),
        results=Path("none"), operator_events=Path("none"), users={OPERATOR: "operator"},
    )  # fmt: skip
    return end_of_run._Judging(environment, RunCase.NOTHING_LEFT, Scope.RUN, time.time(), record)


def waited(record: RunRecord, graphs: int = 1) -> tuple[bool, float]:
    begun = time.monotonic()
    gone = end_of_run._await_gone(judging(record), graphs)
    return gone, time.monotonic() - begun


def going(count: int, each: float) -> Callable[[float], list[str]]:
    """One object after another goes, each after so many seconds."""
    return lambda elapsed: [f"s{n}" for n in range(count) if elapsed < (n + 1) * each]


def test_nothing_left_is_not_waited_for(tmp_path: Path) -> None:
    gone, seconds = waited(Scripted(tmp_path, lambda _: []))
    assert gone
    assert seconds < BOUNDS.deletion_deadline


def test_what_stays_is_waited_for_as_long_as_a_deletion_may_take(tmp_path: Path) -> None:
    gone, seconds = waited(Scripted(tmp_path, lambda _: ["stuck"]))
    assert not gone
    assert BOUNDS.deletion_deadline <= seconds < 2 * BOUNDS.deletion_deadline


def test_while_things_go_it_may_take_longer(tmp_path: Path) -> None:
    gone, seconds = waited(Scripted(tmp_path, going(7, each=0.1)))
    assert gone
    assert seconds > BOUNDS.deletion_deadline


def test_but_not_beyond_a_bound_that_grows_with_the_graphs(tmp_path: Path) -> None:
    slow = going(60, each=0.1)
    gone, seconds = waited(Scripted(tmp_path, slow), graphs=0)
    assert not gone
    assert seconds < 4 * BOUNDS.deletion_deadline
    gone, longer = waited(Scripted(tmp_path, slow), graphs=50)
    assert not gone
    assert longer > seconds


def test_what_is_made_again_and_again_is_no_progress(tmp_path: Path) -> None:
    gone, seconds = waited(Scripted(tmp_path, lambda elapsed: [f"again-{elapsed:.2f}"]))
    assert not gone
    assert seconds < 2 * BOUNDS.deletion_deadline + BOUNDS.follow


def test_an_operator_that_still_has_to_find_out_is_given_until_the_deadline(
    tmp_path: Path,
) -> None:
    late = judging(Scripted(tmp_path, lambda _: [], lambda elapsed: 3 if elapsed > 0.05 else 0))
    end_of_run._await_rest(late)
    assert late.end is CheckpointEnd.HELD
    never = judging(Scripted(tmp_path, lambda _: [], lambda elapsed: int(elapsed * 100)))
    end_of_run._await_rest(never)
    assert never.end is CheckpointEnd.DEADLINE
    assert never.hold == BOUNDS.hold
