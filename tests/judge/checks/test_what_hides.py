"""Defects that hide where no case looks for them: each must gate, whatever checker says so."""

import copy
import dataclasses
import json
from pathlib import Path

import pytest

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    OperatorEvent,
    OperatorEventKind,
    Scope,
    Write,
)
from conformance.judge.case import Case
from conformance.judge.verdict import judge
from conformance.model.transition import add_multinode, remove_multinode, scale
from conformance.model.verdict import Verdict
from conformance.record.run_record import case_begins, case_conforms, read_endings
from tests.builders import (
    NAMESPACE,
    OPERATOR,
    PLATFORM,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    condition,
    edited,
    find,
    made,
    pod,
    settled,
    settled_component,
    swapped,
)
from tests.judge.checks.verdicts import verdict

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
ADD, REMOVE = add_multinode("Worker"), remove_multinode("Worker")
RECONCILES = a_profile(promises={"add_multinode": "reconcile", "remove_multinode": "reconcile"})


def transitioned() -> HistoryBuilder:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.become(settled(MULTI, generation=2), after=0.5)
    return h


def of_worker(objects: list[Raw], *kinds: str) -> list[Raw]:
    return [
        copy.deepcopy(r)
        for r in objects
        if r["kind"] in kinds and "worker" in r["metadata"]["name"]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "spec.components[1].multinode: Required value: Worker keeps the shape it was made with",
        'spec.components[1].multinode: Invalid value: "object": Unsupported value: Worker stays',
    ],
)
def test_a_rule_of_the_crd_breaks_the_promise_to_reconcile(text: str) -> None:
    """CEL rules may say `reason: FieldValueRequired`, and any text at all."""
    h = HistoryBuilder(RECONCILES)
    h.deployed(SINGLE)
    answer = {
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": f'DynamoGraphDeployment.nvidia.com "agg" is invalid: {text}',
        "details": {
            "causes": [
                {
                    "reason": "FieldValueRequired",
                    "message": text,
                    "field": "spec.components[1].multinode",
                }
            ]
        },
    }
    h.step(ADD, SINGLE, code=422, answer=answer)
    h.checkpoint(SINGLE)
    assert verdict(h) is Verdict.VIOLATES


def disowned(raw: Raw) -> Raw:
    raw = copy.deepcopy(raw)
    raw["metadata"].pop("ownerReferences", None)
    raw["metadata"].pop("labels", None)
    return raw


def test_the_old_pod_runs_on_below_nothing() -> None:
    """Deployment and ReplicaSet deleted with propagationPolicy=Orphan, the pod's labels taken."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    old = [disowned(r) for r in of_worker(list(h.objects.values()), "Pod")]
    h.update(*old, by=OPERATOR)
    h.become([*settled(MULTI, generation=2), *old], after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


@pytest.mark.parametrize("kind", ["StatefulSet", "Service", "ControllerRevision"])
def test_what_an_lws_made_outlives_it(kind: str) -> None:
    """LWS deleted with propagationPolicy=Orphan: what its controller had made stays."""
    h = HistoryBuilder()
    h.deployed(MULTI)
    h.step(REMOVE, MULTI)
    old = [
        r
        for r in of_worker(settled(MULTI), kind)
        if r["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet"
    ]
    for raw in old:
        raw["metadata"].pop("ownerReferences")
        if kind == "StatefulSet":
            raw["spec"]["replicas"] = 0
    h.become([*settled(SINGLE, generation=2), *old], after=0.5)
    h.checkpoint(SINGLE)
    assert old
    assert verdict(h) is Verdict.VIOLATES


def test_what_runs_below_a_foreign_object_is_hidden() -> None:
    """The old shape runs on in a copy that is owned by somebody else's look-alike."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    other = made("Deployment", "look-alike", spec={"replicas": 0}, uid="others-d")
    h.foreign(other)
    h.step(ADD, SINGLE)
    spare = made("ReplicaSet", "agg-worker-old", owner=other, spec={"replicas": 1})
    extra = pod("agg-worker-old-x", owner=spare, labels={"x": "y"})
    h.create(spare, by=OPERATOR)
    h.become([*settled(MULTI, generation=2), other, spare, extra], after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_writes_at_rest_as_a_service_account_of_the_operators() -> None:
    """A token of a ServiceAccount that the operator made (a planner's, say) is not Kubernetes'."""
    h = transitioned()
    reached = h.now
    h.wait(2.0)
    for n in range(2):
        h.wait(1.0)
        live = h.live("Service", "agg-worker")
        h.update(
            edited(live, "metadata", "annotations", to={"n": str(n)}),
            by=f"system:serviceaccount:{NAMESPACE}:planner",
        )
    checkpoint = h.checkpoint(MULTI, hold=1.0)
    h.records[-1] = dataclasses.replace(checkpoint, hold=5.0, reached_at=reached)
    assert verdict(h) is Verdict.VIOLATES


@pytest.mark.parametrize("how", ["delete", "gracefully", "evict"])
def test_a_scale_deletes_the_surviving_pods(how: str) -> None:
    two, three = a_graph(replicas=2), a_graph(replicas=3)
    h = HistoryBuilder()
    h.deployed(two)
    h.step(scale("Worker", to=3), two)
    h.wait(0.3)
    after = settled(three, generation=2)
    pods = of_worker(list(h.objects.values()), "Pod")
    fresh = []
    for raw in of_worker(after, "Pod"):
        raw["metadata"] |= {
            "name": raw["metadata"]["name"] + "n",
            "uid": raw["metadata"]["uid"] + "n",
        }
        fresh.append(raw)
    rest = [r for r in after if not (r["kind"] == "Pod" and "worker" in r["metadata"]["name"])]
    # One more first, then one after the other: the budget is never short.
    h.become([*rest, *pods, fresh[2]], after=0.2)
    for old, new in zip(pods, fresh[:2], strict=True):
        h.wait(0.3)
        h.create(new, by=PLATFORM)
        if how == "gracefully":
            # The kubelet's own delete follows so soon that it may have been either.
            going = edited(
                h.objects[old["metadata"]["uid"]], "metadata", "deletionTimestamp",
                to="2026-01-01T00:00:00Z",
            )  # fmt: skip
            h.update(going, by=OPERATOR)
            h.records.pop()
            h.write(old, "delete", by=OPERATOR)
            h.wait(0.3)
            h.delete(going, by=PLATFORM)
            continue
        h.delete(h.objects[old["metadata"]["uid"]], by=OPERATOR)
        if how == "evict":
            h.records.pop()
            h.write(old, "create", by=OPERATOR, subresource="eviction", code=201)
    h.checkpoint(three)
    assert verdict(h) is Verdict.VIOLATES


def test_pods_of_a_foreign_deployment_are_deleted() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    other = made("Deployment", "others", spec={"replicas": 1}, uid="others-d")
    replicas = made("ReplicaSet", "others-1", owner=other, uid="others-rs", spec={"replicas": 1})
    first = pod("others-1-a", owner=replicas, labels={"app": "x"}, image="other:1", uid="p1")
    h.foreign(other)
    h.create(replicas, first, by=PLATFORM)
    h.step(ADD, SINGLE)
    h.wait(0.2)
    h.delete(h.objects["p1"], by=OPERATOR)
    again = pod("others-1-b", owner=replicas, labels={"app": "x"}, image="other:1", uid="p2")
    h.create(again, by=PLATFORM)
    h.become([*settled(MULTI, generation=2), other, replicas, again], after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_a_gang_of_a_bare_component_moved_below_its_deployment() -> None:
    worker, multi = SINGLE.service("Worker"), MULTI.service("Worker")
    before = dataclasses.replace(MULTI, name="bare", services=(multi,))
    after = dataclasses.replace(SINGLE, name="bare", services=(worker,))
    h = HistoryBuilder()
    first = settled_component(multi, name="bare")
    h.create(find(first, "DynamoComponentDeployment", "bare"), by=SUITE)
    h.become(first, after=0.5)
    h.checkpoint(components=(before,), judged=False, hold=1.5)
    h.step(REMOVE, before, component="bare")
    step = dataclasses.replace(h.records[-1], after=after)
    h.records[-1] = h._pending[-1] = step
    last = settled_component(worker, name="bare")
    final = edited(find(last, "DynamoComponentDeployment", "bare"), "metadata", "generation", to=2)
    final["status"]["observedGeneration"] = 2
    waits = copy.deepcopy(final)
    waits["status"]["conditions"] = [condition("Available", False, "updating")]
    h.update(waits, by=SUITE)
    deployment = find(last, "Deployment", "bare")
    # Nothing that is the old shape's: the gang object alone stays, below the new Deployment.
    group = made("PodGroup", "bare-0", owner=deployment, spec={"minMember": 2})
    h.become([*swapped(last, waits), group], after=0.5)
    h.become([*swapped(last, final), group], after=0.5)
    h.checkpoint(components=(after,))
    assert verdict(h) is Verdict.VIOLATES


def test_ready_of_an_older_generation_at_rest() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    objects = settled(MULTI, generation=2)
    root = copy.deepcopy(find(objects, "DynamoGraphDeployment", "agg"))
    root["status"].pop("observedGeneration")
    root["status"]["conditions"][0]["observedGeneration"] = 1
    h.become(swapped(objects, root), after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_ready_flaps_while_nothing_happens() -> None:
    h = transitioned()
    start = h.now
    for _ in range(2):
        h.wait(1.0)
        root = h.live("DynamoGraphDeployment", "agg")
        bad = copy.deepcopy(root)
        bad["status"] |= {"state": "failed", "conditions": [condition("Ready", False, "Lost")]}
        h.update(bad, by=OPERATOR, status=True)
        h.wait(0.1)
        h.update(root, by=OPERATOR, status=True)
    spent = h.now - start
    checkpoint = h.checkpoint(MULTI, hold=5.0 - spent)
    h.records[-1] = dataclasses.replace(checkpoint, hold=5.0, reached_at=start)
    assert verdict(h) is Verdict.VIOLATES


def test_the_users_graph_is_deleted_and_made_again() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.wait(2.0)
    old = h.objects["DynamoGraphDeployment/agg"]
    # All children are made anew below the second graph.
    text = json.dumps(settled(MULTI)).replace(
        "DynamoGraphDeployment/agg", "DynamoGraphDeployment/agg2"
    )
    h.delete(copy.deepcopy(old), by=OPERATOR)
    h.become(json.loads(text), after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_arguments_are_taken_from_the_users_graph() -> None:
    """The children keep them, from the operator's own memory."""
    h = transitioned()
    h.wait(2.0)
    root = h.live("DynamoGraphDeployment", "agg")
    bare = copy.deepcopy(root)
    for component in bare["spec"]["components"]:
        for container in component["podTemplate"]["spec"]["containers"]:
            container.pop("args", None)
            container.pop("command", None)
    bare["metadata"]["generation"] = 3
    bare["status"]["observedGeneration"] = 3
    assert bare["spec"] != root["spec"]
    h.update(bare, by=OPERATOR)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_what_was_there_before_is_deleted() -> None:
    """deletecollection of ConfigMaps during a toggle; the root CA comes back by itself."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.wait(0.2)
    root_ca = h.live("ConfigMap", "kube-root-ca.crt")
    h.delete(root_ca, by=OPERATOR)
    again = copy.deepcopy(root_ca)
    again["metadata"]["uid"] = "again"
    h.create(again, by="system:serviceaccount:kube-system:root-ca-cert-publisher")
    h.become([*settled(MULTI, generation=2), again], after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES


def test_the_old_replicaset_stays_empty_below_the_component() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    objects = settled(MULTI, generation=2)
    component = find(objects, "DynamoComponentDeployment", "agg-worker")
    old = of_worker(list(h.objects.values()), "ReplicaSet")[0]
    old["spec"]["replicas"] = 0
    old["metadata"]["ownerReferences"] = [
        {
            "apiVersion": component["apiVersion"],
            "kind": component["kind"],
            "controller": True,
            "name": "agg-worker",
            "uid": component["metadata"]["uid"],
        }
    ]
    h.become([*objects, old], after=0.5)
    h.checkpoint(MULTI)
    fresh = json.loads(json.dumps(settled(MULTI)).replace(NAMESPACE, "fresh"))
    h.fresh(MULTI, fresh)
    assert verdict(h) is Verdict.VIOLATES


def test_writes_after_a_case_are_excused_by_a_start_before_it(tmp_path: Path) -> None:
    """The run began with the operator's start; a case that ended 15 s later is not looked at anew."""
    h = HistoryBuilder()
    h.operator(OperatorEventKind.STARTED)
    h.operator(OperatorEventKind.READY)
    h.wait(2.0)
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    case = len(h.records)
    h.wait(6.0)
    live = h.live("Service", "agg-worker")
    h.update(edited(live, "spec", "selector", to={"nobody": "x"}), by=OPERATOR)
    h.wait(3.0)
    h.update(live, by=OPERATOR)
    h.wait(60.0)
    ended = History(h.records[:case])
    case_begins(tmp_path, ended.namespace)
    case_conforms(tmp_path, ended, others=Case(ended).others)
    later = [r for r in h.records[case:] if isinstance(r, Event | Write | OperatorEvent)]
    starts = [r for r in h.records[:case] if isinstance(r, OperatorEvent)]
    last = Checkpoint(
        name="the end of the run",
        at=h.now,
        since=h.now,
        end=CheckpointEnd.HELD,
        revision=h.revision,
        graphs=(),
    )
    header = dataclasses.replace(ended.header, scope=Scope.SOAK, namespace="")
    found = judge(History([header, *read_endings(tmp_path).records, *starts, *later, last]))
    assert found.verdict is Verdict.VIOLATES


def test_a_rule_by_labels_takes_each_components_own_service_out() -> None:
    """By name such a rule is refused; by labels it is not."""
    profile = a_profile(
        services=[
            {
                "use": "debug",
                "labels": {"nvidia.com/dynamo-component-type": "worker"},
                "reason": "no",
            },
            {"use": "component", "name": "{component}"},
        ]
    )
    h = HistoryBuilder(profile)
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    objects = settled(MULTI, h.profile, generation=2)
    stale = edited(find(objects, "Service", "agg-worker"), "spec", "selector", to={"old": "shape"})
    h.become(swapped(objects, stale), after=0.5)
    h.checkpoint(MULTI)
    assert verdict(h) is Verdict.VIOLATES
