import copy
import time

import pytest
from reference_fakes import (
    MULTI,
    FakeApi,
    Start,
    component,
    condition,
    deploy,
    graph_spec,
    is_ready,
    set_worker,
)

from reference.client import ApiError
from reference.objects import (
    COMPONENT,
    DEPLOYMENT,
    FINALIZER,
    GRAPH,
    LWS,
    POD,
    POD_GROUP,
    SERVICE,
    STATEFUL_SET,
    Kind,
    Object,
    controller_of,
    meta,
    uid_of,
)


def test_graph_becomes_components_deployments_and_services(api: FakeApi, start: Start) -> None:
    deploy(api, start)
    assert api.names(COMPONENT) == ["g-frontend", "g-worker"]
    assert api.names(DEPLOYMENT) == ["g-frontend", "g-worker"]
    assert api.names(SERVICE) == ["g-frontend", "g-worker"]
    assert api.names(LWS) == []
    status = (api.find(GRAPH, "g") or {})["status"]
    assert status["state"] == "successful"
    assert set(status["components"]) == {"Frontend", "Worker"}
    assert status["components"]["Worker"]["componentKind"] == "Deployment"


def test_a_service_may_be_a_stateful_set_with_nothing_else_changed(
    api: FakeApi, start: Start
) -> None:
    operator = deploy(api, start, single_node=STATEFUL_SET, replicas=2)
    assert api.names(STATEFUL_SET) == ["g-frontend", "g-worker"]
    assert api.names(DEPLOYMENT) == []
    status = (api.find(GRAPH, "g") or {})["status"]["components"]["Worker"]
    assert (status["componentKind"], status["availableReplicas"]) == ("StatefulSet", 2)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    # The second is the set of leaders that the LeaderWorkerSet owns, the last two those of workers.
    assert api.names(STATEFUL_SET) == ["g-frontend", "g-worker-0", "g-worker-0-0", "g-worker-0-1"]
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert api.names(STATEFUL_SET) == ["g-frontend", "g-worker"]
    assert api.names(LWS) == []


def test_deployments_go_once_the_operator_makes_stateful_sets(api: FakeApi, start: Start) -> None:
    deploy(api, start).stop()
    operator = start(single_node=STATEFUL_SET)
    operator.wait(lambda: api.names(DEPLOYMENT) == [] and is_ready(api))
    assert api.names(STATEFUL_SET) == ["g-frontend", "g-worker"]


def test_every_child_is_controlled_by_its_parent(api: FakeApi, start: Start) -> None:
    deploy(api, start, multinode=MULTI)
    owner = uid_of(api.find(COMPONENT, "g-worker") or {})
    for kind, name in ((LWS, "g-worker-0"), (POD_GROUP, "g-worker-0"), (SERVICE, "g-worker")):
        reference = controller_of(api.find(kind, name) or {}) or {}
        assert (reference.get("uid"), reference.get("blockOwnerDeletion")) == (owner, True), name


@pytest.mark.parametrize("replicas", [1, 2])
def test_adding_multinode_leaves_only_the_lws(api: FakeApi, start: Start, replicas: int) -> None:
    operator = deploy(api, start, replicas=replicas)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert api.names(DEPLOYMENT) == ["g-frontend"]
    assert api.names(LWS) == ["g-worker-0"]
    assert api.names(POD_GROUP) == [f"g-worker-{group}" for group in range(replicas)]
    selector = (api.find(SERVICE, "g-worker") or {})["spec"]["selector"]
    assert selector["role"] == "leader"


def test_removing_multinode_leaves_only_the_deployment(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, multinode=MULTI, replicas=2)
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert api.names(DEPLOYMENT) == ["g-frontend", "g-worker"]
    assert api.names(LWS) == []
    assert api.names(POD_GROUP) == []
    assert "role" not in (api.find(SERVICE, "g-worker") or {})["spec"]["selector"]


def test_count_change_keeps_the_lws_and_moves_size_and_gang(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, multinode=MULTI)
    before = uid_of(api.find(LWS, "g-worker-0") or {})
    set_worker(api, multinode={"nodeCount": 3})
    operator.wait(lambda: is_ready(api))
    workload = api.find(LWS, "g-worker-0") or {}
    assert uid_of(workload) == before
    assert workload["spec"]["leaderWorkerTemplate"]["size"] == 3
    assert (api.find(POD_GROUP, "g-worker-0") or {})["spec"]["minMember"] == 3


def test_fewer_groups_leave_no_gang_behind(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, multinode=MULTI, replicas=3)
    set_worker(api, replicas=1)
    operator.wait(lambda: is_ready(api))
    assert api.names(POD_GROUP) == ["g-worker-0"]


def test_zero_replicas_keep_an_empty_workload_of_the_wanted_kind(
    api: FakeApi, start: Start
) -> None:
    operator = deploy(api, start, replicas=0)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert (api.find(LWS, "g-worker-0") or {})["spec"]["replicas"] == 0
    assert api.names(POD_GROUP) == []
    entry = (api.find(GRAPH, "g") or {})["status"]["components"]["Worker"]
    assert (entry["componentKind"], entry["replicas"]) == ("LeaderWorkerSet", 0)


def test_nothing_is_written_at_rest_or_after_a_restart(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, multinode=MULTI)
    operator.settle()
    count = len(api.writes)
    api.edit(GRAPH, "g", lambda graph: graph["metadata"].update(annotations={"x": "y"}))
    operator.settle()
    operator.stop()
    start().settle()
    assert api.writes[count:] == []


def test_renamed_component_leaves_only_the_new_name(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    set_worker(api, name="Decoder")
    operator.wait(lambda: is_ready(api))
    assert api.names(COMPONENT) == ["g-decoder", "g-frontend"]
    assert api.names(DEPLOYMENT) == ["g-decoder", "g-frontend"]
    assert set((api.find(GRAPH, "g") or {})["status"]["components"]) == {"Frontend", "Decoder"}


def test_edit_of_a_graphs_component_is_undone_before_anything_is_built(
    api: FakeApi, start: Start
) -> None:
    operator = deploy(api, start)
    operator.settle()
    api.edit(COMPONENT, "g-worker", lambda obj: obj["spec"].update(multinode=MULTI))
    operator.settle()
    assert "multinode" not in (api.find(COMPONENT, "g-worker") or {})["spec"]
    assert ("create", "LeaderWorkerSet", "g-worker-0") not in api.writes


def test_bare_component_is_reconciled_like_a_users_object(api: FakeApi, start: Start) -> None:
    operator = start()
    api.put(COMPONENT, "bare", spec=component())
    operator.wait(lambda: api.names(DEPLOYMENT) == ["bare"])
    api.edit(COMPONENT, "bare", lambda obj: obj["spec"].update(multinode=MULTI))
    operator.wait(lambda: (api.names(DEPLOYMENT), api.names(LWS)) == ([], ["bare-0"]))
    operator.wait(
        lambda: condition(api.find(COMPONENT, "bare"), "Available").get("status") == "True"
    )


def test_hand_scaled_child_is_repaired(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    api.edit(DEPLOYMENT, "g-worker", lambda obj: obj["spec"].update(replicas=4))
    operator.wait(lambda: (api.find(DEPLOYMENT, "g-worker") or {})["spec"]["replicas"] == 1)


def without_gpu(graph: Object) -> None:
    worker = graph["spec"]["components"][-1]
    worker["multinode"] = MULTI
    del worker["podTemplate"]["spec"]["containers"][0]["resources"]


def test_unbuildable_target_keeps_the_old_workload_and_says_so(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    before = api.find(DEPLOYMENT, "g-worker")
    api.edit(GRAPH, "g", without_gpu)
    operator.wait(
        lambda: condition(api.find(GRAPH, "g"), "Ready").get("reason") == "TargetNotBuildable"
    )
    operator.settle()
    assert api.find(DEPLOYMENT, "g-worker") == before
    assert api.names(LWS) == []
    assert "GPU limit" in condition(api.find(GRAPH, "g"), "Ready")["message"]
    assert (api.find(GRAPH, "g") or {})["status"]["observedGeneration"] == 2


@pytest.mark.parametrize("kind", [DEPLOYMENT, SERVICE])
def test_foreign_object_is_named_and_untouched(api: FakeApi, start: Start, kind: Kind) -> None:
    foreign = api.put(kind, "g-worker", spec={"replicas": 0, "template": _template()})
    before = api.find(kind, "g-worker")
    operator = start()
    api.put(GRAPH, "g", spec=graph_spec(component()))
    operator.wait(lambda: condition(api.find(GRAPH, "g"), "Ready").get("reason") == "NameConflict")
    operator.settle()
    assert api.find(kind, "g-worker") == before
    assert f"{kind.kind} g-worker" in condition(api.find(GRAPH, "g"), "Ready")["message"]
    api.remove(kind, meta(foreign)["name"])
    operator.wait(lambda: is_ready(api))


def _template() -> Object:
    return {"metadata": {"labels": {}}}


def test_component_of_another_graph_is_untouched(api: FakeApi, start: Start) -> None:
    operator = start()
    api.put(GRAPH, "a", spec=graph_spec(component("b-c")))
    operator.wait(lambda: is_ready(api, "a"))
    before = api.find(COMPONENT, "a-b-c")
    api.put(GRAPH, "a-b", spec=graph_spec(component("c")))
    operator.wait(
        lambda: condition(api.find(GRAPH, "a-b"), "Ready").get("reason") == "NameConflict"
    )
    operator.settle()
    assert api.find(COMPONENT, "a-b-c") == before


def test_lookalike_pod_is_not_counted(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    labels = meta(api.find(POD, "g-worker-rs-0") or {})["labels"]
    api.put(POD, "lookalike", metadata={"labels": labels})
    operator.settle()
    assert is_ready(api)


def test_surplus_pod_of_a_gone_set_keeps_the_graph_from_ready(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    labels = meta(api.find(POD, "g-worker-rs-0") or {})["labels"]
    owner = {"kind": "StatefulSet", "name": "gone", "uid": "gone", "controller": True}
    api.put(POD, "stray", metadata={"labels": labels, "ownerReferences": [owner]})
    operator.wait(lambda: not is_ready(api))
    api.remove(POD, "stray")
    operator.wait(lambda: is_ready(api))


def test_deleted_graph_takes_everything_and_makes_nothing(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    operator.settle()
    set_worker(api, multinode=MULTI)
    api.remove(GRAPH, "g")
    count = len(api.writes)
    operator.wait(lambda: api.names(GRAPH) == [])
    operator.settle()
    left = {kind.kind: api.names(kind) for kind in (COMPONENT, DEPLOYMENT, LWS, POD_GROUP, SERVICE)}
    assert not any(left.values()), left
    made = [write for write in api.writes[count:] if write[0] == "create"]
    # A pass that was on its way when the deletion came may have made the new shape.
    assert all(name == "g-worker-0" for _, _, name in made)


def test_graph_deleted_while_the_operator_was_down_is_cleaned_up(
    api: FakeApi, start: Start
) -> None:
    deploy(api, start, multinode=MULTI).stop()
    api.remove(GRAPH, "g")
    assert FINALIZER in meta(api.find(GRAPH, "g") or {})["finalizers"]
    start().wait(lambda: api.names(GRAPH) == [] and api.names(LWS) == [])


def test_recreated_graph_owns_new_components(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    old = uid_of(api.find(COMPONENT, "g-worker") or {})
    api.remove(GRAPH, "g")
    operator.wait(lambda: api.names(GRAPH) == [])
    api.put(GRAPH, "g", spec=graph_spec(component(multinode=MULTI)))
    operator.wait(lambda: is_ready(api))
    assert uid_of(api.find(COMPONENT, "g-worker") or {}) != old
    assert (api.names(DEPLOYMENT), api.names(LWS)) == ([], ["g-worker-0"])


def test_refused_lws_write_leaves_gang_and_size_in_step(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, multinode=MULTI)

    def refuse(verb: str, kind: Kind, obj: Object) -> None:
        if verb == "update" and kind is LWS:
            raise ApiError(422, "Invalid", "size is immutable")

    api.reject = refuse
    set_worker(api, multinode={"nodeCount": 3})
    operator.wait(
        lambda: condition(api.find(GRAPH, "g"), "Ready").get("reason") == "ReconcileError"
    )
    operator.settle()
    assert (api.find(POD_GROUP, "g-worker-0") or {})["spec"]["minMember"] == 2
    assert "size is immutable" in condition(api.find(GRAPH, "g"), "Ready")["message"]


def test_outage_is_retried_without_a_new_event(api: FakeApi, start: Start) -> None:
    failures = [ApiError(500, "InternalError", "webhook is down") for _ in range(3)]

    def fail(verb: str, kind: Kind, obj: Object) -> None:
        if kind is DEPLOYMENT and failures:
            raise failures.pop()

    api.reject = fail
    operator = start()
    api.put(GRAPH, "g", spec=graph_spec(component()))
    operator.wait(lambda: is_ready(api))
    assert failures == []


def test_ready_time_moves_only_with_its_status(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    before = condition(api.find(GRAPH, "g"), "Ready")["lastTransitionTime"]
    time.sleep(1.1)
    api.edit(DEPLOYMENT, "g-worker", lambda obj: obj["metadata"].update(annotations={}))
    operator.settle()
    assert condition(api.find(GRAPH, "g"), "Ready")["lastTransitionTime"] == before


def test_invalid_stored_spec_leaves_children_and_recovers(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start)
    good = copy.deepcopy((api.find(GRAPH, "g") or {})["spec"])
    api.edit(GRAPH, "g", lambda graph: graph["spec"]["components"][0].update(multinode=MULTI))
    operator.wait(
        lambda: condition(api.find(GRAPH, "g"), "Ready").get("reason") == "ValidationFailed"
    )
    assert api.names(DEPLOYMENT) == ["g-frontend", "g-worker"]
    api.edit(GRAPH, "g", lambda graph: graph.update(spec=good))
    operator.wait(lambda: is_ready(api))
