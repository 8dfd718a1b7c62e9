"""Size and selectors: what the rules find becomes a sentence; blame and doubt keep theirs."""

from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case
from conformance.judge.checks import selectors, size
from conformance.model.transition import change_node_count, remove_multinode
from conformance.model.verdict import Verdict
from tests.builders import (
    HistoryBuilder,
    a_graph,
    dgd,
    edited,
    find,
    made,
    settled,
    swapped,
)

SINGLE, TWO, THREE = a_graph(), a_graph(node_count=2), a_graph(node_count=3)


def test_size_not_changed_is_said_with_both_numbers_and_the_creator() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    h.step(change_node_count("Worker", to=3), TWO)
    h.become(swapped(settled(TWO), dgd(THREE, generation=2)), after=0.3)
    h.checkpoint(THREE, end=CheckpointEnd.DEADLINE)
    first = size.check(Case(h.history())).findings[0]
    assert first.verdict is Verdict.VIOLATES
    assert first.message == (
        "LeaderWorkerSet agg-worker-0 of service Worker has size 2, expected 3, 30.0 s after "
        "nodeCount "
        "of service Worker was changed to 3; it is controlled by DCD agg-worker, created by the "
        "operator"
    )


def test_right_size_conforms() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    h.step(change_node_count("Worker", to=3), TWO)
    h.become(settled(THREE, generation=2), after=0.3)
    h.checkpoint(THREE)
    assert size.check(Case(h.history())).verdict is Verdict.CONFORMS


def test_left_over_stateful_set_of_the_lws_controller_is_unknown_and_names_it() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    lws = find(settled(TWO), "LeaderWorkerSet", "agg-worker-0")
    h.create(made("StatefulSet", "agg-worker-0-1", owner=lws, uid="extra"))
    h.checkpoint(TWO)
    (finding,) = size.check(Case(h.history())).findings
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.message.endswith("the fault is with the LWS controller")


def test_stale_selector_after_remove_violates() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    h.step(remove_multinode("Worker"), TWO)
    after = settled(SINGLE, generation=2)
    old = find(settled(TWO), "Service", "agg-worker")
    h.become(swapped(after, old), after=0.5)
    h.checkpoint(SINGLE, end=CheckpointEnd.DEADLINE)
    (finding,) = selectors.check(Case(h.history())).findings
    assert finding.verdict is Verdict.VIOLATES
    assert finding.subject == "Service/agg-worker"
    assert "30.0 s after multinode was removed from service Worker" in finding.message
    assert finding.message.endswith("it is controlled by DCD agg-worker, created by the operator")


def test_selectors_of_a_settled_graph_conform() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    assert selectors.check(Case(h.history())).verdict is Verdict.CONFORMS


def test_size_of_an_unrecorded_graph_is_unknown() -> None:
    h = HistoryBuilder()
    h.checkpoint(TWO)
    assert size.check(Case(h.history())).verdict is Verdict.UNKNOWN
    assert selectors.check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_unready_pods_at_the_deadline_violate() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    h.step(change_node_count("Worker", to=3), TWO)
    h.become(settled(THREE, generation=2, ready=False), after=0.3)
    h.checkpoint(THREE, end=CheckpointEnd.DEADLINE)
    assert size.check(Case(h.history())).verdict is Verdict.VIOLATES


def test_dying_pod_at_the_deadline_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    pod = next(raw for raw in settled(SINGLE) if raw["kind"] == "Pod" and "worker" in str(raw))
    dying = edited(pod, "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z")
    renamed = edited(edited(dying, "metadata", "uid", to="old"), "metadata", "name", to="old")
    h.create(renamed)
    h.checkpoint(SINGLE, end=CheckpointEnd.DEADLINE)
    assert size.check(Case(h.history())).verdict is Verdict.UNKNOWN
