"""Which workloads and pods count as a service's, whatever is put between or beside them."""

import copy
from typing import Any

import pytest

from conformance.judge.state.match import blocked_mismatches, mismatches
from conformance.judge.state.size import outside
from conformance.model.verdict import CheckerName
from tests.objects import Raw, a_graph, a_profile, find, made, pod, settled, snapshot

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def component(objects: list[Raw]) -> Raw:
    return find(objects, "DynamoComponentDeployment", "agg-worker")


def told(objects: list[Raw], graph: Any = MULTI) -> list[str]:
    return [
        str(row.message)
        for row in [
            row for row in mismatches(snapshot(objects, graph)) if row.checker is CheckerName.SIZE
        ]
    ]


# Above workloads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["DisaggregatedSet", "PodCliqueSet"])
def test_workloads_below_one_that_is_made_of_others_are_the_platforms(kind: str) -> None:
    group = {"DisaggregatedSet": "disaggregatedset.x-k8s.io", "PodCliqueSet": "grove.io"}[kind]
    profile = a_profile(multinode={"kind": kind, "layout": "single", "gang": "none"})
    objects = settled(MULTI, profile)
    top = {
        **made(kind, "agg-worker", owner=component(objects), spec={"replicas": 1}),
        "apiVersion": f"{group}/v1alpha1",
    }
    lws = find(objects, "LeaderWorkerSet", "agg-worker-0")
    lws["metadata"]["ownerReferences"] = top_reference(top)
    part = snapshot([*objects, top], MULTI, profile=profile).services[1]
    assert [workload.kind for workload in part.workloads] == [kind]


def top_reference(top: Raw) -> list[Raw]:
    return [{"apiVersion": top["apiVersion"], "kind": top["kind"], "controller": True,
             "name": top["metadata"]["name"], "uid": top["metadata"]["uid"]}]  # fmt: skip


def test_a_kind_of_the_operators_own_above_a_workload_changes_nothing() -> None:
    objects = settled(MULTI)
    runner = {**made("Runner", "agg-worker", owner=component(objects)), "apiVersion": "a.b/v1"}
    find(objects, "LeaderWorkerSet", "agg-worker-0")["metadata"]["ownerReferences"] = top_reference(
        runner
    )
    assert mismatches(snapshot([*objects, runner], MULTI)) == []


def test_the_workloads_of_somebody_elses_graph_stay_theirs() -> None:
    objects, theirs = settled(SINGLE), settled(a_graph("theirs"))
    others = frozenset({"DynamoGraphDeployment/theirs"})
    assert mismatches(snapshot([*objects, *theirs], SINGLE, others=others)) == []


# Pods beside the workload -------------------------------------------------------------------------


def spare(
    kind: str, *, image: str = "vllm:1.0.0", labels: dict[str, str] | None = None, **status: Any
) -> list[Raw]:
    """A pod of the worker below an object of that kind which the component owns; `""`: below the
    component itself."""
    top = component(settled(MULTI))
    owner = made(kind, "agg-worker-spare", owner=top, spec={"replicas": 1}) if kind else top
    extra = pod("agg-worker-spare-x", owner=owner, labels=labels or {}, image=image)
    extra["status"] |= status
    return [extra, *([owner] if kind else [])]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "DaemonSet", ""])
def test_a_pod_of_the_users_image_outside_the_workload_is_too_many(kind: str) -> None:
    rows = told([*settled(MULTI), *spare(kind)])
    assert rows == ["Pod agg-worker-spare-x of service Worker runs outside its workload"]


def test_pods_of_a_deployment_deleted_without_them_are_told_whatever_their_image() -> None:
    old = spare("ReplicaSet", image="vllm:0.9.0", labels={"pod-template-hash": "5c6d"})
    assert told([*settled(MULTI), *old])


def test_a_blocked_target_is_no_excuse_and_does_not_become_unreached() -> None:
    found = blocked_mismatches(snapshot([*settled(MULTI), *spare("ReplicaSet")], MULTI))
    assert [row.message for row in found] == [
        "Pod agg-worker-spare-x of service Worker runs outside its workload"
    ]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(spare("Job"), id="a Job's pod"),
        pytest.param(spare("DaemonSet", image="prepull:1"), id="a helper with its own image"),
        pytest.param(spare("", phase="Succeeded"), id="a finished pod"),
    ],
)
def test_helpers_of_a_service_are_not_its_pods(objects: list[Raw]) -> None:
    assert outside(snapshot([*settled(MULTI), *objects], MULTI)) == []


def test_a_dying_pod_outside_is_on_its_way_out() -> None:
    objects = copy.deepcopy(spare("ReplicaSet"))
    objects[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert outside(snapshot([*settled(MULTI), *objects], MULTI)) == []
