"""The end of a run once every graph is deleted: nothing is left, anywhere, and nobody writes on."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, EventType, Scope, Write
from conformance.judge.case import Case
from conformance.judge.run.leftovers import check
from conformance.judge.verdict import Judgement, judge
from conformance.model.exemptions import Retained
from conformance.model.labels import OWNED
from conformance.model.verdict import Finding, Verdict
from tests.builders import (
    LWS_CONTROLLER,
    OPERATOR,
    PLATFORM,
    STRANGER,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    made,
    settled,
)

CASE = "case-1"
DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def a_run(*retained: Retained) -> HistoryBuilder:
    """A run that made a namespace for a case."""
    h = HistoryBuilder(a_profile().model_copy(update={"retained": list(retained)}))
    h.create(made("Namespace", CASE, namespace=None, labels={OWNED: "true"}), by=SUITE)
    return h


def ended(h: HistoryBuilder, end: CheckpointEnd = CheckpointEnd.HELD, hold: float = 5.0) -> History:
    h.checkpoint(end=end, hold=hold)
    header, *rest = h.records
    assert header.record == "header"
    return History([dataclasses.replace(h.history().header, scope=Scope.RUN), *rest])


def left(*raws: Raw, by: str = OPERATOR) -> list[Finding]:
    h = a_run()
    for raw in raws:
        h.create(raw, by=by)
    return [finding for finding in check(Case(ended(h))).findings if finding.gates]


def only(*raws: Raw, by: str = OPERATOR) -> Finding:
    (finding,) = left(*raws, by=by)
    return finding


def lease(h: HistoryBuilder, verb: str, *, namespace: str, by: str = OPERATOR) -> None:
    raw = made("Lease", "dyn-1", namespace=namespace)
    h.write(raw, verb, by=by, code=201 if verb == "create" else 200)


def test_an_empty_end_conforms() -> None:
    assert judge(ended(a_run())).verdict is Verdict.CONFORMS


@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoComponentDeployment", "Service"])
def test_what_is_left_of_a_conforming_case_violates(kind: str) -> None:
    raw = next(raw for raw in settled(a_graph()) if raw["kind"] == kind)
    raw = {**raw, "metadata": {**raw["metadata"], "ownerReferences": None}}
    finding = only(raw)
    assert finding.verdict is Verdict.VIOLATES
    assert f"created in namespace {CASE} by the operator" in finding.message


def test_a_graph_is_a_left_over_whoever_made_it_and_says_what_holds_it() -> None:
    graph = made("DynamoGraphDeployment", "agg", **DELETING, finalizers=["nvidia.com/finalizer"])
    finding = only(graph, by=SUITE)
    assert finding.verdict is Verdict.VIOLATES
    assert "being deleted, held by finalizer nvidia.com/finalizer" in finding.message


def test_of_a_tree_the_top_alone_is_told() -> None:
    lws = [raw for raw in settled(a_graph(node_count=2)) if "worker" in raw["metadata"]["name"]]
    tops = {finding.subject for finding in left(*lws)}
    assert "LeaderWorkerSet/agg-worker-0" in tops or "DynamoComponentDeployment/agg-worker" in tops
    assert not any(subject.startswith(("Pod/", "StatefulSet/")) for subject in tops)


def test_pods_that_their_workload_left_behind_are_no_pass() -> None:
    pod = next(raw for raw in settled(a_graph()) if raw["kind"] == "Pod")
    alone = {**pod, "metadata": {**pod["metadata"], "ownerReferences": None}}
    assert only(alone, by=PLATFORM).verdict is Verdict.UNKNOWN
    assert only(alone, by=LWS_CONTROLLER).verdict is Verdict.UNKNOWN


def test_what_the_suite_put_there_stays_with_all_below_it() -> None:
    h = a_run()
    stranger = made("Deployment", "theirs", uid="theirs")
    owner = {"kind": "Deployment", "name": "theirs", "uid": "theirs", "controller": True}
    h.create(stranger, by=SUITE)
    h.create(made("ReplicaSet", "theirs-1", ownerReferences=[owner]), by=PLATFORM)
    assert judge(ended(h)).verdict is Verdict.CONFORMS


@pytest.mark.parametrize("namespace", [None, "somewhere"])
def test_what_is_left_elsewhere_violates_unless_a_keeper_covers_it(namespace: str | None) -> None:
    raw = made("ClusterRole" if namespace is None else "ConfigMap", "dyn-1", namespace=namespace)
    assert only(raw).verdict is Verdict.VIOLATES
    h = a_run(Retained(kind=raw["kind"], name="dyn-*", reason="kept"))
    h.create(raw, by=OPERATOR)
    assert judge(ended(h)).verdict is Verdict.CONFORMS


def test_a_namespace_made_by_the_operator_is_a_left_over() -> None:
    assert only(made("Namespace", "dyn-1", namespace=None)).verdict is Verdict.VIOLATES
    assert left(made("Namespace", "theirs", namespace=None), by=PLATFORM) == []


def test_endpoints_are_a_left_over_unless_a_service_owns_them_by_name() -> None:
    endpoints = made("Endpoints", "theirs", namespace="somewhere")
    assert only(endpoints).verdict is Verdict.VIOLATES
    h = a_run()
    h.create(endpoints, by=OPERATOR)
    h.create(made("Service", "theirs", namespace="somewhere"), by=PLATFORM)
    assert judge(ended(h)).verdict is Verdict.CONFORMS


def test_a_left_over_of_an_unknown_author_is_unknown_and_no_pass() -> None:
    finding = only(made("ClusterRole", "dyn", namespace=None), by=STRANGER)
    assert finding.verdict is Verdict.UNKNOWN
    assert left(made("ClusterRole", "dyn", namespace=None), by=PLATFORM) == []


def test_one_that_is_stuck_in_its_deletion_violates_if_its_own_finalizer_holds_it() -> None:
    stuck = made("ClusterRole", "dyn", namespace=None, **DELETING, finalizers=["nvidia.com/x"])
    assert only(stuck).verdict is Verdict.VIOLATES
    slow = made("ClusterRole", "dyn", namespace=None, **DELETING, finalizers=["foregroundDeletion"])
    assert only(slow).verdict is Verdict.UNKNOWN


def test_what_was_there_before_the_run_is_not_its_left_over() -> None:
    h = a_run()
    h.now -= 500
    h.create(made("ClusterRole", "of-the-install", namespace=None), by=OPERATOR)
    h.now += 500
    assert judge(ended(h)).verdict is Verdict.CONFORMS


def test_what_a_list_shows_first_after_a_gap_is_not_overlooked() -> None:
    h = a_run()
    h.create(made("ClusterRole", "dyn", namespace=None), by=OPERATOR)
    records = [
        dataclasses.replace(record, type=EventType.LISTED)
        if record.record == "event" and record.obj.kind == "ClusterRole"  # type: ignore[union-attr]
        else record
        for record in ended(h).records
    ]
    found = check(Case(History(r for r in records if not isinstance(r, Write))))
    assert found.verdict is Verdict.UNKNOWN


def test_an_end_that_was_broken_off_proves_nothing_against_the_operator() -> None:
    h = a_run()
    h.create(made("ClusterRole", "dyn", namespace=None), by=OPERATOR)
    assert check(Case(ended(h, CheckpointEnd.INTERRUPTED))).verdict is Verdict.UNKNOWN


# Leases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("namespace", [CASE, "somewhere"])
def test_a_lease_that_nobody_deletes_or_renews_is_a_left_over(namespace: str) -> None:
    h = a_run()
    lease(h, "create", namespace=namespace)
    h.wait(30)
    result = check(Case(ended(h)))
    (finding,) = result.findings
    assert (finding.verdict, finding.subject) == (Verdict.VIOLATES, "Lease/dyn-1")


def test_a_lease_in_use_or_deleted_is_none(subtests: pytest.Subtests) -> None:
    for verb, namespace, verdict in (
        ("update", "somewhere", Verdict.CONFORMS),
        ("update", CASE, Verdict.VIOLATES),  # of a graph, and every graph is gone
        ("delete", CASE, Verdict.CONFORMS),
        ("delete", "somewhere", Verdict.CONFORMS),
    ):
        with subtests.test(verb=verb, namespace=namespace):
            h = a_run()
            lease(h, "create", namespace=namespace)
            h.wait(200)
            lease(h, verb, namespace=namespace)
            assert check(Case(ended(h))).verdict is verdict


def test_a_lease_of_somebody_else_and_one_of_a_keeper_are_none() -> None:
    h = a_run()
    lease(h, "create", namespace=CASE, by=PLATFORM)
    assert check(Case(ended(h))).verdict is Verdict.CONFORMS
    h = a_run(Retained(kind="Lease", name="dyn-*", reason="a lock"))
    lease(h, "create", namespace=CASE)
    assert check(Case(ended(h))).verdict is Verdict.CONFORMS


# Storms -------------------------------------------------------------------------------------------


def stormy(kind: str, count: int, *, names: int = 1, by: str = OPERATOR) -> Judgement:
    h = a_run()
    for number in range(names):
        lease_or_map = made(kind, f"state-{number}", namespace="dgd-reference")
        if kind == "Lease":
            h.now -= 500
            h.write(lease_or_map, "create", by=by, code=201)
            h.now += 500
    for number in range(count):
        raw = made(kind, f"state-{number % names}", namespace="dgd-reference")
        h.write(raw, "patch", by=by)
    h.now -= 1  # within the hold window that `ended` waits for
    return judge(ended(h))


def test_many_requests_after_all_is_gone_are_a_storm() -> None:
    judgement = stormy("ConfigMap", 6)
    (finding,) = judgement.findings
    assert finding.verdict is Verdict.VIOLATES
    assert finding.message == (
        "The operator sent 6 mutating requests in the last 5 s of the run, after every graph was "
        "gone, where 1 a second are allowed; 6 of them were patch configmaps/state-0 in namespace "
        "dgd-reference"
    )
    assert stormy("ConfigMap", 5).verdict is Verdict.CONFORMS
    assert stormy("ConfigMap", 50, by=PLATFORM).verdict is Verdict.CONFORMS
    assert stormy("Event", 50).verdict is Verdict.CONFORMS


def test_each_lease_may_be_renewed_at_a_pace_of_its_own() -> None:
    assert stormy("Lease", 15, names=3).verdict is Verdict.CONFORMS
    assert stormy("Lease", 6).verdict is Verdict.VIOLATES


def test_without_a_hold_window_nothing_is_called_a_storm() -> None:
    h = a_run()
    for _ in range(20):
        h.write(made("ConfigMap", "state", namespace="dgd-reference"), "patch", by=OPERATOR)
    history = ended(h, CheckpointEnd.DEADLINE, hold=0.0)
    assert judge(history).verdict is Verdict.CONFORMS
