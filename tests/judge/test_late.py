"""What is wrong where the operator had no turn of that length proves nothing; what it did counts.

Each history is judged twice: as it ended at the deadline, and as it ended late.
"""

from collections.abc import Callable

import pytest

from conformance.history.records import CheckpointEnd, OperatorEventKind
from conformance.judge.verdict import judge
from conformance.model.graph import Graph
from conformance.model.transition import add_multinode, set_image
from conformance.model.verdict import CheckerName, Outcome, Verdict
from tests.builders import (
    NAMESPACE,
    OPERATOR,
    PLATFORM,
    SUITE,
    HistoryBuilder,
    a_graph,
    a_profile,
    deletion,
    namespace_basics,
    settled,
)

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
BASICS = {raw["metadata"]["uid"] for raw in namespace_basics()}


def nothing_done() -> HistoryBuilder:
    """Multinode was added, and the operator has not looked at it."""
    h = HistoryBuilder(a_profile(), case="add_multinode/agg")
    h.deployed(SINGLE)
    h.wait(3)
    h.step(add_multinode("Worker"), SINGLE)
    return h


def deployment_kept() -> HistoryBuilder:
    """Multinode was added, the LeaderWorkerSet is there, and the Deployment stays."""
    h = nothing_done()
    kept = [
        raw for raw in settled(SINGLE)
        if raw["kind"] in ("Deployment", "ReplicaSet", "Pod") and "worker" in raw["metadata"]["name"]
    ]  # fmt: skip
    h.become([*settled(MULTI, generation=2), *kept], after=0.5)
    return h


def image_not_rolled() -> HistoryBuilder:
    """The image was changed, and the operator has not looked at it."""
    h = HistoryBuilder(a_profile(), case="image/agg")
    h.deployed(SINGLE)
    h.wait(3)
    h.step(set_image("Worker", "vllm-runtime:2.0.0"), SINGLE)
    return h


def child_left() -> HistoryBuilder:
    """The graph was deleted, and one Service is still there."""
    h = HistoryBuilder(a_profile(), case="delete/agg")
    h.deployed(SINGLE)
    h.wait(1.0)
    h.step(deletion(SINGLE), SINGLE, propagation="Background")
    h.delete(h.live("DynamoGraphDeployment", "agg"), by=SUITE)
    h.wait(0.5)
    gone = [
        raw for uid, raw in h.objects.items()
        if uid not in BASICS and (raw["kind"], raw["metadata"]["name"]) != ("Service", "agg-worker")
    ]  # fmt: skip
    h.delete(*gone, by=PLATFORM)
    return h


STORIES = [
    pytest.param(nothing_done, (MULTI,), CheckerName.SIZE, id="nothing done"),
    pytest.param(deployment_kept, (MULTI,), CheckerName.COEXISTENCE, id="deployment kept"),
    pytest.param(
        image_not_rolled,
        (set_image("Worker", "vllm-runtime:2.0.0").apply(SINGLE),),
        CheckerName.FIDELITY,
        id="image not rolled",
    ),
    pytest.param(child_left, (), CheckerName.DELETION, id="child left"),
]


@pytest.mark.parametrize(("story", "graphs", "checker"), STORIES)
def test_late_is_not_wrong(
    story: Callable[[], HistoryBuilder], graphs: tuple[Graph, ...], checker: CheckerName
) -> None:
    stuck, late = story(), story()
    stuck.checkpoint(*graphs, end=CheckpointEnd.DEADLINE)
    late.checkpoint(*graphs, end=CheckpointEnd.LATE)
    wrong, undecided = judge(stuck.history()), judge(late.history())
    assert wrong.verdict is Verdict.VIOLATES
    assert wrong.result(checker).verdict is Verdict.VIOLATES
    assert undecided.verdict is Verdict.UNKNOWN
    assert not [one for one in undecided.findings if one.verdict is Verdict.VIOLATES]
    told = {(one.checker, one.subject) for one in undecided.findings if one.gates}
    assert {(one.checker, one.subject) for one in wrong.findings if one.gates} <= told
    assert set(undecided.outcomes.values()) >= {Outcome.INCONCLUSIVE}
    assert Outcome.FAILED not in undecided.outcomes.values()


def test_a_late_finding_says_how_long_the_operator_had_its_turn() -> None:
    h = nothing_done()
    h.checkpoint(MULTI, end=CheckpointEnd.LATE)
    told = [one.message for one in judge(h.history()).findings if one.gates]
    assert any("the operator had its turn for 3.0 s of 120.0 s" in message for message in told)


def crashed(h: HistoryBuilder) -> None:
    h.operator(OperatorEventKind.PANIC, "panic: assignment to entry in nil map")


def foreign_overwritten(h: HistoryBuilder) -> None:
    h.edit("ConfigMap", "mine", by=OPERATOR, data={"of": "the operator"})


@pytest.mark.parametrize(
    ("deed", "checker"),
    [(crashed, CheckerName.OPERATOR_HEALTH), (foreign_overwritten, CheckerName.FOREIGN)],
)
def test_what_was_done_counts_at_first_sight_however_late_the_rest_is(
    deed: Callable[[HistoryBuilder], None], checker: CheckerName
) -> None:
    h = nothing_done()
    h.foreign(
        {
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"of": "another"},
            "metadata": {"name": "mine", "namespace": NAMESPACE, "uid": "mine"},
        }
    )  # fmt: skip
    h.wait(1)
    deed(h)
    h.checkpoint(MULTI, end=CheckpointEnd.LATE)
    assert judge(h.history()).result(checker).verdict is Verdict.VIOLATES
