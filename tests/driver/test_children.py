"""What a case learns of the operator's own children, by what they belong to."""

import dataclasses

import pytest

from conformance.driver.children import child_of, fresh_child_of, has_child
from conformance.history.records import Fresh
from conformance.model.errors import InfraError
from conformance.model.state import Obj, State
from tests.objects import NAMESPACE, Raw, a_graph, a_profile, settled

GROUPS = a_graph(node_count=2)
OTHER = a_graph("agg-other", node_count=2)
PROFILE = a_profile()


def state(objects: list[Raw]) -> State:
    return State(Obj(raw) for raw in objects)


def test_the_service_found_is_the_components_and_not_that_of_its_groups() -> None:
    objects = settled(GROUPS, profile=PROFILE)
    headless = [
        raw
        for raw in objects
        if raw["kind"] == "Service"
        and raw["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet"
    ]
    assert headless, "the groups of this test have no Service of their own"
    others = [raw for raw in objects if raw not in headless]
    child = child_of(state([*headless, *others]), GROUPS.name, "Service", "Worker", PROFILE)
    assert (child.controller or {})["kind"] == "DynamoComponentDeployment"


def test_the_child_found_is_of_that_graph_and_of_no_other() -> None:
    both = state([*settled(OTHER, profile=PROFILE), *settled(GROUPS, profile=PROFILE)])
    child = child_of(both, GROUPS.name, "LeaderWorkerSet", "worker", PROFILE)
    assert child.name.startswith(f"{GROUPS.name}-worker")


def test_a_child_that_a_fresh_deploy_has_not_is_told_with_its_problem() -> None:
    objects = [raw for raw in settled(GROUPS, profile=PROFILE) if raw["kind"] != "PodGroup"]
    fresh = Fresh(graph=GROUPS, namespace=NAMESPACE, objects=tuple(objects), problem="no quota")
    with pytest.raises(InfraError, match="has no PodGroup for service Worker: no quota"):
        fresh_child_of(fresh, "PodGroup", "Worker", PROFILE)


def test_what_an_operator_makes_is_told_by_what_is_there_though_it_never_settled() -> None:
    objects = [raw for raw in settled(GROUPS, profile=PROFILE) if raw["kind"] != "PodGroup"]
    good = Fresh(graph=GROUPS, namespace=NAMESPACE, objects=tuple(objects))
    stuck = dataclasses.replace(good, problem="a selector is wrong")
    assert not has_child(good, "PodGroup", "Worker", PROFILE)
    assert has_child(stuck, "LeaderWorkerSet", "Worker", PROFILE)
    with pytest.raises(InfraError, match="a selector is wrong"):
        has_child(stuck, "PodGroup", "Worker", PROFILE)
