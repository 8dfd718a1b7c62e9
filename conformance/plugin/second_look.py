"""Cases that could not be decided among others are set aside, and run once more when those are done.

What a busy machine leaves undecided is late, not wrong. The second verdict stands; the report keeps
both.
"""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from filelock import FileLock

from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.model.verdict import Verdict
from conformance.plugin.collection import operator_of
from conformance.plugin.director import Signal, needs_closed, signal
from conformance.plugin.marks import mark_of
from conformance.plugin.run_options import RunOptions
from conformance.report.model import Attempt

ATTEMPTS = pytest.StashKey[Sequence[Attempt]]()
"""What earlier looks at a case showed."""
_ASIDE = pytest.StashKey[bool]()
_POLL_SECONDS = 0.2
_UNDECIDED_AGAIN = "undecided-again"
_ENOUGH = 3
"""Cases that could not be decided alone either, after which the machine is to blame and not the next
case."""
_LONGEST_SECONDS = 3600.0
"""Until all other cases are done: twice the time that an hour of CI leaves a whole run."""


def undecided(history: History, verdict: Verdict, problem: str = "") -> str:
    """Why a case is to be looked at again, in a clause; empty if its verdict stands. A violation always
    stands: it was seen, however busy the machine was. `problem` is what broke the case off."""
    if verdict is Verdict.VIOLATES or (verdict is Verdict.CONFORMS and not problem):
        return ""
    for checkpoint in history.checkpoints:
        if checkpoint.end is CheckpointEnd.LATE:
            return (
                f"the operator had its turn for {checkpoint.turn or 0.0:.1f} s of the "
                f"{checkpoint.at - checkpoint.since:.1f} s until {checkpoint.name}"
            )
    late = (fresh.problem for fresh in history.fresh if fresh.late)
    gaps = (gap.reason for gap in history.gaps)
    return problem or next(late, "") or next(gaps, "")


def may_look_again(item: pytest.Item) -> bool:
    """True for the first look at a case that others ran beside."""
    mark = mark_of(item)
    return mark is not None and not mark.disruptive and ATTEMPTS not in item.stash


def set_aside(item: pytest.Item, attempt: Attempt) -> None:
    """Keep what the first look showed, and end the case without a result of its own."""
    item.stash[ATTEMPTS] = [attempt]
    item.stash[_ASIDE] = True
    # To Allure this is a retry that proves nothing.
    pytest.skip(f"set aside, to be run alone: {attempt.why}")


def undecided_again(options: RunOptions, why: str) -> None:
    """Note that a case was run alone, and could not be decided all the same."""
    with (options.live / _UNDECIDED_AGAIN).open("a") as file:
        file.write(f"{why}\n")


def too_slow(options: RunOptions) -> str:
    """Why no verdict can be had on this machine, once that is sure; else empty."""
    path = options.live / _UNDECIDED_AGAIN
    found = path.read_text().splitlines() if path.exists() else []
    if len(found) < _ENOUGH:
        return ""
    return (
        f"this machine is too slow for a verdict: {len(found)} cases, run alone, could not be decided; "
        f"of the last, {found[-1]}. Give it more processors, or longer deadlines (--timeout-factor)"
    )


class SecondLooks:
    """What one test process has set aside."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._lock = FileLock(options.live / "second-look.lock")
        self._items: list[pytest.Item] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a case, and report it unless it is set aside."""
        if mark_of(item) is None:
            return None
        if self._items and item not in self._items and self._waits_for_close(item):
            self.run(item.session)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if item.stash.get(_ASIDE, False):
            item.stash[_ASIDE] = False
            self._items.append(item)
            _note(self._options, item.nodeid).write_text(item.stash[ATTEMPTS][0].why)
        else:
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def run(self, session: pytest.Session) -> None:
        """Run what was set aside, one case at a time in the whole run."""
        while self._items and not (session.shouldstop or session.shouldfail):
            item = self._items.pop(0)
            _await(signal(self._options, operator_of(item), Signal.ALONE).exists)
            with self._lock:
                item._initrequest()  # type: ignore[attr-defined]  # new fixtures; as plugins that rerun do
                item.user_properties.clear()
                with _reported_to_xdist(item):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _waits_for_close(self, item: pytest.Item) -> bool:
        """True for a case that waits until the cluster of those that were set aside is closed."""
        mark, operator = mark_of(item), operator_of(item)
        disruptive = mark is not None and mark.disruptive and needs_closed(self._options, operator)
        return disruptive or any(operator_of(aside) != operator for aside in self._items)


def was_set_aside(options: RunOptions, nodeid: str) -> str:
    """Why the case that just ended was set aside; empty if it was not. Tells it once."""
    note = _note(options, nodeid)
    if not note.exists():
        return ""
    why = note.read_text()
    note.unlink()
    return why


def _note(options: RunOptions, nodeid: str) -> Path:
    """A report would do, but JUnit and others would count it."""
    return options.live / f"{hashlib.sha256(nodeid.encode()).hexdigest()[:16]}.aside"


@contextlib.contextmanager
def _reported_to_xdist(item: pytest.Item) -> Iterator[None]:
    """A worker of pytest-xdist sends the place of the case with each report, and knows only its own
    order."""
    plugins = item.config.pluginmanager.get_plugins()
    # execnet runs its module under another name, so the class is not the one that can be imported.
    worker: Any = next((p for p in plugins if type(p).__name__ == "WorkerInteractor"), None)
    if worker is None:
        yield
        return
    place, worker.item_index = worker.item_index, item.session.items.index(item)
    try:
        yield
    finally:
        worker.item_index = place


def _await(condition: Callable[[], bool]) -> None:
    # After that long the case is run all the same, and may be undecided again.
    end = time.monotonic() + _LONGEST_SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
