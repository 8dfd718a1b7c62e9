"""Availability on histories written by hand."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import Event, Header
from conformance.judge.case import Case
from conformance.judge.checks.availability import budget, check
from conformance.model.graph import Graph
from conformance.model.profile import Profile
from conformance.model.state import Obj
from conformance.model.transition import (
    ChangeKind,
    Transition,
    add_multinode,
    no_op,
    scale,
    set_image,
)
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    edited,
    made,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

TWO = a_graph(replicas=2)
NEW_IMAGE = set_image("Worker", "vllm:2.0.0")
RESTART = Transition(
    name="restart", kinds=(ChangeKind.OPERATOR,), apply=lambda g: g, moves_generation=False
)


def pods_of(h: HistoryBuilder, start: str) -> list[Raw]:
    return [
        raw for raw in h.objects.values()
        if raw["kind"] == "Pod" and raw["metadata"]["name"].startswith(start)
    ]  # fmt: skip


def changing(
    transition: Transition = NEW_IMAGE, *, before: Graph = TWO, profile: Profile | None = None
) -> HistoryBuilder:
    h = HistoryBuilder(profile)
    h.deployed(before)
    h.wait(1.0)
    h.step(transition, before, code=0 if transition is RESTART else 200)
    return h


def rewrite(h: HistoryBuilder, name: str) -> None:
    h.wait(0.1)
    h.update(edited(h.live("Deployment", name), "spec", "paused", to=True), by=OPERATOR)


def roll(h: HistoryBuilder, after: Graph, *, new_first: bool) -> None:
    """Replace the worker's pods one by one: the new one first, or the old one first."""
    old = pods_of(h, "agg-worker")
    target = settled(after, h.profile, generation=2)
    new = [r for r in target if r["kind"] == "Pod" and r["metadata"]["name"].startswith("agg-work")]
    h.create(*[r for r in target if r["kind"] == "ReplicaSet"
               and r["metadata"]["uid"] not in h.objects], by=PLATFORM)  # fmt: skip
    for one, other in zip(old, new, strict=True):
        h.wait(0.4)
        if new_first:
            h.create(other)
            h.wait(0.4)
            h.delete(one)
        else:
            h.delete(one)
            h.wait(0.4)
            h.create(other)
    h.become(target, after=0.1)


def test_a_rollout_that_starts_the_new_pod_first_conforms() -> None:
    after = NEW_IMAGE.apply(TWO)
    h = changing()
    rewrite(h, "agg-worker")
    roll(h, after, new_first=True)
    h.checkpoint(after)
    result = check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.findings == ()
    assert result.looked_at == 2


def test_a_rollout_below_the_budget_violates_with_the_exact_length() -> None:
    after = NEW_IMAGE.apply(TWO)
    h = changing()
    rewrite(h, "agg-worker")
    roll(h, after, new_first=False)
    h.checkpoint(after)
    found = gating(check(Case(h.history())))
    assert [f.verdict for f in found] == [Verdict.VIOLATES] * 2
    assert found[0].message == (
        "Service Worker of agg had 1 ready pod for 0.4 s from 0.5 s after image on, where "
        "Deployment agg-worker allows no fewer than 2"
    )
    assert found[0].evidence["seconds"] == pytest.approx(0.4, abs=0.01)


def test_a_deployment_that_may_recreate_has_no_budget() -> None:
    after = NEW_IMAGE.apply(TWO)
    h = HistoryBuilder()
    h.deployed(TWO)
    strategy = {"type": "Recreate"}
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "strategy", to=strategy))
    h.step(NEW_IMAGE, TWO)
    rewrite(h, "agg-worker")
    h.delete(*pods_of(h, "agg-worker"))
    h.become(settled(after, generation=2), after=0.5)
    h.checkpoint(after)
    assert gating(check(Case(h.history()))) == []


def test_scaling_down_keeps_what_stays() -> None:
    one = scale("Worker", to=1)
    h = changing(one)
    h.become(settled(one.apply(TWO), generation=2), after=0.5)
    h.checkpoint(one.apply(TWO))
    assert check(Case(h.history())).findings == ()


def test_scaling_that_replaces_the_surviving_pod_violates() -> None:
    one = scale("Worker", to=1)
    h = changing(one)
    rewrite(h, "agg-worker")
    h.delete(*pods_of(h, "agg-worker"))
    h.wait(0.5)
    h.become(settled(one.apply(TWO), generation=2))
    h.checkpoint(one.apply(TWO))
    assert "had 0 ready pods" in only(check(Case(h.history())), Verdict.VIOLATES).message


def test_a_toggle_has_no_budget_and_its_gap_is_reported() -> None:
    toggle = add_multinode("Worker")
    h = changing(toggle)
    h.delete(*pods_of(h, "agg-worker"))
    h.become(settled(toggle.apply(TWO), generation=2), after=1.5)
    h.checkpoint(toggle.apply(TWO))
    result = check(Case(h.history()))
    assert gating(result) == []
    assert "had no ready pod for 1.5" in reported(result)[0].message


def test_a_profile_may_want_availability_on_toggles() -> None:
    toggle = add_multinode("Worker")
    h = changing(toggle, profile=a_profile(availability_on_toggle=True))
    h.delete(*pods_of(h, "agg-worker"))
    h.become(settled(toggle.apply(TWO), generation=2), after=1.5)
    h.checkpoint(toggle.apply(TWO))
    assert "allows no fewer than 1" in only(check(Case(h.history())), Verdict.VIOLATES).message


# Services that are not touched -----------------------------------------------------------------


@pytest.mark.parametrize("transition", [NEW_IMAGE, no_op(), RESTART])
def test_a_service_that_is_not_touched_keeps_its_pods(transition: Transition) -> None:
    after = transition.apply(TWO)
    h = changing(transition)
    rewrite(h, "agg-frontend")
    front = pods_of(h, "agg-frontend")[0]
    h.delete(front)
    h.create(edited(front, "metadata", "uid", to="new"))
    h.checkpoint(after)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.subject == "Frontend"
    assert f"Pod {front['metadata']['name']} of service Frontend of agg was deleted" in (
        finding.message
    )
    assert "the operator rewrote Deployment agg-frontend above it" in finding.message


def test_a_pod_that_the_operator_deletes_itself_violates() -> None:
    h = changing(no_op())
    h.delete(pods_of(h, "agg-frontend")[0], by=OPERATOR)
    h.checkpoint(TWO)
    assert "the operator deleted it" in only(check(Case(h.history())), Verdict.VIOLATES).message


def test_a_pod_that_only_the_platform_lost_is_unknown() -> None:
    h = changing(no_op())
    front = pods_of(h, "agg-frontend")[0]
    h.update(edited(front, "status", "conditions", to=[]), by=PLATFORM, status=True)
    h.checkpoint(TWO)
    finding = only(check(Case(h.history())), Verdict.UNKNOWN)
    assert "no longer ready" in finding.message
    assert "the platform's doing" in finding.message


def test_a_look_alike_pod_of_others_is_not_counted() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    labels = dict(pods_of(h, "agg-frontend")[0]["metadata"]["labels"])
    other = made("Pod", "stranger", labels=labels, status={"conditions": []})
    h.foreign(other)
    h.step(no_op(), TWO)
    h.delete(h.live("Pod", "stranger"))
    h.checkpoint(TWO)
    assert gating(check(Case(h.history()))) == []


# Targets that cannot be built ------------------------------------------------------------------


@pytest.mark.parametrize("stops", [True, False])
def test_an_unbuildable_target_keeps_the_old_workload_serving(stops: bool) -> None:
    bare = TWO.with_service(TWO.service("Worker").replace(gpus=None))
    toggle = add_multinode("Worker")
    h = changing(toggle, before=bare)
    if stops:
        h.delete(*pods_of(h, "agg-worker"))
    h.checkpoint(toggle.apply(bare), blocked=True)
    found = gating(check(Case(h.history())))
    assert [f.verdict for f in found] == ([Verdict.VIOLATES] if stops else [])
    assert all("its old pods are gone" in f.message for f in found)


# What cannot be told ---------------------------------------------------------------------------


def test_a_gap_is_unknown() -> None:
    h = changing(no_op())
    h.gap("Pod")
    h.checkpoint(TWO)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_no_recorded_pods_before_the_change_is_unknown() -> None:
    h = changing(no_op())
    h.checkpoint(TWO)
    records = [r for r in h.records if not (isinstance(r, Event) and r.obj.kind == "Pod")]
    found = gating(check(Case(History(records))))
    assert {f.verdict for f in found} == {Verdict.UNKNOWN}
    assert {f.subject for f in found} == {"Frontend", "Worker"}


def test_a_short_dip_without_a_revision_order_is_unknown() -> None:
    after = NEW_IMAGE.apply(TWO)
    h = changing()
    rewrite(h, "agg-worker")
    old = pods_of(h, "agg-worker")[0]
    h.delete(old)
    h.wait(0.1)
    h.create(edited(old, "metadata", "uid", to="new"))
    h.checkpoint(after)
    records = [
        dataclasses.replace(r, total_order=False) if isinstance(r, Header) else r for r in h.records
    ]
    assert only(check(Case(History(records))), Verdict.UNKNOWN)
    assert only(check(Case(h.history())), Verdict.VIOLATES)


def test_a_case_of_refused_steps_only_does_not_apply() -> None:
    h = HistoryBuilder()
    h.deployed(TWO)
    h.step(NEW_IMAGE, TWO, code=403)
    h.checkpoint(TWO)
    assert check(Case(h.history())).verdict is None


# Budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "wanted", "expected"),
    [
        ({}, 1, 1),
        ({}, 4, 3),
        ({}, 3, 3),
        ({"type": "Recreate"}, 4, 0),
        ({"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}, 2, 1),
        ({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}, 2, 1),
        ({"rollingUpdate": {"maxUnavailable": "50%"}}, 5, 3),
        ({"rollingUpdate": {"maxUnavailable": "100%"}}, 2, 0),
    ],
)
def test_a_deployments_budget_is_its_strategys(strategy: Raw, wanted: int, expected: int) -> None:
    workload = Obj(made("Deployment", "d", spec={"replicas": wanted, "strategy": strategy}))
    assert budget([workload], wanted=wanted) == expected


@pytest.mark.parametrize(
    ("workloads", "unavailable", "wanted", "expected"),
    [(1, None, 3, 2), (1, 2, 3, 1), (3, None, 3, 0)],
)
def test_an_lws_budget_counts_groups(
    workloads: int, unavailable: int | None, wanted: int, expected: int
) -> None:
    rolling = {} if unavailable is None else {"maxUnavailable": unavailable}
    strategy = {"rollingUpdateConfiguration": rolling}
    spec = {"replicas": wanted // workloads, "rolloutStrategy": strategy}
    several = [Obj(made("LeaderWorkerSet", f"l-{i}", spec=spec)) for i in range(workloads)]
    assert budget(several, wanted=wanted) == expected
