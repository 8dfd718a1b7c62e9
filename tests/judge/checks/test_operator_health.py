"""Operator health on histories written by hand."""

import pytest

from conformance.history.records import OperatorEventKind, Unseen
from conformance.judge.case import Case
from conformance.judge.checks.operator_health import check
from conformance.model.transition import add_multinode
from conformance.model.verdict import Verdict
from tests.builders import HistoryBuilder, a_graph, settled
from tests.judge.checks.reading import gating, only

BEFORE, AFTER = a_graph(), a_graph(node_count=2)
K = OperatorEventKind


def started() -> HistoryBuilder:
    h = HistoryBuilder()
    h.operator(K.STARTED)
    h.operator(K.READY)
    h.deployed(BEFORE)
    h.step(add_multinode("Worker"), BEFORE)
    h.become(settled(AFTER, generation=2), after=0.5)
    return h


def test_a_running_operator_conforms() -> None:
    h = started()
    h.operator(K.LOG, "reconciling, all is well; don't panic: it is fine")
    h.checkpoint(AFTER)
    assert check(Case(h.history())).verdict is Verdict.CONFORMS


def test_an_exit_violates_and_names_case_step_and_time() -> None:
    h = started()
    h.wait(1.0)
    h.operator(K.EXITED, "exit code 2")
    h.checkpoint(AFTER)
    message = only(check(Case(h.history())), Verdict.VIOLATES).message
    assert message.startswith("The operator exited by itself in case add/worker, 1.")
    assert message.endswith("s after add-multinode-2 (exit code 2)")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (K.PANIC, "panic: runtime error: index out of range"),
        (K.LOG, "panic: runtime error: index out of range"),
        (K.LOG, '{"msg":"Observed a panic","panic":"nil map"}'),
    ],
)
def test_a_panic_violates_however_it_was_noticed(kind: OperatorEventKind, text: str) -> None:
    h = started()
    h.operator(kind, text)
    h.checkpoint(AFTER)
    assert text in only(check(Case(h.history())), Verdict.VIOLATES).message


@pytest.mark.parametrize(
    ("lines", "crashes"),
    [
        (["Traceback (most recent call last):", "KeyError: 1", "2026-11-30T06:45:12Z INFO on"], 0),
        (["Traceback (most recent call last):", "KeyError: 1"], 0),
        (["2026-11-30T06:45:12Z INFO the graph's [signal SIGSEGV was read"], 0),
        (["[signal SIGSEGV: segmentation violation code=0x1]"], 1),
        (["fatal error: all goroutines are asleep - deadlock!"], 1),
    ],
)
def test_a_traceback_that_was_survived_is_no_crash_and_a_signal_is(
    lines: list[str], crashes: int
) -> None:
    h = started()
    for line in lines:
        h.operator(K.LOG, line)
    h.checkpoint(AFTER)
    assert len(gating(check(Case(h.history())))) == crashes


def test_a_restart_by_the_suite_is_fine() -> None:
    h = started()
    h.operator(K.KILLED)
    h.operator(K.STARTED)
    h.operator(K.READY)
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


def test_a_start_that_nobody_asked_for_violates() -> None:
    h = started()
    h.operator(K.STARTED)
    h.checkpoint(AFTER)
    assert "had not ended it" in only(check(Case(h.history())), Verdict.VIOLATES).message


def test_no_sign_of_a_start_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.checkpoint(BEFORE)
    assert check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_an_operator_that_was_not_started_again_is_unknown() -> None:
    h = started()
    h.operator(K.STOPPED)
    h.checkpoint(AFTER)
    assert "did not start it again" in only(check(Case(h.history())), Verdict.UNKNOWN).message


@pytest.mark.parametrize("hidden", [True, False])
def test_an_operator_of_which_nothing_is_seen_is_unknown_and_the_cause_is_named(
    hidden: bool,
) -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    if hidden:
        h.records.append(
            Unseen(at=h.now, kind="Pod", group="", resource="pods", reason="forbidden")
        )
    h.checkpoint(BEFORE)
    message = only(check(Case(h.history())), Verdict.UNKNOWN).message
    assert message.startswith("The suite may not see pods") is hidden
    assert "no sign that the operator was started" in message
