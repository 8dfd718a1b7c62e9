"""Orphans: nothing is left that nobody owns or wants; nothing is called so too early."""

import pytest

from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case
from conformance.judge.checks import orphans
from conformance.model.exemptions import Retained
from conformance.model.transition import remove_multinode, remove_service
from conformance.model.verdict import Finding, Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    SUITE,
    HistoryBuilder,
    a_graph,
    a_profile,
    deletion,
    deploy,
    edited,
    find,
    made,
    settled,
    swapped,
)

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def found(h: HistoryBuilder) -> list[Finding]:
    return [finding for finding in orphans.check(Case(h.history())).findings if finding.gates]


def test_pod_group_kept_on_remove_is_named_with_owner_creator_and_time() -> None:
    h = HistoryBuilder()
    h.deployed(MULTI)
    h.step(remove_multinode("Worker"), MULTI)
    left = find(settled(MULTI), "PodGroup", "agg-worker-0")
    h.become([*settled(SINGLE, generation=2), left], after=0.5)
    h.checkpoint(SINGLE, end=CheckpointEnd.DEADLINE)
    (finding,) = found(h)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.message == (
        "PodGroup agg-worker-0 of service Worker still exists, and no group of the service needs "
        "it, "
        "30.0 s after multinode was removed from service Worker; it is controlled by DCD "
        "agg-worker, "
        "created by the operator"
    )


def test_missing_owner_reference_is_an_orphan_from_the_first_deploy() -> None:
    h = HistoryBuilder()
    h.step(deploy(MULTI), None)
    gang = find(settled(MULTI), "PodGroup", "agg-worker-0")
    bare = edited(gang, "metadata", "ownerReferences", to=None)
    h.become(swapped(settled(MULTI), bare), after=0.5)
    h.checkpoint(MULTI)
    (finding,) = found(h)
    assert finding.message.endswith("it is without an owner, created by the operator")


def test_clean_history_has_no_orphan() -> None:
    h = HistoryBuilder()
    h.deployed(MULTI)
    h.step(remove_multinode("Worker"), MULTI)
    h.become(settled(SINGLE, generation=2), after=0.5)
    h.checkpoint(SINGLE)
    assert orphans.check(Case(h.history())).verdict is Verdict.CONFORMS


def test_what_the_suite_and_kubernetes_made_is_no_orphan() -> None:
    h = HistoryBuilder()
    h.create(made("ConfigMap", "prerequisite"), by=SUITE)
    h.create(made("Secret", "token"), by=PLATFORM)
    h.foreign(
        made("Deployment", "somebody-elses", labels={"nvidia.com/dynamo-component": "Worker"})
    )
    h.deployed(SINGLE)
    h.checkpoint(SINGLE)
    assert found(h) == []


def test_unlabelled_object_of_the_operator_is_an_orphan_and_a_strangers_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.create(made("ConfigMap", "scratch"), by=OPERATOR)
    h.create(made("ConfigMap", "whose"), by=STRANGER)
    h.checkpoint(SINGLE)
    assert {(finding.subject, finding.verdict) for finding in found(h)} == {
        ("ConfigMap/scratch", Verdict.VIOLATES),
        ("ConfigMap/whose", Verdict.UNKNOWN),
    }


def test_keeper_is_no_orphan() -> None:
    retained = Retained(
        kind="ServiceAccount", name="planner-serviceaccount", reason="for all graphs"
    )
    h = HistoryBuilder(a_profile(retained=[retained.model_dump()]))
    h.deployed(SINGLE)
    h.create(made("ServiceAccount", "planner-serviceaccount"), by=OPERATOR)
    h.checkpoint(SINGLE)
    assert found(h) == []


def test_removed_service_that_runs_on_is_an_orphan() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    rest = SINGLE.without_service("Worker")
    h.step(remove_service("Worker"), SINGLE)
    h.become(swapped(settled(SINGLE), *settled(rest, generation=2)), after=0.5)
    h.checkpoint(rest, end=CheckpointEnd.DEADLINE)
    (finding,) = found(h)
    assert (
        "DCD agg-worker of service Worker still exists with Deployment agg-worker"
        in finding.message
    )
    assert "30.0 s after service Worker was removed" in finding.message


def test_nothing_of_a_deleted_graph_is_an_orphan_before_the_deletion_deadline() -> None:
    def deleted(seconds: float) -> HistoryBuilder:
        h = HistoryBuilder()
        h.deployed(SINGLE)
        h.step(deletion(SINGLE), SINGLE)
        top = [raw for raw in settled(SINGLE) if raw["kind"].startswith("Dynamo")]
        h.delete(*top)
        h.wait(seconds)
        h.checkpoint(end=CheckpointEnd.HELD, hold=0)
        return h

    assert found(deleted(20)) == []
    assert "Deployment/agg-worker" in {finding.subject for finding in found(deleted(60))}


def test_cluster_scoped_object_that_names_the_case_is_left_over() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    binding = made("ClusterRoleBinding", "case-1-agg", namespace=None)
    other = made("ClusterRoleBinding", "case-12-agg", namespace=None)
    h.create(binding, other, by=OPERATOR)
    h.checkpoint(SINGLE)
    assert found(h) == []
    h.step(deletion(SINGLE), SINGLE)
    h.become([])
    h.wait(50)
    h.checkpoint()
    assert [(f.subject, f.verdict) for f in found(h)] == [
        ("ClusterRoleBinding/case-1-agg", Verdict.VIOLATES)
    ]


@pytest.mark.parametrize(("kind", "left"), [("IPAddress", False), ("ServiceCIDR", True)])
def test_the_api_servers_record_of_a_services_address_is_not_left_over(
    kind: str, left: bool
) -> None:
    """Seen: a Service made again until the deadline had its IPAddress, which names its namespace."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    parent = {"resource": "services", "namespace": "case-1", "name": "agg-worker"}
    address = made(kind, "10.96.0.9", namespace=None, spec={"parentRef": parent})
    h.create(address, by=STRANGER)
    h.step(deletion(SINGLE), SINGLE)
    h.become([])
    h.wait(50)
    h.checkpoint()
    assert [f.verdict for f in found(h)] == ([Verdict.UNKNOWN] if left else [])


def test_secret_in_the_operators_namespace_that_names_the_case_is_left_over() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.create(
        made("Secret", "copy", namespace="operators", annotations={"of": "case-1/agg"}), by=OPERATOR
    )
    h.step(deletion(SINGLE), SINGLE)
    h.become([raw for raw in h.objects.values() if raw["metadata"]["namespace"] == "operators"])
    h.wait(50)
    h.checkpoint()
    assert [finding.subject for finding in found(h)] == ["Secret/copy"]


def test_gap_makes_orphans_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(remove_service("Worker"), SINGLE)
    h.gap()
    h.become(settled(SINGLE.without_service("Worker"), generation=2))
    h.checkpoint(SINGLE.without_service("Worker"))
    assert orphans.check(Case(h.history())).verdict is Verdict.UNKNOWN
