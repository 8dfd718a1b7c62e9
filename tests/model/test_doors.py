import copy
from typing import Any

import jsonpatch
import pytest

from conformance.driver import graphs
from conformance.model.doors import Door, Method, request_for
from conformance.model.graph import ApiVersion, Graph
from conformance.model.manifest import manifest, parse
from conformance.model.transition import (
    Transition,
    add_multinode,
    add_service,
    annotate,
    change_node_count,
    no_op,
    remove_multinode,
    remove_service,
    rename_service,
    scale,
    set_image,
    together,
)

WORKER = "VllmDecodeWorker"
DOORS = [Door(method=m, version=v) for v in ApiVersion for m in Method]
CHANGES: list[tuple[Graph, Transition]] = [
    (graphs.agg(), add_multinode(WORKER)),
    (graphs.agg_multinode(), remove_multinode(WORKER)),
    (graphs.agg_multinode(), change_node_count(WORKER, to=3)),
    (graphs.agg(), scale(WORKER, to=0)),
    (graphs.agg(), set_image(WORKER, "vllm-runtime:2.0.0")),
    (graphs.two_workers(), remove_service("WorkerB")),
    (graphs.two_workers(), rename_service("WorkerB", "WorkerC")),
    (graphs.agg(), add_service(graphs.two_workers().service("WorkerA"))),
    (graphs.agg(), annotate("example.com/note", "x")),
    (graphs.agg(), together("both", add_multinode(WORKER), scale("Frontend", to=2))),
]


def stored(graph: Graph, version: ApiVersion) -> dict[str, Any]:
    """The graph as an API server returns it, with fields that an operator added."""
    live = manifest(graph, version=version, namespace="ns")
    live["metadata"] |= {"resourceVersion": "7", "uid": "u", "managedFields": [{"manager": "x"}]}
    live["metadata"]["finalizers"] = ["nvidia.com/finalizer"]
    live["spec"]["restart"] = {"id": "by-the-operator"}
    live["status"] = {"state": "successful"}
    return live


def merged(live: Any, patch: Any) -> Any:
    """RFC 7386, written again so that the door is not tested by itself."""
    if not isinstance(patch, dict):
        return patch
    result = dict(live) if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def sent(live: dict[str, Any], method: Method, body: Any) -> dict[str, Any]:
    """What the API server would store, but for apply, whose merge needs the server."""
    if method is Method.MERGE_PATCH:
        result: dict[str, Any] = merged(live, body)
    elif method is Method.JSON_PATCH:
        result = jsonpatch.apply_patch(copy.deepcopy(live), body)
    else:
        result = body
    return result


@pytest.mark.parametrize("door", DOORS, ids=str)
@pytest.mark.parametrize(("graph", "change"), CHANGES, ids=[c.name for _, c in CHANGES])
def test_each_door_carries_each_change(door: Door, graph: Graph, change: Transition) -> None:
    live = stored(graph, door.version)
    request = request_for(change, before=graph, live=live, door=door, namespace="ns")
    result = sent(live, door.method, request.body)
    assert parse(result) == change.apply(graph)
    if door.method is not Method.APPLY:
        assert result["spec"]["restart"] == {"id": "by-the-operator"}
        assert result["metadata"]["finalizers"] == ["nvidia.com/finalizer"]


@pytest.mark.parametrize("door", DOORS, ids=str)
def test_a_no_op_carries_no_difference(door: Door) -> None:
    live = stored(graphs.agg(), door.version)
    request = request_for(no_op(), before=graphs.agg(), live=live, door=door, namespace="ns")
    if door.method in (Method.MERGE_PATCH, Method.JSON_PATCH):
        assert not request.body
    else:
        assert parse(request.body) == graphs.agg()


def test_a_merge_patch_removes_multinode_by_null_in_the_map_of_v1alpha1() -> None:
    door = Door(method=Method.MERGE_PATCH, version=ApiVersion.V1ALPHA1)
    live = stored(graphs.agg_multinode(), door.version)
    request = request_for(
        remove_multinode(WORKER),
        before=graphs.agg_multinode(),
        live=live,
        door=door,
        namespace="ns",
    )
    assert request.body == {"spec": {"services": {WORKER: {"multinode": None}}}}
    assert request.content_type == "application/merge-patch+json"


def test_a_merge_patch_of_v1beta1_carries_the_whole_list() -> None:
    door = Door(method=Method.MERGE_PATCH, version=ApiVersion.V1BETA1)
    live = stored(graphs.agg(), door.version)
    request = request_for(
        add_multinode(WORKER), before=graphs.agg(), live=live, door=door, namespace="ns"
    )
    names = [component["name"] for component in request.body["spec"]["components"]]
    assert names == ["Frontend", WORKER]


def test_a_replace_keeps_the_resource_version_it_was_built_on() -> None:
    door = Door(method=Method.REPLACE, version=ApiVersion.V1ALPHA1)
    live = stored(graphs.agg(), door.version)
    request = request_for(
        add_multinode(WORKER), before=graphs.agg(), live=live, door=door, namespace="ns"
    )
    assert request.body["metadata"]["resourceVersion"] == "7"
    assert "status" not in request.body


def test_a_service_whose_removal_was_refused_is_not_changed_by_adding_it_again() -> None:
    graph = graphs.two_workers()
    other = graph.service("WorkerB").replace(node_count=2)
    assert add_service(other).apply(graph) == graph
    assert add_service(other).apply(graph.without_service("WorkerB")).service("WorkerB") == other
