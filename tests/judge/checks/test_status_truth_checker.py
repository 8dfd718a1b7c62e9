"""Status truth: a claim must have been true shortly before it was written, and at rest."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Step
from conformance.judge.case import Case
from conformance.judge.checks import status_truth
from conformance.judge.checks.parts import truth
from conformance.judge.verdict import judge
from conformance.model.graph import Graph
from conformance.model.state import Obj
from conformance.model.transition import add_multinode, remove_multinode, scale, set_image
from conformance.model.verdict import Finding, Verdict
from tests.builders import (
    OPERATOR,
    HistoryBuilder,
    Raw,
    a_graph,
    condition,
    dcd,
    deploy,
    dgd,
    edited,
    find,
    settled,
    settled_component,
    swapped,
)

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def left_over() -> list[Raw]:
    return [
        raw for raw in settled(SINGLE)
        if raw["kind"] in ("Deployment", "ReplicaSet", "Pod") and "worker" in
        raw["metadata"]["name"] ]  # fmt: skip


def found(h: HistoryBuilder) -> list[Finding]:
    return [finding for finding in status_truth.check(Case(h.history())).findings if finding.gates]


def toggled() -> HistoryBuilder:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.wait(10)
    h.step(add_multinode("Worker"), SINGLE)
    return h


def test_honest_toggle_conforms() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    result = status_truth.check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.looked_at > 2


def test_ready_while_both_exist_is_a_lie_though_it_ends_well() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2) + left_over(), after=0.5)
    h.become(settled(MULTI, generation=2), after=5)
    h.checkpoint(MULTI)
    (finding,) = found(h)
    assert finding.verdict is Verdict.VIOLATES
    assert "DGD agg was said to be Ready of generation 2 0.5 s after multinode" in finding.message


def test_an_answer_that_came_later_than_what_followed_makes_no_negative_time() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2) + left_over(), after=0.5)
    h.become(settled(MULTI, generation=2), after=5)
    h.checkpoint(MULTI)
    late = [
        dataclasses.replace(r, answered_at=r.answered_at + 1.0) if isinstance(r, Step) else r
        for r in h.records
    ]
    (finding,) = status_truth.check(Case(History(late))).findings
    assert "DGD agg was said to be Ready of generation 2 0.0 s after multinode" in finding.message
    assert "after multinode was added to service Worker" in finding.message
    both = (
        "Deployment agg-worker of service Worker still exists beside LeaderWorkerSet agg-worker-0"
    )
    assert both in finding.message
    assert finding.message.endswith("controlled by DCD agg-worker, created by the operator")


def test_claim_from_a_lagging_cache_is_no_lie() -> None:
    """Ready of the old generation, written just after the change: true a checkpoint ago."""
    h = toggled()
    h.update(dgd(MULTI, generation=2, observed=1), by=OPERATOR, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert found(h) == []


@pytest.mark.parametrize("seconds", [0.0, 5.0, 20.0])
def test_an_old_claim_repeated_before_the_operator_did_anything_is_no_lie(seconds: float) -> None:
    """However long its cache lags: nothing shows that it has read the change."""
    h = toggled()
    h.wait(seconds)
    h.update(dgd(MULTI, generation=2, observed=None, reason="again"), by=OPERATOR, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert found(h) == []


def test_ready_of_a_graph_made_anew_before_it_has_a_child_is_a_lie() -> None:
    """Read off the children of the graph that had the name before."""
    h = HistoryBuilder()
    h.step(deploy(SINGLE), None)
    h.wait(1.0)
    h.update(dgd(SINGLE, observed=None), by=OPERATOR, status=True)
    h.become(settled(SINGLE), after=0.5)
    h.checkpoint(SINGLE)
    (finding,) = found(h)
    assert finding.verdict is Verdict.VIOLATES
    assert "service Frontend has no Deployment" in finding.message


@pytest.mark.parametrize("seconds", [0.0, 1.0, 5.0])
def test_an_old_claim_repeated_after_the_operator_wrote_a_child_for_the_change_is_a_lie(
    seconds: float,
) -> None:
    """However soon: it wrote the component for two nodes, and says Ready before one was there."""
    h = toggled()
    component = find(settled(MULTI), "DynamoComponentDeployment", "agg-worker")
    h.update(edited(component, "metadata", "generation", to=2), by=OPERATOR)
    h.wait(seconds)
    h.update(dgd(MULTI, generation=2, observed=None, reason="again"), by=OPERATOR, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert [finding.verdict for finding in found(h)] == [Verdict.VIOLATES]


def test_a_pass_of_the_change_before_may_end_after_the_next_one() -> None:
    """The operator finishes the image and says Ready of it; the scale came meanwhile."""
    image = set_image("Worker", "vllm:2.0.0").apply(SINGLE)
    both = scale("Worker", to=2).apply(image)
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(set_image("Worker", "vllm:2.0.0"), SINGLE)
    h.step(scale("Worker", to=2), image)
    h.become(
        swapped(settled(image), dgd(both, generation=3, ready=False, observed=None)), after=0.5
    )
    h.update(dgd(both, generation=3, observed=None), by=OPERATOR, status=True)
    h.become(settled(both, generation=3), after=0.5)
    h.checkpoint(both)
    assert found(h) == []


def test_old_claim_repeated_long_after_the_change_is_a_lie() -> None:
    h = toggled()
    h.become(swapped(settled(MULTI, ready=False), dgd(MULTI, ready=False, generation=2)), after=0.5)
    h.wait(5)
    h.update(dgd(MULTI, generation=2, observed=1, reason="again"), by=OPERATOR, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert [finding.verdict for finding in found(h)] == [Verdict.VIOLATES]


def test_new_generation_claimed_from_what_was_true_of_the_old_is_a_lie() -> None:
    h = toggled()
    h.update(dgd(MULTI, generation=2, observed=2), by=OPERATOR, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert [finding.verdict for finding in found(h)] == [Verdict.VIOLATES]


def test_ready_from_pods_of_the_old_image_is_a_lie() -> None:
    new = a_graph(image="vllm:2.0.0")
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.wait(10)
    h.step(set_image("Worker", "vllm:2.0.0"), SINGLE)
    tops = [
        edited(raw, "spec", "template", "spec", "containers", to=[{"image": "vllm:2.0.0"}])
        for raw in settled(SINGLE) if raw["kind"] == "Deployment"
    ]  # fmt: skip
    h.become(swapped(settled(SINGLE), *tops, dgd(new, generation=2)), after=0.5)
    h.become(settled(new, generation=2), after=3)
    h.checkpoint(new)
    (finding,) = found(h)
    assert "does not run image vllm:2.0.0 yet" in finding.message


def test_ready_before_the_groups_controller_has_looked_is_a_lie_that_names_it() -> None:
    """Seen of a build in kind: groups were scaled down, and Ready of the new generation was said on the
    word of a LeaderWorkerSet that nobody had looked at yet."""
    three, one = a_graph(node_count=2, replicas=3), a_graph(node_count=2, replicas=1)
    h = HistoryBuilder()
    h.deployed(three)
    h.wait(10)
    h.step(scale("Worker", to=1), three)
    lws = edited(find(settled(three), "LeaderWorkerSet", "agg-worker-0"), "spec", "replicas", to=1)
    unseen = edited(lws, "metadata", "generation", to=2)
    unseen = edited(unseen, "status", "observedGeneration", to=1)
    h.become(swapped(settled(three), unseen, dgd(one, generation=2)), after=0.5)
    h.become(settled(one, generation=2), after=1)
    h.checkpoint(one)
    (finding,) = found(h)
    why = "LeaderWorkerSet agg-worker-0 has generation 2, and its status speaks of generation 1"
    assert why in finding.message


def test_ready_with_a_left_over_at_the_deadline_is_a_lie() -> None:
    h = toggled()
    h.become(
        swapped(settled(MULTI) + left_over(), dgd(MULTI, ready=False, generation=2)), after=0.5
    )
    h.update(dgd(MULTI, generation=2), by=OPERATOR, status=True)
    h.checkpoint(MULTI, end=CheckpointEnd.DEADLINE)
    first = found(h)[0]
    assert first.message.startswith("DGD agg still says Ready 30.0 s after multinode was added")


def test_not_ready_while_something_is_amiss_is_the_truth() -> None:
    h = toggled()
    h.become(
        swapped(settled(MULTI) + left_over(), dgd(MULTI, ready=False, generation=2)), after=0.5
    )
    h.checkpoint(MULTI, end=CheckpointEnd.DEADLINE)
    assert found(h) == []


def test_not_ready_for_ever_though_all_is_there_is_a_lie() -> None:
    h = toggled()
    h.become(
        swapped(settled(MULTI), dgd(MULTI, ready=False, generation=2, reason="stuck")), after=0.5
    )
    h.checkpoint(MULTI, end=CheckpointEnd.DEADLINE)
    (finding,) = found(h)
    assert finding.message == (
        "DGD agg does not say Ready (stuck: stuck), 30.0 s after multinode was added to service "
        "Worker; "
        "it is without an owner, created by the suite"
    )


def test_unknown_condition_at_rest_violates() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    part = find(settled(SINGLE), "DynamoComponentDeployment", "agg-worker")
    unsure = edited(part, "status", "conditions", to=[condition("DynamoComponentReady", "Unknown")])
    h.update(unsure, status=True)
    h.checkpoint(SINGLE)
    assert [finding.subject for finding in found(h)] == ["DynamoComponentDeployment/agg-worker"]


@pytest.mark.parametrize("judged", [False, True])
def test_a_condition_still_unknown_at_an_arrangement_is_not_judged(judged: bool) -> None:
    """Seen: at zero replicas an arrangement was over before the operator had written its status."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    part = find(settled(SINGLE), "DynamoComponentDeployment", "agg-worker")
    unsure = edited(part, "status", "conditions", to=[condition("DynamoComponentReady", "Unknown")])
    h.update(unsure, status=True)
    h.checkpoint(SINGLE, judged=judged, hold=1.5)
    assert bool(found(h)) is judged
    told = [f for f in judge(h.history()).findings if f.gates and "Unknown" in f.message]
    assert bool(told) is judged


def test_bare_component_that_says_available_without_pods_is_a_lie() -> None:
    service = MULTI.services[1]
    wanted = Graph(name="bare", services=(service,))
    h = HistoryBuilder()
    h.create(dcd(service, name="bare", ready=False))
    h.update(dcd(service, name="bare", ready=True), by=OPERATOR, status=True)
    h.become(settled_component(service, name="bare"), after=5)
    h.checkpoint(components=(wanted,))
    (finding,) = found(h)
    assert finding.subject == "DynamoComponentDeployment/bare"


@pytest.mark.parametrize("by", ["conformance-suite", "system:serviceaccount:kube-system:gc"])
def test_status_written_by_others_is_not_the_operators_claim(by: str) -> None:
    h = toggled()
    h.update(dgd(MULTI, generation=2, observed=2), by=by, status=True)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert found(h) == []


def test_gap_makes_status_truth_unknown() -> None:
    h = toggled()
    h.gap("DynamoGraphDeployment")
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert status_truth.check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_ready_on_the_word_of_a_workload_that_reports_all_ready_is_no_lie() -> None:
    """The LWS controller was seen to report a group ready whose leader was just being made anew."""
    h = toggled()
    unready = [
        edited(raw, "status", "conditions", to=[condition("Ready", False)])
        for raw in settled(MULTI)
        if raw["kind"] == "Pod" and "worker" in raw["metadata"]["name"]
    ]
    lws = find(settled(MULTI), "LeaderWorkerSet", "agg-worker-0")
    believed = edited(lws, "status", "observedGeneration", to=1)
    state = swapped(settled(MULTI, generation=2), *unready)
    h.become(swapped(state, believed), after=0.5)
    h.become(swapped(settled(MULTI, generation=2), believed), after=1)
    h.checkpoint(MULTI)
    assert found(h) == []
    unsaid = toggled()
    unsaid.become(state, after=0.5)
    unsaid.become(settled(MULTI, generation=2), after=1)
    unsaid.checkpoint(MULTI)
    assert [finding.verdict for finding in found(unsaid)] == [Verdict.VIOLATES]


def test_ready_beside_a_left_over_gang_object_is_no_lie_of_its_own() -> None:
    h = HistoryBuilder()
    h.deployed(MULTI)
    h.step(remove_multinode("Worker"), MULTI)
    left = find(settled(MULTI), "PodGroup", "agg-worker-0")
    h.become([*settled(SINGLE, generation=2), left], after=0.5)
    h.checkpoint(SINGLE, end=CheckpointEnd.DEADLINE)
    assert found(h) == []


@pytest.mark.parametrize("first", ["main", "proxy"])
def test_a_sidecar_does_not_hide_which_image_a_workload_asks_for(first: str) -> None:
    containers = [
        {"name": "main", "image": "vllm-runtime:2.0.0"},
        *({"name": f"proxy-{n}", "image": f"proxy:{n}.0.0"} for n in range(5)),
    ]
    spec = {"containers": containers if first == "main" else containers[::-1]}
    raw = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "uid": "w"},
        "spec": {"replicas": 3, "template": {"spec": spec}},
    }  # fmt: skip
    assert truth.shown(Obj(raw)) == (1, 3, "vllm-runtime:2.0.0")
