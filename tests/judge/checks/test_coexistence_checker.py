"""Coexistence: at rest never, on the way reported with its exact length."""

import dataclasses

import pytest

from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case
from conformance.judge.checks import coexistence
from conformance.model.children import LwsLayout
from conformance.model.exemptions import Overlap, Rollout
from conformance.model.graph import Graph
from conformance.model.transition import add_multinode, scale, set_image
from conformance.model.verdict import Finding, Verdict
from tests.builders import (
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    component_name,
    dcd,
    deletion,
    deploy,
    dgd,
    find,
    settled,
    swapped,
)

SINGLE = a_graph("vllm-agg", worker="VllmDecodeWorker")
MULTI = a_graph("vllm-agg", worker="VllmDecodeWorker", node_count=2)
ADD = add_multinode("VllmDecodeWorker")


def old_deployment(graph: Graph = SINGLE) -> list[Raw]:
    return [
        raw for raw in settled(graph)
        if raw["kind"] in ("Deployment", "ReplicaSet", "Pod") and "worker" in
        raw["metadata"]["name"] ]  # fmt: skip


def both() -> list[Raw]:
    return settled(MULTI, generation=2) + old_deployment()


def toggled(builder: HistoryBuilder | None = None) -> HistoryBuilder:
    h = builder or HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    return h


def gating(h: HistoryBuilder) -> list[Finding]:
    return [finding for finding in coexistence.check(Case(h.history())).findings if finding.gates]


def test_left_over_deployment_is_a_violation_in_one_sentence() -> None:
    h = toggled()
    h.become(both(), after=0.5)
    h.checkpoint(MULTI, end=CheckpointEnd.DEADLINE)
    found = gating(h)
    assert [finding.verdict for finding in found] == [Verdict.VIOLATES]
    assert found[0].message == (
        "Deployment vllm-agg-vllmdecodeworker still exists 30.0 s after multinode was added to "
        "service "
        "VllmDecodeWorker; it and LeaderWorkerSet vllm-agg-vllmdecodeworker-0 are both "
        "controlled by "
        "DCD vllm-agg-vllmdecodeworker, created by the operator"
    )
    assert found[0].subject == "Deployment/vllm-agg-vllmdecodeworker"


def test_clean_toggle_conforms_without_a_word() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    result = coexistence.check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert [finding.evidence["seconds"] for finding in result.findings] == pytest.approx(
        [0.009], abs=0.02
    )


def test_short_overlap_is_reported_with_its_length_and_does_not_gate() -> None:
    h = toggled()
    h.become(both(), after=0.5)
    h.become(settled(MULTI, generation=2), after=1.25)
    h.checkpoint(MULTI)
    result = coexistence.check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    (finding,) = result.findings
    assert finding.evidence["seconds"] == pytest.approx(1.25, abs=0.02)
    assert finding.evidence["from_revision"] < finding.evidence["to_revision"]
    assert "existed beside LeaderWorkerSet vllm-agg-vllmdecodeworker-0 for 1.2" in finding.message


def test_short_overlap_violates_where_none_is_promised() -> None:
    profile = a_profile(overlap=Overlap(allowed=False, reason="").model_dump())
    h = toggled(HistoryBuilder(profile))
    h.become(both(), after=0.5)
    h.become(settled(MULTI, generation=2), after=1.25)
    h.checkpoint(MULTI)
    assert [finding.verdict for finding in gating(h)] == [Verdict.VIOLATES]


def test_overlap_in_the_rest_is_a_violation_though_the_checkpoint_is_clean() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2), after=0.5)
    reached = h.now
    h.wait(2)
    h.become(both())
    h.become(settled(MULTI, generation=2), after=0.4)
    checkpoint = h.checkpoint(MULTI)
    h.records.remove(checkpoint)
    h.records.append(dataclasses.replace(checkpoint, reached_at=reached))
    (finding,) = gating(h)
    assert "at rest, 2.0 s after the state had been reached" in finding.message


def test_gap_makes_coexistence_unknown() -> None:
    h = toggled()
    h.become(settled(MULTI, generation=2), after=0.5)
    h.gap("LeaderWorkerSet")
    h.checkpoint(MULTI)
    assert coexistence.check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_gap_before_the_step_does_not_matter() -> None:
    h = HistoryBuilder()
    h.gap("LeaderWorkerSet")
    h.wait(1)
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert coexistence.check(Case(h.history())).verdict is Verdict.CONFORMS


def test_nothing_recorded_is_unknown() -> None:
    h = HistoryBuilder()
    h.checkpoint(MULTI)
    assert coexistence.check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_history_without_a_checkpoint_is_unknown() -> None:
    h = HistoryBuilder()
    h.step(deploy(SINGLE), None)
    h.become(settled(SINGLE))
    assert coexistence.check(Case(h.history())).verdict is Verdict.UNKNOWN


def two_components(graph: Graph, *, phase: str) -> list[Raw]:
    """A rolling update: the old component still runs beside the new one of the same service."""
    service = graph.services[1]
    objects = settled(graph, generation=2)
    top = dgd(graph, ready=False, generation=2)
    top["status"]["rollingUpdate"] = {"phase": phase}
    name = component_name(graph, service)
    old = dcd(service, name=f"{name}-old", owner=find(objects, "DynamoGraphDeployment", graph.name),
              graph=graph)  # fmt: skip
    return [*swapped(objects, top), old]


def rolled(phase: str, *, wait: float) -> HistoryBuilder:
    rollout = Rollout(path=["status", "rollingUpdate", "phase"], values=["InProgress"], bound=60)
    h = HistoryBuilder(a_profile(rollouts=[rollout.model_dump()]))
    new = a_graph("vllm-agg", worker="VllmDecodeWorker", image="vllm:2.0.0")
    h.deployed(SINGLE)
    h.step(set_image("VllmDecodeWorker", "vllm:2.0.0"), SINGLE)
    h.become(two_components(new, phase=phase), after=0.5)
    h.wait(wait)
    h.checkpoint(new, end=CheckpointEnd.DEADLINE)
    return h


def test_rollout_in_progress_excuses_two_components_but_proves_nothing() -> None:
    assert [finding.verdict for finding in gating(rolled("InProgress", wait=0))] == [
        Verdict.UNKNOWN
    ]


def test_rollout_past_its_bound_excuses_nothing() -> None:
    assert [finding.verdict for finding in gating(rolled("InProgress", wait=70))] == [
        Verdict.VIOLATES
    ]


def test_rollout_that_is_not_reported_excuses_nothing() -> None:
    assert [finding.verdict for finding in gating(rolled("Completed", wait=0))] == [
        Verdict.VIOLATES
    ]


def test_plain_scale_down_of_one_lws_a_replica_is_no_overlap() -> None:
    profile = a_profile(layout=LwsLayout.PER_REPLICA, overlap={"allowed": False, "reason": ""})
    three, one = (a_graph(node_count=2, replicas=n) for n in (3, 1))
    h = HistoryBuilder(profile)
    h.deployed(three)
    h.step(scale("Worker", to=1), three)
    h.become(settled(one, profile, generation=2), after=0.5)
    h.checkpoint(one)
    assert gating(h) == []


def test_old_objects_of_a_deleted_graph_do_not_coexist_with_those_of_its_successor() -> None:
    h = HistoryBuilder(a_profile(overlap={"allowed": False, "reason": ""}))
    h.deployed(SINGLE)
    h.step(deletion(SINGLE), SINGLE)
    gone = [find(settled(SINGLE), "DynamoGraphDeployment", "vllm-agg")]
    gone += [raw for raw in settled(SINGLE) if raw["kind"] == "DynamoComponentDeployment"]
    h.delete(*gone)
    fresh = [
        {**raw, "metadata": {**raw["metadata"], "uid": f"new/{raw['metadata']['uid']}"}}
        for raw in settled(MULTI)
    ]  # fmt: skip
    for raw in fresh:
        for owner in raw["metadata"].get("ownerReferences", []):
            owner["uid"] = f"new/{owner['uid']}"
    h.create(*fresh)
    h.become(fresh, after=1.0)
    h.checkpoint(MULTI)
    assert gating(h) == []
