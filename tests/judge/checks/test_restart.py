"""Restarts of the operator on histories written by hand."""

from conformance.history.records import CheckpointEnd, OperatorEventKind
from conformance.judge.case import Case
from conformance.judge.checks.restart import check
from conformance.model.transition import ChangeKind, Transition, add_multinode
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    HistoryBuilder,
    Raw,
    a_graph,
    edited,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

GRAPH = a_graph()
TOGGLE = add_multinode("Worker")
K = OperatorEventKind
STOP, START = (
    Transition(name=name, kinds=(ChangeKind.OPERATOR,), apply=lambda g: g, moves_generation=False)
    for name in ("stop operator", "start operator")
)


def restarted(*, back: bool = True, kill: bool = False) -> HistoryBuilder:
    """A settled graph whose operator was restarted."""
    h = HistoryBuilder(case="restart/idle")
    h.operator(K.STARTED)
    h.deployed(GRAPH)
    h.wait(1.0)
    h.step(STOP, GRAPH, code=0)
    h.operator(K.KILLED if kill else K.STOPPED)
    h.wait(1.0)
    if back:
        h.step(START, GRAPH, code=0)
        h.operator(K.STARTED)
        h.operator(K.READY)
    h.wait(0.5)
    return h


def pod_of(h: HistoryBuilder, start: str) -> Raw:
    return next(
        raw for raw in h.objects.values()
        if raw["kind"] == "Pod" and raw["metadata"]["name"].startswith(start)
    )  # fmt: skip


def test_a_restart_that_rewrites_nothing_conforms() -> None:
    h = restarted(kill=True)
    h.checkpoint(GRAPH)
    result = check(Case(h.history()))
    assert (result.verdict, result.looked_at) == (Verdict.CONFORMS, 1)


def test_a_restart_that_rewrites_a_child_violates_with_both_specs() -> None:
    h = restarted()
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True), by=OPERATOR)
    h.checkpoint(GRAPH)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.subject == "Deployment/agg-worker"
    assert "The operator changed the spec of Deployment agg-worker" in finding.message
    assert "controlled by DCD agg-worker, created by the operator" in finding.message
    assert finding.evidence["after"]["paused"] is True


def test_a_restart_that_makes_a_child_again_violates() -> None:
    h = restarted()
    service = h.live("Service", "agg-worker")
    h.delete(service, by=OPERATOR)
    h.create(edited(service, "metadata", "uid", to="new"), by=OPERATOR)
    h.checkpoint(GRAPH)
    found = gating(check(Case(h.history())))
    assert [f.verdict for f in found] == [Verdict.VIOLATES] * 2


def test_a_metadata_write_at_the_restart_is_reported_only() -> None:
    h = restarted()
    service = edited(h.live("Service", "agg-worker"), "metadata", "annotations", "v", to="2")
    h.update(service, by=OPERATOR)
    h.checkpoint(GRAPH)
    result = check(Case(h.history()))
    assert gating(result) == []
    assert "does not gate" in reported(result)[0].message


def test_pods_that_the_restart_rolled_violate() -> None:
    h = restarted()
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True), by=OPERATOR)
    pod = pod_of(h, "agg-worker")
    h.delete(pod)
    h.create(edited(pod, "metadata", "uid", to="new"))
    h.checkpoint(GRAPH)
    messages = [f.message for f in gating(check(Case(h.history())))]
    assert any("1 pod of service worker of agg did not outlive" in m for m in messages)


def test_a_pod_that_the_platform_lost_meanwhile_is_unknown() -> None:
    h = restarted()
    h.delete(pod_of(h, "agg-worker"), by=PLATFORM)
    h.checkpoint(GRAPH)
    assert "the platform's doing" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_child_rewritten_by_an_unknown_writer_is_unknown() -> None:
    h = restarted()
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True), by=STRANGER)
    h.checkpoint(GRAPH)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_a_change_carried_out_after_a_kill_conforms_and_spares_other_services() -> None:
    after = TOGGLE.apply(GRAPH)
    h = HistoryBuilder(case="restart/kill")
    h.operator(K.STARTED)
    h.deployed(GRAPH)
    h.step(TOGGLE, GRAPH)
    h.step(STOP, after, code=0)
    h.operator(K.KILLED)
    h.wait(1.0)
    h.operator(K.STARTED)
    h.operator(K.READY)
    h.become(settled(after, generation=2), after=0.5)
    h.checkpoint(after)
    assert check(Case(h.history())).verdict is Verdict.CONFORMS
    h = _killed_and_rolled(after)
    assert "service frontend" in only(check(Case(h.history())), Verdict.VIOLATES).message


def _killed_and_rolled(after: object) -> HistoryBuilder:
    h = HistoryBuilder(case="restart/kill")
    h.operator(K.STARTED)
    h.deployed(GRAPH)
    h.step(TOGGLE, GRAPH)
    h.step(STOP, TOGGLE.apply(GRAPH), code=0)
    h.operator(K.KILLED)
    h.operator(K.STARTED)
    h.become(settled(TOGGLE.apply(GRAPH), generation=2), after=0.5)
    h.update(edited(h.live("Deployment", "agg-frontend"), "spec", "paused", to=True), by=OPERATOR)
    h.delete(pod_of(h, "agg-frontend"))
    h.checkpoint(TOGGLE.apply(GRAPH))
    return h


def test_an_operator_that_did_not_come_back_is_unknown() -> None:
    h = restarted(back=False)
    h.checkpoint(GRAPH)
    assert "has not been started again" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_restart_without_any_sign_of_it_is_unknown() -> None:
    h = HistoryBuilder(case="restart/idle")
    h.deployed(GRAPH)
    h.wait(2.0)
    h.step(STOP, GRAPH, code=0)
    h.checkpoint(GRAPH)
    assert "no sign" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_state_that_did_not_match_in_time_is_unknown() -> None:
    h = restarted()
    h.checkpoint(GRAPH, end=CheckpointEnd.DEADLINE)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_a_gap_is_unknown() -> None:
    h = restarted()
    h.gap()
    h.checkpoint(GRAPH)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_a_case_without_a_restart_does_not_apply() -> None:
    h = HistoryBuilder()
    h.operator(K.STARTED)
    h.deployed(GRAPH)
    h.step(TOGGLE, GRAPH)
    h.checkpoint(GRAPH)
    assert check(Case(h.history())).verdict is None
