"""Quiescence on histories written by hand."""

import dataclasses
import datetime

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, OperatorEventKind, Write
from conformance.judge.case import Case
from conformance.judge.checks.quiescence import check
from conformance.model.transition import add_multinode, annotate, no_op
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    HistoryBuilder,
    a_graph,
    edited,
    made,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

BEFORE, AFTER = a_graph(), a_graph(node_count=2)


def toggled() -> HistoryBuilder:
    """multinode added and carried out; the checkpoint is still to come."""
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.step(add_multinode("Worker"), BEFORE)
    h.become(settled(AFTER, generation=2), after=0.5)
    return h


def rewrite_service(h: HistoryBuilder, value: str, *, by: str = OPERATOR) -> None:
    h.update(edited(h.live("Service", "agg-worker"), "spec", "selector", "x", to=value), by=by)


def held_with(h: HistoryBuilder, *times: float, by: str = OPERATOR) -> History:
    """The checkpoint is held, although the Service was rewritten at these times of its hold window."""
    start = h.now
    for number, time in enumerate(times):
        h.now = start + time
        rewrite_service(h, str(number), by=by)
    h.now = start
    h.checkpoint(AFTER)
    return h.history()


def test_a_quiet_hold_window_conforms() -> None:
    h = toggled()
    h.checkpoint(AFTER)
    result = check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.looked_at == 1


def test_a_write_in_the_hold_window_violates_and_names_object_owner_and_writer() -> None:
    finding = only(check(Case(held_with(toggled(), 2.0))), Verdict.VIOLATES)
    assert finding.subject == "Service/agg-worker"
    assert finding.message == (
        "Service agg-worker (controlled by DynamoComponentDeployment agg-worker) changed 1 time at "
        "rest, by the operator, within 5 s up to checkpoint 2 (spec)"
    )


def test_a_write_before_the_hold_window_does_not_count() -> None:
    h = toggled()
    rewrite_service(h, "x")
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


def at_deadline(h: HistoryBuilder, *, matched: bool) -> History:
    """The checkpoint comes at the deadline; `matched` says whether the state matched there."""
    checkpoint = h.checkpoint(AFTER, end=CheckpointEnd.DEADLINE)
    reached = checkpoint.at - 0.1 if matched else None
    return History(
        dataclasses.replace(r, reached_at=reached) if r is checkpoint else r for r in h.records
    )


def looping(*, pause: float) -> HistoryBuilder:
    h = toggled()
    for number in range(int(30 / pause)):
        h.wait(pause - 0.001)
        rewrite_service(h, str(number))
    return h


def test_a_hot_loop_at_the_deadline_violates_and_says_how_long_after_the_change() -> None:
    found = gating(check(Case(at_deadline(looping(pause=0.2), matched=True))))
    assert {finding.verdict for finding in found} == {Verdict.VIOLATES}
    assert "30.5 s after the last change of the case" in found[0].message
    assert any("mutating requests" in finding.message for finding in found)


def test_a_spin_on_one_object_violates_though_the_state_does_not_match() -> None:
    found = gating(check(Case(at_deadline(looping(pause=0.2), matched=False))))
    assert [f.subject for f in found] == ["Service/agg-worker", "services/agg-worker"]
    assert "without making the state match" in found[0].message


def test_an_operator_that_follows_a_slow_platform_is_not_at_fault() -> None:
    """Seen: six status writes in 5 s while the LWS controller still rolled groups."""
    assert gating(check(Case(at_deadline(looping(pause=1.1), matched=False)))) == []


def test_a_write_by_an_unknown_writer_is_unknown() -> None:
    finding = only(check(Case(held_with(toggled(), 2.0, by=STRANGER))), Verdict.UNKNOWN)
    assert "by an unknown writer" in finding.message


def test_writes_of_the_platform_are_reported_and_do_not_gate() -> None:
    h = toggled()
    start = h.now
    h.now += 2.0
    pod = next(raw for raw in h.objects.values() if raw["kind"] == "Pod")
    h.update(edited(pod, "metadata", "labels", "a", to="b"), by=PLATFORM)
    h.now = start
    h.checkpoint(AFTER)
    result = check(Case(h.history()))
    assert gating(result) == []
    assert "does not count against the operator" in reported(result)[0].message


def test_no_op_requests_beyond_the_rate_violate_though_nothing_changed() -> None:
    h = toggled()
    start = h.now
    for number in range(8):
        h.now = start + 0.5 * number + 0.1
        h.write(h.live("Deployment", "agg-frontend"), "update", by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert "8 mutating requests" in finding.message
    assert "update deployments/agg-frontend" in finding.message


def test_five_requests_in_five_seconds_are_allowed() -> None:
    h = toggled()
    start = h.now
    for number in range(5):
        h.now = start + number + 0.1
        h.write(h.live("Deployment", "agg-frontend"), "update", by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


@pytest.mark.parametrize(("said", "storm"), [(0.0, True), (-3.0, False)])
def test_an_event_storm_violates_unless_it_tells_of_earlier(said: float, storm: bool) -> None:
    h = toggled()
    start = h.now
    for number in range(8):
        h.now = start + 0.5 * number + 0.1
        stamp = datetime.datetime.fromtimestamp(h.now + said, tz=datetime.UTC).isoformat()
        event = made("Event", f"agg.{number}", uid=f"event-{number}")
        event |= {"reason": "Synced", "involvedObject": {"kind": "Service", "name": "agg-worker"}}
        h.create({**event, "lastTimestamp": stamp}, by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    messages = [finding.message for finding in gating(check(Case(h.history())))]
    told = [m for m in messages if "emitted" in m and "about Service agg-worker" in m]
    assert bool(told) is storm


def test_events_that_are_sent_late_are_no_requests_at_rest() -> None:
    h = toggled()
    start = h.now
    for number in range(20):
        h.now = start + 0.2 * number + 0.1
        h.write(made("Event", f"agg.{number % 3}"), "patch", by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


@pytest.mark.parametrize("ago", [0.0, 4.0])
@pytest.mark.parametrize(("pause", "storm"), [(0.05, False), (0.3, True)])
def test_the_first_pass_of_an_operator_that_just_started_is_no_storm(
    pause: float, storm: bool, ago: float
) -> None:
    """Seen: a build whose /readyz said ok 0.3 s before it looked at anything emitted 18 Events in
    0.5 s then, and wrote nothing. One that goes on beyond the pass is at no rest."""
    h = toggled()
    h.operator(OperatorEventKind.STARTED)
    h.wait(ago)
    start = h.now
    h.wait(0.3)
    for number in range(15):
        h.wait(pause)
        event = made("Event", f"agg.{number}", uid=f"event-{number}")
        event |= {"reason": "Synced", "involvedObject": {"kind": "Service", "name": "agg-worker"}}
        h.create(event, by=OPERATOR)
        h.write(h.live("DynamoComponentDeployment", "agg-worker"), "update", by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    messages = [finding.message for finding in gating(check(Case(h.history())))]
    assert any("mutating requests" in m for m in messages) is storm
    assert any("emitted" in m for m in messages) is storm


@pytest.mark.parametrize("in_case", [True, False])
@pytest.mark.parametrize("looks", [1, 2])
def test_one_look_at_each_object_after_a_start_is_no_unrest_whenever_it_comes(
    looks: int, in_case: bool
) -> None:
    """Seen of a build in a pod: one controller began 3 s after the other, looked at each object, and
    emitted an Event about each. A second look at rest is a loop; and what was made after the start
    cannot be met by it."""
    h = HistoryBuilder()
    if not in_case:
        h.operator(OperatorEventKind.STARTED)
        h.wait(0.5)
    h.deployed(BEFORE)
    h.step(add_multinode("Worker"), BEFORE)
    h.become(settled(AFTER, generation=2), after=0.5)
    if in_case:
        h.operator(OperatorEventKind.STARTED)
    h.wait(0.2)
    h.write(h.live("DynamoComponentDeployment", "agg-worker"), "update", by=OPERATOR)
    h.wait(2.5)
    start = h.now
    for look in range(looks):
        for number in range(10):
            h.wait(0.1)
            about = {"kind": "Service", "name": f"s-{number}"}
            event = made("Event", f"agg.{look}.{number}", uid=f"event-{look}-{number}")
            h.create({**event, "reason": "Synced", "involvedObject": about}, by=OPERATOR)
            h.write(made("Service", f"s-{number}"), "update", by=OPERATOR)
    h.now = start
    h.checkpoint(AFTER)
    messages = [finding.message for finding in gating(check(Case(h.history())))]
    unrest = looks == 2 or not in_case
    assert any("mutating requests" in m for m in messages) is unrest
    assert any("emitted" in m for m in messages) is unrest


def test_a_change_in_the_first_pass_of_an_operator_counts() -> None:
    h = toggled()
    h.operator(OperatorEventKind.STARTED)
    assert only(check(Case(held_with(h, 0.4))), Verdict.VIOLATES).subject == "Service/agg-worker"


@pytest.mark.parametrize(("status", "expected"), [("True", True), ("False", False)])
def test_a_transition_time_that_moves_alone_violates(status: str, expected: bool) -> None:
    h = toggled()
    start = h.now
    graph = h.live("DynamoGraphDeployment", "agg")
    condition = {**graph["status"]["conditions"][0], "lastTransitionTime": "2026-01-01T00:00:00Z"}
    h.update(edited(graph, "status", "conditions", to=[condition]), by=OPERATOR, status=True)
    h.now = start + 1.0
    moved = {**condition, "status": status, "lastTransitionTime": "2026-01-01T00:00:01Z"}
    h.update(edited(graph, "status", "conditions", to=[moved]), by=OPERATOR, status=True)
    h.now = start
    h.checkpoint(AFTER)
    messages = [finding.message for finding in gating(check(Case(h.history())))]
    assert any("condition Ready of DGD agg moved 1 time" in m for m in messages) is expected


def no_op_case(*, moved: bool = False, rewrite: bool = False, note: bool = False) -> History:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.wait(1.0)
    transition = annotate("a", "b") if note else no_op()
    graph = transition.apply(BEFORE)
    h.step(transition, BEFORE, moved=moved)
    if rewrite:
        h.wait(0.2)
        rewrite_service(h, "x")
    h.checkpoint(graph)
    return h.history()


@pytest.mark.parametrize("note", [False, True])
def test_a_no_op_that_moves_nothing_conforms(note: bool) -> None:
    assert check(Case(no_op_case(note=note))).verdict is Verdict.CONFORMS


def test_a_no_op_that_moves_the_generation_violates() -> None:
    messages = [f.message for f in gating(check(Case(no_op_case(moved=True))))]
    assert messages == [
        "no-op changed nothing of the spec of agg, but moved its generation from 1 to 2"
    ]


def test_an_annotation_that_rewrites_a_child_violates_even_before_the_hold() -> None:
    finding = only(check(Case(no_op_case(note=True, rewrite=True))), Verdict.VIOLATES)
    assert "The operator changed the spec of Service agg-worker" in finding.message
    assert finding.step == "annotation-only"


def test_an_idle_window_in_which_a_child_is_rewritten_violates() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.step(no_op(), BEFORE, code=0)
    h.wait(1.0)
    rewrite_service(h, "x")
    h.checkpoint(BEFORE)
    assert check(Case(h.history())).verdict is Verdict.VIOLATES


def test_a_gap_in_the_window_makes_rest_unknown() -> None:
    h = toggled()
    start = h.now
    h.now += 2.0
    h.gap("Service")
    h.now = start
    h.checkpoint(AFTER)
    assert "gap for Service" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_gap_before_the_window_is_of_no_matter() -> None:
    h = toggled()
    h.gap("Service")
    h.wait(1.0)
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


def test_a_disagreeing_list_makes_rest_unknown() -> None:
    h = toggled()
    h.checkpoint(AFTER, disagreed={"Service": "agg-x is not in the record"})
    assert "disagreed with a list" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_an_interrupted_wait_is_unknown() -> None:
    h = toggled()
    h.checkpoint(AFTER, end=CheckpointEnd.INTERRUPTED)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_no_judged_checkpoint_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    assert "no judged checkpoint" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_an_audit_log_without_the_operator_is_unknown() -> None:
    h = toggled()
    h.checkpoint(AFTER)
    records = [r for r in h.records if not (isinstance(r, Write) and r.user == OPERATOR)]
    finding = only(check(Case(History(records))), Verdict.UNKNOWN)
    assert "no request of the operator" in finding.message


def test_matching_without_a_hold_and_without_a_reason_is_unknown() -> None:
    finding = only(check(Case(at_deadline(toggled(), matched=True))), Verdict.UNKNOWN)
    assert "no write of the operator explains" in finding.message
