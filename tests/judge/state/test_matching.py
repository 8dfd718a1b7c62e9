"""A settled state matches, in every layout; and each single thing that is off is said."""

import pytest

from conformance.judge.mismatch import Mismatch
from conformance.judge.state.match import (
    blocked_mismatches,
    mismatches,
    mismatches_at,
    progress,
)
from conformance.judge.state.status import unobserved
from conformance.model.children import Gang, LwsLayout
from conformance.model.exemptions import Retained
from conformance.model.graph import Graph
from conformance.model.profile import Profile
from conformance.model.verdict import CheckerName
from tests.objects import (
    Raw,
    a_graph,
    a_profile,
    condition,
    deployment_tree,
    dgd,
    edited,
    find,
    labels_of,
    lws_tree,
    made,
    namespace_basics,
    pod_group,
    settled,
    settled_component,
    snapshot,
    swapped,
    without,
)

MULTI = a_graph(node_count=2)
SINGLE = a_graph()


def messages(rows: list[Mismatch]) -> list[str]:
    return [f"{row.checker}: {row.message}" for row in rows]


def found(objects: list[Raw], graph: Graph, **options: object) -> list[str]:
    return messages(mismatches(snapshot(objects, graph, **options)))  # type: ignore[arg-type]


def checkers(objects: list[Raw], graph: Graph, **options: object) -> set[CheckerName]:
    rows = mismatches(snapshot(objects, graph, **options))  # type: ignore[arg-type]
    return {row.checker for row in rows}


@pytest.mark.parametrize("layout", LwsLayout)
@pytest.mark.parametrize("gang", Gang)
@pytest.mark.parametrize("node_count", [None, 1, 2, 3])
@pytest.mark.parametrize("replicas", [None, 0, 1, 3])
def test_settled_graph_matches(
    layout: LwsLayout, gang: Gang, node_count: int | None, replicas: int | None
) -> None:
    profile = a_profile(layout=layout, gang=gang)
    graph = a_graph(node_count=node_count, replicas=replicas)
    look = snapshot([*settled(graph, profile), *namespace_basics()], graph, profile=profile)
    assert messages(mismatches(look)) == []
    assert messages(unobserved(look)) == []
    assert messages(blocked_mismatches(look)) == []
    assert progress(look) == "everything is there"


def test_settled_bare_component_matches() -> None:
    service = MULTI.services[1]
    wanted = Graph(name="bare", services=(service,))
    objects = settled_component(service, name="bare")
    assert mismatches(snapshot(objects, components=(wanted,))) == []


def test_empty_state_does_not_match() -> None:
    assert "status-truth: DGD agg does not exist" in found([], SINGLE)


def test_nothing_wanted_and_nothing_there_matches() -> None:
    assert mismatches(snapshot(namespace_basics())) == []


# Coexistence --------------------------------------------------------------------------------------


def with_left_over_deployment() -> list[Raw]:
    objects = settled(MULTI)
    old = [
        raw for raw in settled(SINGLE)
        if raw["kind"] in ("Deployment", "ReplicaSet", "Pod") and "worker" in
        raw["metadata"]["name"] ]  # fmt: skip
    return objects + old


def test_deployment_beside_lws_is_coexistence_and_nothing_else() -> None:
    rows = mismatches(snapshot(with_left_over_deployment(), MULTI))
    assert messages(rows) == [
        "coexistence: Deployment agg-worker of service Worker still exists beside LeaderWorkerSet "
        "agg-worker-0"
    ]
    assert rows[0].subject == "Deployment/agg-worker"


def test_workload_under_another_services_label_is_still_its_owners() -> None:
    objects = with_left_over_deployment()
    left = find(objects, "Deployment", "agg-worker")
    relabelled = edited(left, "metadata", "labels", "nvidia.com/dynamo-component", to="Frontend")
    assert checkers(swapped(objects, relabelled), MULTI) == {CheckerName.COEXISTENCE}


def test_second_lws_of_another_size_is_an_old_generation() -> None:
    objects = settled(MULTI)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    service = a_graph(node_count=3).services[1]
    old = lws_tree(
        service, name="agg-worker-n3", owner=owner, groups=1,
        labels=labels_of(MULTI, service, "agg-worker"), gang="agg-worker",
    )  # fmt: skip
    rows = mismatches(snapshot(objects + old, MULTI))
    first = rows[0]
    assert first.checker is CheckerName.COEXISTENCE
    assert first.subject == "LeaderWorkerSet/agg-worker-n3"


def test_second_component_of_a_service_is_coexistence() -> None:
    objects = settled(SINGLE)
    owner = find(objects, "DynamoGraphDeployment", "agg")
    first = find(objects, "DynamoComponentDeployment", "agg-worker")
    second = {**first, "metadata": {**first["metadata"], "name": "agg-worker-ab12", "uid": "two"}}
    assert owner["metadata"]["uid"] == second["metadata"]["ownerReferences"][0]["uid"]
    assert CheckerName.COEXISTENCE in checkers([*objects, second], SINGLE)


def test_empty_deployment_of_a_multinode_service_at_zero_replicas_is_the_wrong_kind() -> None:
    graph = a_graph(node_count=2, replicas=0)
    objects = settled(graph)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    labels = labels_of(graph, graph.services[1], "agg-worker")
    wrong = deployment_tree(graph.services[1], name="agg-worker", owner=owner, labels=labels)
    assert checkers(objects + wrong, graph) == {CheckerName.COEXISTENCE}
    lws = find(objects, "LeaderWorkerSet", "agg-worker-0")
    only_wrong = without(objects, lws) + wrong
    assert CheckerName.SIZE in checkers(only_wrong, graph)


def test_no_workload_at_zero_replicas_is_right() -> None:
    graph = a_graph(node_count=2, replicas=0)
    objects = settled(graph)
    top = find(objects, "LeaderWorkerSet", "agg-worker-0")
    below = {"Service/headless/agg-worker-0", "StatefulSet/agg-worker-0",
             "EndpointSlice/agg-worker-0-x"}  # fmt: skip
    kept = [
        raw for raw in without(objects, top)
        if raw["metadata"]["uid"] not in below and raw["kind"] != "ControllerRevision"
    ]  # fmt: skip
    assert found(kept, graph) == []


# Size ---------------------------------------------------------------------------------------------


def test_lws_of_the_old_size_is_said_with_both_numbers() -> None:
    assert any(
        "has size 2, expected 3" in text for text in found(settled(MULTI), a_graph(node_count=3))
    )


def test_lws_whose_pods_are_gone_does_not_match() -> None:
    objects = [raw for raw in settled(MULTI) if raw["kind"] != "Pod" or "front" in str(raw)]
    kept = [
        raw for raw in objects if raw["metadata"]["uid"].startswith("StatefulSet/workers") is False
    ]
    assert "size: service Worker has 0 of 2 pods Ready" in found(kept, MULTI)


def test_unready_pod_does_not_match() -> None:
    assert "size: service Worker has 0 of 1 pod Ready" in found(
        settled(SINGLE, ready=False), SINGLE
    )


def test_left_over_stateful_set_under_a_right_lws_is_the_platforms_fault() -> None:
    objects = settled(MULTI)
    lws = find(objects, "LeaderWorkerSet", "agg-worker-0")
    extra = made("StatefulSet", "agg-worker-0-1", owner=lws, uid="extra")
    rows = mismatches(snapshot([*objects, extra], MULTI))
    assert [row.blame.value for row in rows] == ["LWS controller"]


def test_dying_pod_is_ending_and_counts_for_nothing() -> None:
    objects = settled(SINGLE)
    rs = next(r for r in objects if r["kind"] == "ReplicaSet" and "worker" in r["metadata"]["name"])
    dying = made(
        "Pod", "agg-worker-old", owner=rs, deletionTimestamp="2026-01-01T00:00:00Z",
        spec={"containers": [{"image": "other"}]},
        status={"conditions": [condition("Ready", True)]},
    )  # fmt: skip
    rows = mismatches(snapshot([*objects, dying], SINGLE))
    assert [(row.checker, row.ending) for row in rows] == [(CheckerName.SIZE, True)]


def test_replica_set_with_no_replicas_is_history_not_a_finding() -> None:
    objects = settled(SINGLE)
    owner = find(objects, "Deployment", "agg-worker")
    old = made("ReplicaSet", "agg-worker-old", owner=owner, spec={"replicas": 0})
    assert found([*objects, old], SINGLE) == []


def test_pods_of_the_old_image_do_not_match_though_all_are_ready() -> None:
    new = a_graph(image="vllm:2.0.0")
    objects = settled(SINGLE)
    assert CheckerName.FIDELITY in checkers(objects, new)
    tops = [
        edited(raw, "spec", "template", "spec", "containers", to=[{"image": "vllm:2.0.0"}])
        for raw in objects if raw["kind"] == "Deployment"
    ]  # fmt: skip
    texts = found(swapped(objects, *tops), new)
    assert any("does not run image vllm:2.0.0 yet" in text for text in texts)


def test_rollout_in_progress_does_not_match() -> None:
    objects = settled(MULTI)
    lws = find(objects, "LeaderWorkerSet", "agg-worker-0")
    busy = edited(lws, "status", "conditions", to=[condition("UpdateInProgress", True)])
    assert found(swapped(objects, busy), MULTI) == [
        "size: LeaderWorkerSet agg-worker-0 of service Worker is still being updated"
    ]


# Gang objects -------------------------------------------------------------------------------------


def test_pod_group_kept_after_multinode_is_an_orphan() -> None:
    objects = settled(SINGLE)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    left = pod_group("agg-worker-0", owner=owner, minimum=2)
    assert found([*objects, left], SINGLE) == [
        "orphans: PodGroup agg-worker-0 of service Worker still exists, and no group of the "
        "service "
        "needs it"
    ]


def test_pod_group_of_the_lws_itself_is_not_judged() -> None:
    profile = a_profile(gang=Gang.NONE)
    objects = settled(MULTI, profile)
    lws = find(objects, "LeaderWorkerSet", "agg-worker-0")
    own = pod_group("agg-worker-0-0", owner=lws, minimum=2)
    assert found([*objects, own], MULTI, profile=profile) == []


def test_pod_group_by_an_operator_that_declares_none_is_an_orphan() -> None:
    profile = a_profile(gang=Gang.NONE)
    objects = settled(MULTI, profile)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    extra = pod_group("agg-worker-0", owner=owner, minimum=2)
    assert checkers([*objects, extra], MULTI, profile=profile) == {CheckerName.ORPHANS}


def test_pod_group_with_the_old_minimum_is_of_the_wrong_size() -> None:
    objects = settled(MULTI)
    gang = find(objects, "PodGroup", "agg-worker-0")
    stale = edited(gang, "spec", "minMember", to=3)
    assert found(swapped(objects, stale), MULTI) == [
        "size: PodGroup agg-worker-0 of service Worker has minMember 3, expected 2"
    ]


def test_pod_group_without_owner_is_an_orphan_even_if_its_label_is_right() -> None:
    objects = settled(MULTI)
    gang = find(objects, "PodGroup", "agg-worker-0")
    bare = edited(gang, "metadata", "ownerReferences", to=None)
    assert found(swapped(objects, bare), MULTI) == [
        "orphans: PodGroup agg-worker-0 of service Worker has no owner and would outlive its "
        "component"
    ]


# Orphans ------------------------------------------------------------------------------------------


def test_removed_service_that_keeps_running_is_an_orphan() -> None:
    graph = SINGLE.without_service("Worker")
    objects = swapped(settled(SINGLE), dgd(graph))
    texts = found(objects, graph)
    assert texts == [
        "orphans: DCD agg-worker of service Worker still exists with Deployment agg-worker and 1 "
        "pod, "
        "and the graph has no such service"
    ]


def test_child_whose_owner_is_gone_is_an_orphan() -> None:
    objects = settled(SINGLE)
    gone = find(objects, "DynamoComponentDeployment", "agg-worker")
    texts = found(without(objects, gone), SINGLE)
    lost = "Deployment agg-worker of service Worker still exists, and its owner"
    assert any(lost in text and text.endswith("agg-worker is gone") for text in texts)


def test_keeper_excuses_itself_but_not_its_child() -> None:
    profile = a_profile(
        retained=[Retained(kind="ServiceAccount", name="planner-*", reason="shared by all graphs")]
    )
    retained = made("ServiceAccount", "planner-serviceaccount")
    objects = [*settled(SINGLE, profile), retained]
    assert found(objects, SINGLE, profile=profile) == []
    child = made("Secret", "planner-token", owner=retained)
    assert checkers([*objects, child], SINGLE, profile=profile) == {CheckerName.ORPHANS}


def test_endpoints_need_no_owner() -> None:
    assert found([*settled(SINGLE), made("Endpoints", "agg-worker")], SINGLE) == []


def test_foreign_look_alike_is_left_out_when_it_is_known_to_be_others() -> None:
    labels = labels_of(SINGLE, SINGLE.services[1], "agg-worker")
    strange = deployment_tree(SINGLE.services[1], name="strange", owner=None, labels=labels)
    objects = settled(SINGLE) + strange
    assert CheckerName.COEXISTENCE in checkers(objects, SINGLE)
    assert found(objects, SINGLE, others=frozenset({"Deployment/strange"})) == []


def test_what_an_earlier_graph_of_the_same_name_left_does_not_become_the_new_ones() -> None:
    """Background deletion: the old children go after the graph, while the new graph is there."""
    service = SINGLE.services[1]
    dead = made("DynamoComponentDeployment", "agg-worker", uid="dead")
    labels = labels_of(SINGLE, service, "agg-worker")
    old = deployment_tree(service, name="agg-worker", owner=dead, labels=labels)
    rows = mismatches(snapshot(settled(MULTI) + old, MULTI))
    assert {row.checker for row in rows} == {CheckerName.ORPHANS}


def test_graph_that_is_gone_but_exists_is_reported_for_deletion() -> None:
    rows = mismatches(snapshot([dgd(SINGLE)]))
    assert [(row.checker, row.subject) for row in rows] == [
        (CheckerName.DELETION, "DynamoGraphDeployment/agg")
    ]


# Selectors ----------------------------------------------------------------------------------------


def door(objects: list[Raw], *, to: dict[str, str] | None) -> list[Raw]:
    service = find(objects, "Service", "agg-worker")
    return swapped(objects, edited(service, "spec", "selector", to=to))


def test_stale_selector_misses_its_own_pods() -> None:
    stale = {"nvidia.com/dynamo-component": "Worker", "role": "leader"}
    texts = found(door(settled(SINGLE), to=stale), SINGLE)
    assert len(texts) == 1
    assert (
        "Service agg-worker of service Worker does not select its own Pod agg-worker-" in texts[0]
    )


def test_selector_that_hits_followers_is_said() -> None:
    texts = found(door(settled(MULTI), to={"nvidia.com/dynamo-component": "Worker"}), MULTI)
    assert texts == [
        "selectors: Service agg-worker of service Worker selects Pod agg-worker-0-0-1, no leader "
        "of a group"
    ]


def test_selector_that_hits_another_service_is_said() -> None:
    wide = {"nvidia.com/dynamo-graph-deployment-name": "agg"}
    texts = found(door(settled(SINGLE), to=wide), SINGLE)
    assert len(texts) == 1
    assert texts[0].endswith(", not of this service")


def test_missing_selector_selects_nothing() -> None:
    assert checkers(door(settled(SINGLE), to=None), SINGLE) == {CheckerName.SELECTORS}


def test_undeclared_service_is_said() -> None:
    objects = settled(SINGLE)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    extra = made("Service", "agg-worker-debug", owner=owner, spec={"selector": {"a": "b"}})
    assert found([*objects, extra], SINGLE) == [
        "selectors: Service agg-worker-debug of service Worker is of no class that the profile "
        "declares under `services`"
    ]


def test_declared_debug_service_may_select_nothing() -> None:
    profile = Profile.model_validate(
        {**a_profile().model_dump(), "services": [
            {"use": "component", "name": "{component}"},
            {"use": "debug", "name": "{component}-d*", "reason": "r"},
        ]}
    )  # fmt: skip
    objects = settled(SINGLE, profile)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    extra = made("Service", "agg-worker-debug", owner=owner, spec={"selector": {"a": "b"}})
    assert found([*objects, extra], SINGLE, profile=profile) == []


def test_headless_service_of_an_lws_selects_exactly_its_pods() -> None:
    objects = settled(MULTI)
    headless = next(r for r in objects if r["metadata"]["uid"] == "Service/headless/agg-worker-0")
    wrong = edited(headless, "spec", "selector", to={"nvidia.com/dynamo-component": "Frontend"})
    rows = mismatches(snapshot(swapped(objects, wrong), MULTI))
    assert [(row.checker, row.blame.value) for row in rows] == [
        (CheckerName.SELECTORS, "LWS controller")
    ]


# Status -------------------------------------------------------------------------------------------


def test_graph_that_never_says_ready_does_not_match() -> None:
    assert found(swapped(settled(SINGLE), dgd(SINGLE, ready=None)), SINGLE) == [
        "status-truth: DGD agg does not say Ready"
    ]


def test_unknown_condition_of_a_component_is_said_and_not_waited_for() -> None:
    objects = settled(SINGLE)
    part = find(objects, "DynamoComponentDeployment", "agg-worker")
    unsure = edited(part, "status", "conditions", to=[condition("DynamoComponentReady", "Unknown")])
    look = snapshot(swapped(objects, unsure), SINGLE)
    assert messages(mismatches(look)) == []
    assert messages(mismatches_at(look, blocked_target=False)) == [
        "status-truth: DCD agg-worker has condition DynamoComponentReady Unknown"
    ]


def test_status_key_of_a_removed_service_does_not_match() -> None:
    graph = SINGLE.without_service("Worker")
    stale = {**dgd(graph), "status": dgd(SINGLE)["status"]}
    objects = swapped(settled(graph), stale)
    texts = found(objects, graph)
    assert any("components of DGD agg still names service Worker" in text for text in texts)


def test_absent_service_map_claims_nothing() -> None:
    top = dgd(SINGLE)
    del top["status"]["components"]
    assert found(swapped(settled(SINGLE), top), SINGLE) == []


def test_single_component_name_of_older_builds_resolves() -> None:
    top = dgd(SINGLE)
    entry = {"componentKind": "Deployment", "componentName": "agg-worker", "replicas": 1}
    top["status"] = {"conditions": [condition("Ready", True)],
                     "services": {"Worker": entry, "Frontend": {"replicas": 1}}}  # fmt: skip
    assert found(swapped(settled(SINGLE), top), SINGLE) == []
    entry["componentKind"] = "LeaderWorkerSet"
    assert checkers(swapped(settled(SINGLE), top), SINGLE) == {CheckerName.STATUS_TRUTH}


@pytest.mark.parametrize(("says", "true"), [(3, True), (6, True), (2, False), (7, False)])
def test_the_name_of_one_of_a_workload_a_replica_stands_for_all(says: int, true: bool) -> None:
    """Seen: with an LWS a replica, builds name the first and count the groups of all."""
    profile, graph = a_profile(layout=LwsLayout.PER_REPLICA), a_graph(node_count=2, replicas=3)
    entry = {"componentKind": "LeaderWorkerSet", "componentName": "agg-worker-0", "replicas": says}
    top = dgd(graph, profile=profile)
    top["status"]["components"]["Worker"] = entry
    texts = found(swapped(settled(graph, profile), top), graph, profile=profile)
    assert (texts == []) is true


def test_count_of_ready_pods_that_do_not_exist_is_said() -> None:
    top = dgd(SINGLE)
    top["status"]["components"]["Worker"]["readyReplicas"] = 2
    assert checkers(swapped(settled(SINGLE), top), SINGLE) == {CheckerName.STATUS_TRUTH}


def test_graph_with_a_service_at_zero_may_or_may_not_say_ready() -> None:
    graph = a_graph(replicas=0)
    assert found(swapped(settled(graph), dgd(graph, ready=False)), graph) == []


# Observed -----------------------------------------------------------------------------------------


def test_lagging_observed_generation_is_not_settled() -> None:
    objects = swapped(settled(SINGLE), dgd(SINGLE, generation=2, observed=1))
    assert messages(unobserved(snapshot(objects, SINGLE))) == [
        "status-truth: DGD agg has generation 2, and its status speaks of generation 1"
    ]


def test_status_without_observed_generation_claims_nothing() -> None:
    objects = swapped(settled(SINGLE), dgd(SINGLE, generation=2, observed=None))
    assert unobserved(snapshot(objects, SINGLE)) == []


# Blocked targets ----------------------------------------------------------------------------------


def test_old_workload_that_keeps_serving_with_a_reason_is_right_when_blocked() -> None:
    objects = swapped(settled(SINGLE), dgd(MULTI, ready=False, generation=2, reason="NoGpuLimit"))
    assert mismatches(snapshot(objects, MULTI)) != []
    assert blocked_mismatches(snapshot(objects, MULTI)) == []


def test_blocked_target_that_says_ready_is_a_lie() -> None:
    objects = swapped(settled(SINGLE), dgd(MULTI, generation=2))
    assert messages(blocked_mismatches(snapshot(objects, MULTI))) == [
        "status-truth: DGD agg says Ready, and its target has not been reached"
    ]


def test_blocked_target_without_a_reason_is_not_the_truth() -> None:
    top = dgd(MULTI, ready=False, generation=2, reason="")
    texts = messages(blocked_mismatches(snapshot(swapped(settled(SINGLE), top), MULTI)))
    assert texts == ["status-truth: DGD agg is not Ready and gives no reason"]


def test_old_and_new_workload_together_are_wrong_even_when_blocked() -> None:
    objects = swapped(with_left_over_deployment(), dgd(MULTI, ready=False, generation=2))
    rows = blocked_mismatches(snapshot(objects, MULTI))
    assert CheckerName.COEXISTENCE in {row.checker for row in rows}


def test_unfulfilled_new_workload_needs_no_gang_and_no_ready_pod_when_blocked() -> None:
    graph = a_graph(node_count=9)
    top = dgd(graph, ready=False, reason="Unschedulable")
    everything = swapped(settled(graph, ready=False), top)
    objects = [raw for raw in everything if raw["kind"] != "PodGroup"]
    frontend = [raw for raw in settled(SINGLE) if "frontend" in raw["metadata"]["name"]]
    assert messages(blocked_mismatches(snapshot(swapped(objects, *frontend), graph))) == []


# Progress -----------------------------------------------------------------------------------------


def test_progress_names_service_shape_and_pods() -> None:
    objects = settled(MULTI)
    worker = next(r for r in objects if r["metadata"]["name"] == "agg-worker-0-0-1")
    unready = edited(worker, "status", "conditions", to=[condition("Ready", False)])
    look = snapshot(swapped(objects, unready), MULTI)
    assert progress(look) == "Worker: LWS size 2, 1 of 2 pods ready"


def test_progress_while_the_old_kind_is_still_there() -> None:
    assert (
        progress(snapshot(settled(SINGLE), MULTI)) == "Worker: Deployment, waiting for the new one"
    )


def test_old_generation_beside_the_right_one_is_no_size_finding() -> None:
    objects = settled(MULTI)
    owner = find(objects, "DynamoComponentDeployment", "agg-worker")
    service = a_graph(node_count=3).services[1]
    labels = labels_of(MULTI, service, "agg-worker")
    old = lws_tree(service, name="agg-worker-n3", owner=owner, groups=1, labels=labels)
    assert checkers(objects + old, MULTI) == {CheckerName.COEXISTENCE}


def test_status_without_an_entry_for_a_service_at_zero_is_said_and_not_waited_for() -> None:
    graph = a_graph(replicas=0)
    top = dgd(graph)
    del top["status"]["components"]["Worker"]
    look = snapshot(swapped(settled(graph), top), graph)
    assert mismatches(look) == []
    assert messages(mismatches_at(look, blocked_target=False)) == [
        "status-truth: status.components of DGD agg lacks service Worker of the spec"
    ]


def test_several_old_workloads_agree_with_their_verb() -> None:
    old = find(settled(SINGLE), "Deployment", "agg-worker")
    older = edited(edited(old, "metadata", "name", to="older"), "metadata", "uid", to="older")
    told = found([*settled(MULTI), old, older], MULTI)
    assert any("still exist beside LeaderWorkerSet" in message for message in told), told
