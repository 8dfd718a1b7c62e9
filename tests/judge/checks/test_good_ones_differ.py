"""Good operators that differ from the reference in what nobody promised: none may be blamed."""

import copy
import dataclasses
import json

import pytest

from conformance.driver.children import child_of
from conformance.judge.case import Case
from conformance.judge.checks import equivalence, quiescence
from conformance.model.state import Obj, State
from conformance.model.transition import add_multinode, scale
from conformance.model.verdict import Verdict
from tests.builders import (
    NAMESPACE,
    OPERATOR,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    condition,
    find,
    made,
    settled,
    swapped,
)
from tests.judge.checks.verdicts import verdict

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
ADD = add_multinode("Worker")


def renamed(objects: list[Raw], old: str, new: str) -> list[Raw]:
    return [dict(raw) for raw in json.loads(json.dumps(objects).replace(old, new))]


@pytest.mark.parametrize(("ours", "theirs"), [
    ("agg-worker-g2", "agg-worker-g1"),
    ("agg-worker-2", "agg-worker-1"),
    ("agg-worker-3fa9c", "agg-worker-b01d7"),
    ("agg-worker-3fa9c27b81d2", "agg-worker-b01d73fa9c27"),
    ("agg-3fa9c27b-worker", "agg-b01d73fa-worker"),
])  # fmt: skip
def test_names_of_another_kind_of_end(ours: str, theirs: str) -> None:
    """A Deployment named per generation, ends in hexadecimal digits, a hash in the middle."""
    image = a_graph(image="vllm:2")
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(dataclasses.replace(scale("Worker", to=1), apply=lambda g: image), SINGLE)
    h.become(renamed(settled(image, generation=2), "agg-worker", ours), after=0.5)
    h.checkpoint(image)
    fresh = renamed(settled(image), "agg-worker", theirs)
    h.fresh(image, json.loads(json.dumps(fresh).replace(NAMESPACE, "fresh")))
    assert not [f.message for f in equivalence.check(Case(h.history())).findings if f.gates]


def test_eight_graphs_each_with_a_slow_heartbeat() -> None:
    """One status write a graph each 4 s, one round at the start of the hold and one near its end."""
    graphs = [a_graph(f"try-{n}") for n in range(8)]
    h = HistoryBuilder()
    for graph in graphs:
        h.deployed(graph)
    h.step(ADD, graphs[0])
    last = a_graph("try-0", node_count=2)
    objects = [*settled(last, generation=2)]
    for graph in graphs[1:]:
        objects += settled(graph)
    h.become(objects, after=0.5)
    for graph in graphs:
        root = h.live("DynamoGraphDeployment", graph.name)
        h.write(root, "update", by=OPERATOR, subresource="status")
    reached = h.now
    h.wait(4.0)
    for graph in graphs:
        root = h.live("DynamoGraphDeployment", graph.name)
        h.write(root, "update", by=OPERATOR, subresource="status")
    checkpoint = h.checkpoint(last, *graphs[1:], hold=1.0)
    h.records[-1] = dataclasses.replace(checkpoint, hold=5.0, reached_at=reached)
    assert not [f.message for f in quiescence.check(Case(h.history())).findings if f.gates]


@pytest.mark.parametrize("how", ["no controller flag", "a kind of its own in between"])
def test_children_of_another_owner_chain_are_found(how: str) -> None:
    objects = settled(SINGLE)
    child = copy.deepcopy(find(objects, "Deployment", "agg-worker"))
    if how.startswith("no"):
        child["metadata"]["ownerReferences"][0].pop("controller")
        extra = []
    else:
        component = find(objects, "DynamoComponentDeployment", "agg-worker")
        between = made("DynamoRole", "agg-worker-role", owner=component)
        child["metadata"]["ownerReferences"] = made("X", "x", owner=between)["metadata"][
            "ownerReferences"
        ]
        extra = [between]
    state = State(Obj(r) for r in [*swapped(objects, child), *extra])
    assert child_of(state, "agg", "Deployment", "Worker", a_profile()).name == "agg-worker"


def test_a_rule_of_the_crd_names_the_field_in_its_text() -> None:
    """A transition rule of the list's items: the path names the service by its place, the text the
    field."""
    text = 'spec.components[1]: Invalid value: "object": multinode cannot be added or removed'
    h = HistoryBuilder(a_profile(promises={"add_multinode": "refuse"}))
    h.deployed(SINGLE)
    answer = {
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": f'DynamoGraphDeployment.nvidia.com "agg" is invalid: {text}',
        "details": {
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "field": "spec.components[1]",
                    "message": text.partition(": ")[2],
                }
            ]
        },
    }
    h.step(ADD, SINGLE, code=422, answer=answer)
    h.checkpoint(SINGLE)
    assert verdict(h) is Verdict.CONFORMS


def test_a_heartbeat_in_a_condition_differs_from_a_fresh_deploy() -> None:
    def beating(objects: list[Raw], at: str) -> list[Raw]:
        root = copy.deepcopy(find(objects, "DynamoGraphDeployment", "agg"))
        root["status"]["conditions"].append({**condition("Alive", True), "lastHeartbeatTime": at})
        return swapped(objects, root)

    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.become(beating(settled(MULTI, generation=2), "2026-01-01T00:00:09Z"), after=0.5)
    h.checkpoint(MULTI)
    h.fresh(
        MULTI,
        json.loads(
            json.dumps(beating(settled(MULTI), "2026-01-01T00:00:00Z")).replace(NAMESPACE, "fresh")
        ),
    )
    assert not [f.message for f in equivalence.check(Case(h.history())).findings if f.gates]
