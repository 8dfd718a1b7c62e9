"""Equivalence on histories written by hand."""

import json
from typing import Any

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case
from conformance.judge.checks.equivalence import check
from conformance.judge.compare.canonical import canonical, differences, stem
from conformance.judge.compare.masks import LEFT_OUT, MASKS, NAME_ENDS
from conformance.model.state import Obj, State
from conformance.model.transition import add_multinode, remove_multinode
from conformance.model.verdict import Verdict
from tests.builders import (
    NAMESPACE,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    edited,
    find,
    made,
    settled,
)
from tests.judge.checks.reading import only

A, B = a_graph(), a_graph(node_count=2)


def deployed_fresh() -> list[Raw]:
    """What a fresh deploy of B has, in a namespace of its own, with its own identities."""
    found = []
    for raw in settled(B):
        copy: Raw = json.loads(json.dumps(raw).replace(NAMESPACE, "fresh"))
        meta = copy["metadata"]
        meta["uid"] = f"fresh/{meta['uid']}"
        meta["creationTimestamp"] = "2026-02-02T00:00:00Z"
        for owner in meta.get("ownerReferences", ()):
            owner["uid"] = f"fresh/{owner['uid']}"
        found.append(copy)
    return found


def compared(
    objects: list[Raw] | None = None, *, fresh: list[Raw] | None = None, problem: str = "",
    end: CheckpointEnd = CheckpointEnd.HELD, profile: Any = None, graph: Any = B,
) -> History:  # fmt: skip
    h = HistoryBuilder(profile)
    h.deployed(A)
    h.step(add_multinode("Worker"), A)
    h.become(objects or settled(B, generation=2), after=0.5)
    h.checkpoint(B, end=end)
    h.fresh(graph, deployed_fresh() if fresh is None else fresh, problem=problem)
    return h.history()


def changed(kind: str, name: str, *path: str, to: Any) -> list[Raw]:
    objects = settled(B, generation=2)
    target = find(objects, kind, name)
    return [edited(raw, *path, to=to) if raw is target else raw for raw in objects]


def test_a_transitioned_state_that_equals_the_fresh_one_conforms() -> None:
    result = check(Case(compared()))
    assert [f.message for f in result.findings] == []
    assert (result.verdict, result.looked_at) == (Verdict.CONFORMS, 1)


def test_a_field_that_differs_violates_and_shows_both_values() -> None:
    objects = changed("Service", "agg-worker", "spec", "selector", "role", to=None)
    finding = only(check(Case(compared(objects))), Verdict.VIOLATES)
    assert finding.subject == "Service/agg-worker"
    assert finding.message == (
        "Service agg-worker differs from a fresh deploy of the same graph in spec.selector.role "
        "(absent here, 'leader' there)"
    )


def test_an_object_too_many_violates() -> None:
    component = find(settled(B), "DynamoComponentDeployment", "agg-worker")
    extra = made("ConfigMap", "agg-worker-extra", owner=component)
    finding = only(check(Case(compared([*settled(B, generation=2), extra]))), Verdict.VIOLATES)
    assert "There is 1 ConfigMap where a fresh deploy of the same graph has 0" in finding.message


def test_an_object_too_few_violates() -> None:
    objects = [r for r in settled(B, generation=2) if r["kind"] != "PodGroup"]
    assert "There are 0 PodGroups" in only(check(Case(compared(objects))), Verdict.VIOLATES).message


def test_a_status_claim_that_differs_violates() -> None:
    objects = changed("DynamoGraphDeployment", "agg", "status", "state", to="pending")
    assert "status.state" in only(check(Case(compared(objects))), Verdict.VIOLATES).message


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("Service", "agg-worker", ("spec", "clusterIP"), "10.0.0.7"),
        ("Service", "agg-worker", ("metadata", "generation"), 7),
        ("Service", "agg-worker", ("metadata", "managedFields"), [{"manager": "x"}]),
        ("DynamoGraphDeployment", "agg", ("status", "observedGeneration"), 7),
        ("DynamoGraphDeployment", "agg", ("status", "rollingUpdate", "phase"), "Completed"),
        ("DynamoComponentDeployment", "agg-worker",
         ("metadata", "annotations", "nvidia.com/last-applied-hash"), "0a1b"),
        ("LeaderWorkerSet", "agg-worker-0", ("status", "replicas"), 7),
        ("PodGroup", "agg-worker-0", ("status", "phase"), "Running"),
    ],
)  # fmt: skip
def test_what_is_masked_may_differ(kind: str, name: str, path: tuple[str, ...], value: Any) -> None:
    assert check(Case(compared(changed(kind, name, *path, to=value)))).findings == ()


def test_a_profile_may_mask_a_field_but_not_an_object() -> None:
    mask = {"kind": "Service", "path": "spec.selector.*", "reason": "r"}
    objects = changed("Service", "agg-worker", "spec", "selector", "role", to=None)
    assert check(Case(compared(objects, profile=a_profile(masks=[mask])))).findings == ()
    all_of_it = {"kind": "PodGroup", "path": "metadata.*", "reason": "r"}
    missing = [r for r in settled(B, generation=2) if r["kind"] != "PodGroup"]
    history = compared(missing, profile=a_profile(masks=[all_of_it]))
    assert only(check(Case(history)), Verdict.VIOLATES)


def test_rollback_history_and_evidence_are_left_out() -> None:
    deployment = find(settled(B), "Deployment", "agg-frontend")
    old = made("ReplicaSet", "agg-frontend-0ld00", owner=deployment, spec={"replicas": 0})
    event = made("Event", "agg.1", owner=deployment)
    assert check(Case(compared([*settled(B, generation=2), old, event]))).findings == ()
    live = made("ReplicaSet", "agg-frontend-0ld00", owner=deployment, spec={"replicas": 1})
    assert only(check(Case(compared([*settled(B, generation=2), live]))), Verdict.VIOLATES)


def test_keepers_are_left_out() -> None:
    graph = find(settled(B), "DynamoGraphDeployment", "agg")
    kept = made("ServiceAccount", "planner", owner=graph)
    profile = a_profile(retained=[{"kind": "ServiceAccount", "name": "plan*", "reason": "r"}])
    objects = [*settled(B, generation=2), kept]
    assert check(Case(compared(objects, profile=profile))).findings == ()
    assert only(check(Case(compared(objects))), Verdict.VIOLATES)


# Nothing to compare with -----------------------------------------------------------------------


def test_a_fresh_deploy_that_failed_is_unknown() -> None:
    finding = only(check(Case(compared(problem="it did not settle"))), Verdict.UNKNOWN)
    assert "it did not settle" in finding.message


def test_an_empty_fresh_deploy_is_unknown() -> None:
    assert "nothing was compared" in only(check(Case(compared(fresh=[]))), Verdict.UNKNOWN).message


def test_a_fresh_deploy_of_another_graph_is_unknown() -> None:
    other = a_graph(node_count=3)
    assert (
        "no judged checkpoint" in only(check(Case(compared(graph=other))), Verdict.UNKNOWN).message
    )


def test_a_checkpoint_that_was_not_held_is_unknown() -> None:
    assert only(check(Case(compared(end=CheckpointEnd.DEADLINE))), Verdict.UNKNOWN)


def test_without_fresh_deploys_or_a_return_it_does_not_apply() -> None:
    h = HistoryBuilder()
    h.deployed(A)
    h.step(add_multinode("Worker"), A)
    h.become(settled(B, generation=2), after=0.5)
    h.checkpoint(B)
    assert check(Case(h.history())).verdict is None


# There and back --------------------------------------------------------------------------------


def there_and_back(*, leave: Raw | None = None) -> History:
    h = HistoryBuilder()
    h.deployed(A)
    h.step(add_multinode("Worker"), A)
    h.become(settled(B, generation=2), after=0.5)
    h.checkpoint(B)
    h.step(remove_multinode("Worker"), B)
    h.become([*settled(A, generation=3), *([leave] if leave else [])], after=0.5)
    h.checkpoint(A)
    return h.history()


def test_there_and_back_that_ends_where_it_began_conforms() -> None:
    result = check(Case(there_and_back()))
    assert (result.verdict, result.looked_at) == (Verdict.CONFORMS, 1)


def test_there_and_back_that_leaves_something_violates() -> None:
    component = find(settled(A), "DynamoComponentDeployment", "agg-worker")
    finding = only(check(Case(there_and_back(leave=made("PodGroup", "agg-worker-0", owner=component)))),
                   Verdict.VIOLATES)  # fmt: skip
    assert "what it was before add-multinode-2 and remove-multinode" in finding.message


def test_a_case_in_which_nothing_was_accepted_is_no_return() -> None:
    h = HistoryBuilder()
    h.deployed(A)
    h.step(add_multinode("Worker"), A, code=403)
    h.checkpoint(A)
    assert check(Case(h.history())).verdict is None


# Names and masks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("ReplicaSet", "agg-worker-5d4f8c7b9", "agg-worker"),
        ("Pod", "agg-worker-5d4f8c7b9-x7k2p", "agg-worker"),
        ("Pod", "agg-worker-0-1", "agg-worker-0-1"),
        ("DynamoComponentDeployment", "agg-worker-0a1b2c3d", "agg-worker"),
        ("DynamoComponentDeployment", "agg-deadbeef", "agg-deadbeef"),
        ("LeaderWorkerSet", "agg-worker-0", "agg-worker-0"),
    ],
)
def test_only_made_up_ends_of_names_are_cut(kind: str, name: str, expected: str) -> None:
    assert stem(Obj(made(kind, name))) == expected


def test_a_cut_name_is_cut_wherever_it_stands_but_both_objects_count() -> None:
    graph = made("DynamoGraphDeployment", "agg", spec={})

    def side(*ends: str) -> State:
        parts = [
            made("Deployment", f"agg-w-{end}", owner=graph,
                 spec={"selector": {"nvidia.com/selector": f"agg-w-{end}"}})
            for end in ends
        ]  # fmt: skip
        return State(Obj(raw) for raw in (graph, *parts))

    def unlike(left: State, right: State) -> list[str]:
        sides = [
            canonical(state, graph="agg", namespace=NAMESPACE, profile=a_profile())
            for state in (left, right)
        ]
        return [row.name for row in differences(*sides)]

    assert unlike(side("0a1b2c3d"), side("9f8e7d6c")) == []
    assert unlike(side("0a1b2c3d", "9f8e7d6c"), side("9f8e7d6c")) == ["agg-w"]


def test_every_mask_and_left_out_class_has_a_reason() -> None:
    assert all(row.reason for row in (*MASKS, *LEFT_OUT, *NAME_ENDS))
