"""Old workloads that an operator put out of sight instead of deleting them."""

import copy

import pytest

from conformance.history.records import OperatorEventKind
from conformance.judge.case import Case
from conformance.judge.checks.orphans import check as orphans
from conformance.judge.verdict import judge
from conformance.model.transition import add_multinode
from conformance.model.verdict import CheckerName, Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    HistoryBuilder,
    Raw,
    a_graph,
    find,
    made,
    settled,
)
from tests.judge.checks.reading import gating, only

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
ADD = add_multinode("Worker")
COMPONENT = find(settled(MULTI), "DynamoComponentDeployment", "agg-worker")


def owned_by(raw: Raw, owner: Raw) -> Raw:
    """The object with `owner` as its only owner."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"],
                 "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}  # fmt: skip
    return {**raw, "metadata": {**raw["metadata"], "ownerReferences": [reference]}}


def old_tree(owner: Raw, *, labels: bool) -> list[Raw]:
    """The worker's single-node Deployment with ReplicaSet and pod, moved below something else. Without
    `labels` the template lost them, too, so that its pods were made anew."""
    found = []
    for raw in copy.deepcopy(settled(SINGLE)):
        meta, kind = raw["metadata"], raw["kind"]
        if kind not in ("Deployment", "ReplicaSet", "Pod") or "worker" not in meta["name"]:
            continue
        if not labels:
            del meta["labels"]
            if kind != "Deployment":
                meta |= {"name": f"{meta['name']}n", "uid": f"{meta['uid']}n"}
                if kind == "Pod":
                    meta["ownerReferences"][0]["uid"] += "n"
        found.append(owned_by(raw, owner) if kind == "Deployment" else raw)
    return found


def toggled(*extra: Raw, created: Raw | None = None, by: str = "") -> HistoryBuilder:
    """A worker that became groups, with further objects beside them."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.wait(0.2)
    if created is not None:
        h.create(created, by=by or OPERATOR)
    h.become([*settled(MULTI, generation=2), *extra], after=0.3)
    h.checkpoint(MULTI)
    h.operator(OperatorEventKind.READY)
    return h


def verdict(h: HistoryBuilder) -> Verdict:
    return judge(h.history()).verdict


def test_a_good_toggle_conforms() -> None:
    assert verdict(toggled()) is Verdict.CONFORMS


def test_below_a_cluster_role_with_its_labels_it_coexists() -> None:
    role = made("ClusterRole", "add-worker-old", namespace=None)
    h = toggled(*old_tree(role, labels=True), created=role)
    found = judge(h.history()).result(CheckerName.COEXISTENCE)
    assert only(found, Verdict.VIOLATES).subject == "Deployment/agg-worker"


def test_below_a_cluster_role_and_without_labels_it_is_an_orphan() -> None:
    role = made("ClusterRole", "add-worker-old", namespace=None)
    h = toggled(*old_tree(role, labels=False), created=role)
    finding = only(orphans(Case(h.history())), Verdict.VIOLATES)
    assert finding.message.startswith(
        "Deployment agg-worker has no owner in its namespace and belongs to no graph by its labels"
    )
    assert "owned by ClusterRole add-worker-old, created by the operator" in finding.message


@pytest.mark.parametrize("labels", [True, False], ids=["labels kept", "labels stripped"])
def test_below_a_config_map_of_its_component_it_coexists(labels: bool) -> None:
    below = made("ConfigMap", "attic", owner=COMPONENT)
    h = toggled(below, *old_tree(below, labels=labels), created=below)
    found = judge(h.history()).result(CheckerName.COEXISTENCE)
    assert only(found, Verdict.VIOLATES).subject == "Deployment/agg-worker"


def test_below_the_new_groups_it_coexists_even_if_empty() -> None:
    group = find(settled(MULTI), "LeaderWorkerSet", "agg-worker-0")
    old = old_tree(group, labels=True)[0]
    old["spec"]["replicas"] = 0
    found = judge(toggled(old).history()).result(CheckerName.COEXISTENCE)
    assert only(found, Verdict.VIOLATES).subject == "Deployment/agg-worker"


@pytest.mark.parametrize("labels", [True, False], ids=["labels kept", "labels stripped"])
def test_below_the_namespaces_own_objects_it_is_not_hidden(labels: bool) -> None:
    account = made("ServiceAccount", "default")
    assert verdict(toggled(*old_tree(account, labels=labels))) is Verdict.VIOLATES


@pytest.mark.parametrize("labels", [True, False], ids=["labels kept", "labels stripped"])
def test_below_an_object_of_the_suites_it_is_not_hidden(labels: bool) -> None:
    secret = made("Secret", "registry")
    h = toggled(secret, *old_tree(secret, labels=labels), created=secret, by="conformance-suite")
    assert verdict(h) is Verdict.VIOLATES


def test_what_somebody_else_made_below_a_cluster_scoped_object_is_no_orphan() -> None:
    role = made("ClusterRole", "somebodys", namespace=None)
    below = owned_by(made("ConfigMap", "theirs"), role)
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.create(role, below, by=PLATFORM)
    h.become([*settled(MULTI, generation=2), below], after=0.3)
    h.checkpoint(MULTI)
    assert gating(orphans(Case(h.history()))) == []


def test_the_usual_helpers_of_a_component_are_nothing_to_tell_of() -> None:
    helpers = [
        made("ConfigMap", "agg-worker-config", owner=COMPONENT),
        made("HorizontalPodAutoscaler", "agg-worker", owner=COMPONENT),
        made("PodDisruptionBudget", "agg-worker", owner=COMPONENT),
        made("Job", "agg-worker-fetch", owner=COMPONENT),
    ]
    assert verdict(toggled(*helpers)) is Verdict.CONFORMS


# Elsewhere ----------------------------------------------------------------------------------------


def copied(kind: str = "Deployment", *, image: str = "vllm:1.0.0", name: str = "") -> Raw:
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    spec = template["spec"] if kind == "Pod" else {"template": template}
    return made(kind, name or "case-1-agg-worker", namespace="attic", spec=dict(spec))


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Pod"])
def test_a_copy_of_a_workload_in_another_namespace_violates(kind: str) -> None:
    h = toggled(copied(kind), created=copied(kind))
    finding = only(orphans(Case(h.history())), Verdict.VIOLATES)
    assert "runs an image of its graphs outside its namespace" in finding.message


def test_the_image_that_the_service_had_before_is_one_of_the_graphs() -> None:
    old = a_graph(image="vllm:0.9.0")
    h = HistoryBuilder()
    h.deployed(old)
    h.step(add_multinode("Worker"), old)
    copy_ = copied(image="vllm:0.9.0")
    h.create(copy_, by=OPERATOR)
    after = a_graph(image="vllm:0.9.0", node_count=2)
    h.become([*settled(after, generation=2), copy_], after=0.3)
    h.checkpoint(after)
    assert only(orphans(Case(h.history())), Verdict.VIOLATES)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(copied(image="nats:2"), id="another image"),
        pytest.param(copied(name="planner"), id="does not name the case"),
        pytest.param(copied("Job"), id="a Job ends by itself"),
        pytest.param(made("ConfigMap", "case-1", namespace="attic"), id="runs nothing"),
    ],
)
def test_other_objects_elsewhere_wait_for_the_last_graph(other: Raw) -> None:
    assert gating(orphans(Case(toggled(other, created=other).history()))) == []


def test_what_somebody_else_runs_elsewhere_proves_nothing() -> None:
    h = toggled(copied(), created=copied(), by=STRANGER)
    assert only(orphans(Case(h.history())), Verdict.UNKNOWN)
