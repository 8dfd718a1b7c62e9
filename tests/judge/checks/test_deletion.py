"""Deletion on histories written by hand."""

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Event, EventType, Load
from conformance.judge.case import Case
from conformance.judge.checks.deletion import check
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    deletion,
    denied,
    deploy,
    edited,
    find,
    made,
    namespace_basics,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

GRAPH = a_graph()
BASICS = {raw["metadata"]["uid"] for raw in namespace_basics()}


def deleted(*kept: str, retained: list[dict[str, str]] | None = None) -> HistoryBuilder:
    """A graph was deleted and collected, but for the objects whose `Kind/name` is kept."""
    h = HistoryBuilder(a_profile(retained=retained or []), case="delete/agg")
    h.deployed(GRAPH)
    h.wait(1.0)
    h.step(deletion(GRAPH), GRAPH, propagation="Background")
    graph = h.live("DynamoGraphDeployment", "agg")
    h.delete(graph, by=SUITE)
    h.wait(0.5)
    gone = [
        raw for uid, raw in h.objects.items()
        if uid not in BASICS and f"{raw['kind']}/{raw['metadata']['name']}" not in kept
    ]  # fmt: skip
    h.delete(*gone, by=PLATFORM)
    return h


def worker(h: HistoryBuilder) -> Raw:
    return find(settled(GRAPH), "Service", "agg-worker")


def test_a_complete_deletion_conforms() -> None:
    h = deleted()
    h.checkpoint()
    result = check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.looked_at == 1


def test_a_child_that_is_left_at_the_deadline_violates() -> None:
    h = deleted("Service/agg-worker")
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.subject == "Service/agg-worker"
    assert finding.message == (
        "Service agg-worker is still there 45 s after DGD agg was deleted (Background propagation, "
        "45 s allowed); it is controlled by DCD agg-worker (which is gone), created by the "
        "operator and nobody has deleted it"
    )


def test_a_child_whose_owner_was_taken_before_the_deletion_is_still_found() -> None:
    h = HistoryBuilder(case="delete/agg")
    h.deployed(GRAPH)
    orphaned = edited(h.live("Service", "agg-worker"), "metadata", "ownerReferences", to=[])
    h.step(deletion(GRAPH), GRAPH)
    h.update(edited(orphaned, "metadata", "labels", to={}), by=OPERATOR)
    kept = {*BASICS, orphaned["metadata"]["uid"]}
    h.delete(*[raw for uid, raw in h.objects.items() if uid not in kept], by=PLATFORM)
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    assert "without an owner" in only(check(Case(h.history())), Verdict.VIOLATES).message


def test_a_left_tree_is_one_finding() -> None:
    kept = [
        f"{raw['kind']}/{raw['metadata']['name']}"
        for raw in settled(GRAPH)
        if raw["kind"] in ("Deployment", "ReplicaSet", "Pod")
        and raw["metadata"]["name"].startswith("agg-worker")
    ]
    h = deleted(*kept)
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert "Deployment agg-worker with 2 objects below it is still there" in finding.message


def test_a_keeper_may_stay_but_not_what_hangs_on_it() -> None:
    retained = [{"kind": "Service", "name": "agg-*", "reason": "kept"}]
    h = deleted("Service/agg-worker", retained=retained)
    h.checkpoint()
    assert gating(check(Case(h.history()))) == []
    h = deleted("Service/agg-worker", retained=retained)
    h.create(made("ConfigMap", "hanger", owner=worker(h)), by=OPERATOR)
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    assert {f.subject for f in gating(check(Case(h.history())))} == {"ConfigMap/hanger"}


def test_an_object_held_by_a_finalizer_names_it() -> None:
    h = HistoryBuilder(case="delete/agg")
    h.deployed(GRAPH)
    h.step(deletion(GRAPH), GRAPH)
    graph = edited(h.live("DynamoGraphDeployment", "agg"), "metadata", "finalizers", to=["a/b"])
    h.update(edited(graph, "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z"), by=SUITE)
    h.delete(*[raw for uid, raw in h.objects.items()
               if uid not in BASICS and uid != graph["metadata"]["uid"]], by=PLATFORM)  # fmt: skip
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    assert (
        "it is being deleted, held by a/b"
        in only(check(Case(h.history())), Verdict.VIOLATES).message
    )


def test_a_foreground_deletion_names_what_it_waits_for() -> None:
    h = HistoryBuilder(case="delete/agg")
    h.deployed(GRAPH)
    h.step(deletion(GRAPH), GRAPH, propagation="Foreground")
    graph = h.live("DynamoGraphDeployment", "agg")
    graph = edited(graph, "metadata", "finalizers", to=["foregroundDeletion"])
    graph = edited(graph, "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z")
    h.update(graph, by=SUITE)
    component = h.live("DynamoComponentDeployment", "agg-worker")
    owner = {**component["metadata"]["ownerReferences"][0], "blockOwnerDeletion": True}
    h.update(edited(component, "metadata", "ownerReferences", to=[owner]), by=OPERATOR)
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    found = gating(check(Case(h.history())))
    assert "which waits for DCD agg-worker" in found[0].message


def test_what_is_left_before_the_deadline_is_unknown_only() -> None:
    h = deleted("Service/agg-worker")
    h.checkpoint()
    assert "taking the deletion for done" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_an_object_without_owner_or_label_that_the_operator_made_is_found() -> None:
    h = HistoryBuilder(case="delete/agg")
    h.deployed(GRAPH)
    stray = made("PodGroup", "loose")
    h.create(stray, by=OPERATOR)
    h.step(deletion(GRAPH), GRAPH)
    h.delete(
        *[r for u, r in h.objects.items() if u not in BASICS | {"PodGroup/loose"}], by=PLATFORM
    )
    h.checkpoint(end=CheckpointEnd.DEADLINE)
    assert only(check(Case(h.history())), Verdict.VIOLATES).subject == "PodGroup/loose"


# Made after the deletion -----------------------------------------------------------------------


def made_after(seconds: float, *, name: str = "late", goes: bool = True) -> History:
    h = deleted()
    owner = find(settled(GRAPH), "DynamoComponentDeployment", "agg-worker")
    h.wait(max(0.0, seconds - 0.6))
    child = made("Service", name, owner=owner, uid="Service/made-after")
    h.create(child, by=OPERATOR)
    if goes:
        h.wait(0.3)
        h.delete(child, by=PLATFORM)
    h.checkpoint(end=CheckpointEnd.HELD if goes else CheckpointEnd.DEADLINE)
    return h.history()


def test_a_create_that_was_on_its_way_is_reported_only() -> None:
    result = check(Case(made_after(1.0)))
    assert gating(result) == []
    assert "it was on its way already" in reported(result)[0].message


def test_a_late_create_violates_though_it_is_gone() -> None:
    assert (
        "Service late was created by the operator 3.9 s after DGD agg was deleted"
        in only(check(Case(made_after(4.0))), Verdict.VIOLATES).message
    )


def test_a_child_made_once_more_by_a_pass_on_its_way_is_reported_only() -> None:
    result = check(Case(made_after(1.0, name="agg-worker")))
    assert gating(result) == []
    message = reported(result)[0].message
    assert message.startswith("Service agg-worker was made again by the operator")
    assert "it was on its way already and is gone" in message


def test_a_child_made_once_more_that_stays_or_comes_late_violates() -> None:
    for late in (
        made_after(1.0, name="agg-worker", goes=False),
        made_after(4.0, name="agg-worker"),
    ):
        messages = [f.message for f in gating(check(Case(late))) if f.verdict is Verdict.VIOLATES]
        assert any("although it had been deleted with the graph" in text for text in messages)


def test_a_pass_on_its_way_may_come_as_late_as_the_operator_is_kept_waiting() -> None:
    history = made_after(8.0, name="agg-worker")
    end = history.checkpoints[-1].at
    assert not gating(check(Case(with_load(history, Load(at=end, seconds=60, operator=0.1)))))
    assert gating(check(Case(with_load(history, Load(at=end, seconds=60, operator=0.9)))))


def with_load(history: History, load: Load) -> History:
    return History([*history.records, load])


def test_a_child_made_twice_within_the_bound_violates() -> None:
    h = deleted()
    owner = find(settled(GRAPH), "DynamoComponentDeployment", "agg-worker")
    for n in range(2):
        child = made("Service", "agg-worker", owner=owner, uid=f"Service/again-{n}")
        h.create(child, by=OPERATOR)
        h.wait(0.3)
        h.delete(child, by=PLATFORM)
    h.checkpoint()
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert "1 time more" in finding.message


def test_an_object_made_again_many_times_is_one_finding_that_tells_how_often() -> None:
    h = deleted()
    owner = find(settled(GRAPH), "DynamoComponentDeployment", "agg-worker")
    for n in range(3):
        h.wait(2.0)
        child = made("Service", "agg-worker", owner=owner, uid=f"Service/again-{n}")
        h.create(child, by=OPERATOR)
        h.delete(child, by=PLATFORM)
    h.checkpoint()
    assert only(check(Case(h.history())), Verdict.VIOLATES).message == (
        "Service agg-worker was made again by the operator 2.5 s after DGD agg was deleted and "
        "2 times more until 6.5 s, although it had been deleted with the graph"
    )


def test_an_early_create_that_stays_violates() -> None:
    found = gating(check(Case(made_after(1.0, goes=False))))
    assert {f.verdict for f in found} == {Verdict.VIOLATES}
    assert any("and it is still there" in f.message for f in found)


def test_a_graph_made_again_under_the_name_is_another_graph() -> None:
    again = a_graph(node_count=2)
    h = deleted()
    h.step(deploy(again), None)
    new = settled(again)
    names = {raw["metadata"]["uid"]: f"{raw['metadata']['uid']}/2" for raw in new}
    for raw in new:
        raw["metadata"]["uid"] = names[raw["metadata"]["uid"]]
        for owner in raw["metadata"].get("ownerReferences", ()):
            owner["uid"] = names[owner["uid"]]
    # The builder gives the new graph the old one's uid; the API would not.
    uid = find(settled(again), "DynamoGraphDeployment", "agg")["metadata"]["uid"]
    h.objects.pop(uid)
    h.records = [
        r for r in h.records
        if not (isinstance(r, Event) and r.obj.uid == uid and r.type is EventType.ADDED
                and r.at > deleted().now)
    ]  # fmt: skip
    h.become(new, after=0.5)
    h.checkpoint(again)
    assert gating(check(Case(h.history()))) == []


# What cannot be judged -------------------------------------------------------------------------


def test_a_deletion_that_no_checkpoint_judges_is_unknown() -> None:
    assert (
        "no checkpoint judges it" in only(check(Case(deleted().history())), Verdict.UNKNOWN).message
    )


def test_a_graph_that_was_never_recorded_is_unknown() -> None:
    h = deleted()
    h.checkpoint()
    records = [
        r for r in h.records
        if not (isinstance(r, Event) and r.obj.kind == "DynamoGraphDeployment")
    ]  # fmt: skip
    assert "it was not recorded" in only(check(Case(History(records))), Verdict.UNKNOWN).message


def test_a_gap_makes_a_clean_deletion_unknown() -> None:
    h = deleted()
    h.gap("Service")
    h.checkpoint()
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


@pytest.mark.parametrize("steps", [0, 1])
def test_without_an_accepted_delete_it_does_not_apply(steps: int) -> None:
    h = HistoryBuilder()
    h.deployed(GRAPH)
    for _ in range(steps):
        h.step(deletion(GRAPH), GRAPH, code=403, answer=denied("spec.services is protected"))
    h.checkpoint(GRAPH)
    assert check(Case(h.history())).verdict is None
