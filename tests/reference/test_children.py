import copy
from typing import Any

import pytest
from reference_fakes import component

from reference.children import Builder, Plan, UnbuildableError
from reference.compare import covers
from reference.faults import Faults
from reference.graph_controller import component_spec
from reference.objects import DEPLOYMENT, GRAPH, LWS, STATEFUL_SET, Object, owner_reference

OWNER: Object = {"metadata": {"name": "g", "namespace": "ns", "uid": "u"}}


def plan(*, bare: bool = False, **fields: Any) -> Plan:
    metadata: Object = {"name": "g-worker", "namespace": "ns", "uid": "c"}
    if not bare:
        metadata["ownerReferences"] = [owner_reference(OWNER, GRAPH)]
    spec = {"backendFramework": "vllm", **component(**fields)}
    return Builder({"metadata": metadata, "spec": spec}, Faults()).plan()


def templates(built: Plan) -> list[Object]:
    spec = built.workload["spec"]
    if built.workload_kind is DEPLOYMENT:
        return [spec["template"]]
    both = spec["leaderWorkerTemplate"]
    return [both["leaderTemplate"], both["workerTemplate"]]


def test_single_node_is_a_deployment_with_the_users_command_as_it_is() -> None:
    built = plan(replicas=3)
    assert built.workload_kind is DEPLOYMENT
    assert built.workload["metadata"]["name"] == "g-worker"
    assert built.workload["spec"]["replicas"] == 3
    assert built.gangs == []
    (main,) = templates(built)[0]["spec"]["containers"]
    assert main["command"] == ["python3", "-m", "dynamo.vllm"]
    assert main["args"] == ["--model", "m"]


def test_single_node_may_be_a_stateful_set_behind_the_components_service() -> None:
    metadata = {"name": "g-worker", "namespace": "ns", "uid": "c"}
    spec = {"backendFramework": "vllm", **component(replicas=3)}
    owner = {"metadata": metadata, "spec": spec}
    built = Builder(owner, Faults(), single_node=STATEFUL_SET).plan()
    assert built.workload_kind is STATEFUL_SET
    wanted = Builder(owner, Faults()).plan().workload["spec"]
    assert built.workload["spec"] == {
        **{key: value for key, value in wanted.items() if key != "strategy"},
        "serviceName": built.services[0]["metadata"]["name"],
        "podManagementPolicy": "Parallel",
    }


def test_multinode_is_one_lws_with_a_gang_object_a_group() -> None:
    built = plan(replicas=2, multinode={"nodeCount": 3})
    assert built.workload_kind is LWS
    spec = built.workload["spec"]
    assert built.workload["metadata"]["name"] == "g-worker-0"
    assert (spec["replicas"], spec["leaderWorkerTemplate"]["size"]) == (2, 3)
    assert spec["startupPolicy"] == "LeaderCreated"
    assert [gang["metadata"]["name"] for gang in built.gangs] == ["g-worker-0", "g-worker-1"]
    assert {gang["spec"]["minMember"] for gang in built.gangs} == {3}


def test_service_has_another_name_than_the_lws() -> None:
    built = plan(multinode={"nodeCount": 2})
    (service,) = built.services
    assert service["metadata"]["name"] != built.workload["metadata"]["name"]


def test_absent_replicas_mean_one() -> None:
    built = plan()
    assert built.workload["spec"]["replicas"] == 1
    assert len(plan(multinode={"nodeCount": 2}).gangs) == 1


@pytest.mark.parametrize("nodes", [1, 2])
def test_every_selector_pair_is_on_exactly_the_routable_pods(nodes: int) -> None:
    fields: Object = {} if nodes == 1 else {"multinode": {"nodeCount": nodes}}
    built = plan(**fields)
    selector = built.services[0]["spec"]["selector"]
    labels = [template["metadata"]["labels"] for template in templates(built)]
    hit = [selector.items() <= entry.items() for entry in labels]
    assert hit == [True, False][: len(hit)]
    assert "" not in selector.values()


def test_component_without_a_type_has_no_empty_label() -> None:
    built = plan(type_="")
    assert "" not in built.services[0]["spec"]["selector"].values()


@pytest.mark.parametrize("multinode", [None, {"nodeCount": 2}])
def test_the_users_pod_is_in_every_template(multinode: Object | None) -> None:
    wanted = component()["podTemplate"]
    wanted["metadata"] = {"labels": {"mine": "1"}, "annotations": {"note": "2"}}
    wanted["spec"] |= {
        "serviceAccountName": "me",
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    wanted["spec"]["containers"].append({"name": "side", "image": "s:1.0.0"})
    wanted["spec"]["containers"][0]["env"] = [{"name": "DYN_COMPONENT", "value": "own"}]
    before = copy.deepcopy(wanted)
    fields: Object = {"podTemplate": wanted, "sharedMemorySize": "1Gi"}
    if multinode:
        fields["multinode"] = multinode
    for template in templates(plan(**fields)):
        spec = template["spec"]
        assert template["metadata"]["labels"]["mine"] == "1"
        assert template["metadata"]["annotations"] == {"note": "2"}
        assert spec["serviceAccountName"] == "me"
        assert [entry["name"] for entry in spec["containers"]] == ["main", "side"]
        assert {"name": "DYN_COMPONENT", "value": "own"} in spec["containers"][0]["env"]
        assert {volume["name"] for volume in spec["volumes"]} == {"v", "shared-memory"}
    assert wanted == before


def test_operator_labels_win_over_the_users() -> None:
    template = component()["podTemplate"]
    template["metadata"] = {"labels": {"nvidia.com/selector": "mine", "role": "mine"}}
    for built in templates(plan(podTemplate=template, multinode={"nodeCount": 2})):
        labels = built["metadata"]["labels"]
        assert labels["nvidia.com/selector"] == "g-worker"
        assert labels["role"] in ("leader", "worker")


def test_vllm_nodes_learn_their_rank_after_the_users_arguments() -> None:
    leader, worker = templates(plan(multinode={"nodeCount": 2}))
    args = leader["spec"]["containers"][0]["args"]
    assert args[:2] == ["--model", "m"]
    assert args[2:4] == ["--nnodes", "$(LWS_GROUP_SIZE)"]
    assert worker["spec"]["containers"][0]["args"] == [*args, "--headless"]


def test_shell_command_is_not_extended() -> None:
    template = component()["podTemplate"]
    main = template["spec"]["containers"][0]
    main["command"], main["args"] = ["/bin/sh", "-c"], ["serve"]
    for built in templates(plan(podTemplate=template, multinode={"nodeCount": 2})):
        assert built["spec"]["containers"][0]["args"] == ["serve"]


@pytest.mark.parametrize(("missing", "word"), [("resources", "GPU limit"), ("command", "command")])
def test_multinode_without_a_part_cannot_be_built(missing: str, word: str) -> None:
    template = component()["podTemplate"]
    del template["spec"]["containers"][0][missing]
    with pytest.raises(UnbuildableError, match=word):
        plan(podTemplate=template, multinode={"nodeCount": 2})
    assert plan(podTemplate=template).workload_kind is DEPLOYMENT


def test_bare_component_is_its_own_namespace() -> None:
    labels = plan(bare=True).services[0]["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-namespace"] == "ns-g-worker"
    assert "nvidia.com/dynamo-graph-deployment-name" not in labels


def test_graphs_in_the_global_namespace_do_not_select_each_other() -> None:
    selector = plan(globalDynamoNamespace=True).services[0]["spec"]["selector"]
    assert selector["nvidia.com/dynamo-namespace"] == "dynamo"
    assert selector["nvidia.com/dynamo-graph-deployment-name"] == "g"


def test_deployment_strategy_follows_the_annotations() -> None:
    template = component()["podTemplate"]
    template["metadata"] = {"annotations": {"nvidia.com/deployment-strategy": "Recreate"}}
    assert plan(podTemplate=template).workload["spec"]["strategy"] == {"type": "Recreate"}
    surge = "nvidia.com/deployment-rolling-update-max-surge"
    template["metadata"] = {"annotations": {surge: "2"}}
    strategy = plan(podTemplate=template).workload["spec"]["strategy"]
    assert strategy["rollingUpdate"] == {"maxSurge": 2, "maxUnavailable": "25%"}


def test_equal_input_gives_equal_children() -> None:
    assert plan(multinode={"nodeCount": 2}).wanted() == plan(multinode={"nodeCount": 2}).wanted()


def test_what_the_graph_says_for_all_reaches_a_component_whose_own_word_wins() -> None:
    own = component()
    own["podTemplate"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "own"}]
    graph = {
        "backendFramework": "vllm",
        "labels": {"l": "1"},
        "priorityClassName": "high",
        "env": [{"name": "A", "value": "all"}, {"name": "B", "value": "all"}],
    }
    before = copy.deepcopy(own)
    spec = component_spec(graph, own)
    assert own == before
    assert spec["backendFramework"] == "vllm"
    assert spec["podTemplate"]["metadata"]["labels"] == {"l": "1"}
    pod = spec["podTemplate"]["spec"]
    assert pod["priorityClassName"] == "high"
    assert pod["containers"][0]["env"] == [
        {"name": "B", "value": "all"},
        {"name": "A", "value": "own"},
    ]


@pytest.mark.parametrize(
    ("live", "wanted", "same"),
    [
        ({"a": 1, "default": 2}, {"a": 1}, True),
        ({"a": 2}, {"a": 1}, False),
        ({}, {"a": {}, "b": [], "c": "", "d": None}, True),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, True),
        ({"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1024Mi"}}, True),
        ({"limits": {"gpu": "1"}}, {"limits": {"gpu": 1}}, True),
        ({"limits": {"memory": "1G"}}, {"limits": {"memory": "1Gi"}}, False),
        ([{"name": "a", "x": 1}], [{"name": "a"}], True),
        ([{"name": "a"}, {"name": "b"}], [{"name": "a"}], False),
        ({"on": False}, {"on": True}, False),
        ({}, {"a": 1}, False),
    ],
)
def test_live_object_covers_what_is_wanted(live: object, wanted: object, same: bool) -> None:
    assert covers(live, wanted) is same
