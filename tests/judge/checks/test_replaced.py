"""A change of the number of pods replaces none that it need not."""

import copy

import pytest

from conformance.history.history import History
from conformance.judge.case import Case
from conformance.judge.checks.availability import check
from conformance.model.children import LwsLayout
from conformance.model.graph import Graph
from conformance.model.profile import Profile
from conformance.model.transition import scale
from conformance.model.verdict import Verdict
from tests.builders import OPERATOR, PLATFORM, HistoryBuilder, Raw, a_graph, a_profile, settled
from tests.judge.checks.reading import gating, only


def scaled(
    before: Graph, after: Graph, *, kind: str = "", writer: str = OPERATOR, part: str = "template",
    again: bool = False, profile: Profile | None = None,
) -> History:  # fmt: skip
    """The worker is scaled. `kind`: the workload of that kind gets a note where `part` says. `again`:
    every old pod of the worker is made again, the new ones first."""
    h = HistoryBuilder(profile)
    h.deployed(before)
    old = [r for r in h.objects.values() if _pod(r)]
    h.step(scale("Worker", to=after.service("Worker").groups), before)
    h.wait(0.3)
    target = copy.deepcopy(settled(after, profile, generation=2))
    for raw in target:
        if kind and raw["kind"] == kind and "worker" in raw["metadata"]["name"]:
            _note(raw, part)
            if raw["metadata"]["uid"] in h.objects:
                h.update(raw, by=writer)
        elif again and _pod(raw) and raw["metadata"]["uid"] in h.objects:
            raw["metadata"] |= {"uid": f"{raw['metadata']['uid']}+", "name": _next(raw)}
    if again:
        h.become([*target, *old])
    h.become(target)
    h.checkpoint(after)
    return h.history()


def _pod(raw: Raw) -> bool:
    return raw["kind"] == "Pod" and "worker" in raw["metadata"]["name"]


def _next(raw: Raw) -> str:
    return f"{raw['metadata']['name']}n"


def _note(raw: Raw, part: str) -> None:
    if part == "template" and raw["kind"] == "LeaderWorkerSet":
        template = raw["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    else:
        template = raw["spec"]["template"] if part == "template" else raw
    template["metadata"]["annotations"] = {"note": "new"}


ONE, THREE = a_graph(replicas=1), a_graph(replicas=3)
GROUP, GROUPS = a_graph(node_count=2, replicas=1), a_graph(node_count=2, replicas=2)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(ONE, THREE, "Deployment"), (THREE, ONE, "Deployment"), (GROUP, GROUPS, "LeaderWorkerSet")],
    ids=["up", "down", "groups"],
)
def test_a_scale_that_rolls_every_pod_violates(before: Graph, after: Graph, kind: str) -> None:
    finding = only(check(Case(scaled(before, after, kind=kind, again=True))), Verdict.VIOLATES)
    assert "changes nothing but their number" in finding.message
    assert f"the operator wrote {kind} " in finding.message


def test_a_roll_that_somebody_else_set_off_proves_nothing() -> None:
    history = scaled(ONE, THREE, kind="Deployment", again=True, writer="somebody")
    assert only(check(Case(history)), Verdict.UNKNOWN)


def test_pods_that_go_without_a_new_template_prove_nothing() -> None:
    assert gating(check(Case(scaled(ONE, THREE, again=True)))) == []
    assert gating(check(Case(scaled(ONE, THREE, kind="Deployment", part="own", again=True)))) == []


@pytest.mark.parametrize("layout", list(LwsLayout))
@pytest.mark.parametrize(
    ("before", "after"), [(GROUPS, GROUP), (GROUP, GROUPS), (ONE, THREE), (THREE, ONE)]
)
def test_a_plain_scale_conforms(before: Graph, after: Graph, layout: LwsLayout) -> None:
    assert gating(check(Case(scaled(before, after, profile=a_profile(layout=layout))))) == []


def test_a_new_template_that_costs_no_pod_is_no_finding() -> None:
    assert gating(check(Case(scaled(ONE, THREE, kind="Deployment")))) == []


def test_the_platform_may_write_below_the_workload() -> None:
    history = scaled(ONE, THREE, kind="ReplicaSet", writer=PLATFORM, again=True)
    assert gating(check(Case(history))) == []


def test_what_the_platform_takes_down_with_a_group_does_not_hide_a_roll() -> None:
    """The StatefulSet of a group's workers goes with the group, long before the operator's roll."""
    h = HistoryBuilder()
    h.deployed(GROUPS)
    h.step(scale("Worker", to=1), GROUPS)
    h.wait(0.3)
    target = copy.deepcopy(settled(GROUP, generation=2))
    h.become(target)
    survivors = [r for r in h.objects.values() if _pod(r)]
    for raw in target:
        if raw["kind"] == "LeaderWorkerSet":
            _note(raw, "template")
            h.update(raw, by=OPERATOR)
        elif _pod(raw):
            raw["metadata"] |= {"uid": f"{raw['metadata']['uid']}+", "name": _next(raw)}
    h.become([*target, *survivors])
    h.become(target)
    h.checkpoint(GROUP)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert "the operator wrote LeaderWorkerSet " in finding.message


def test_a_group_that_the_platform_makes_again_proves_nothing() -> None:
    """The LWS controller makes a group again whose pod was lost, StatefulSet and all."""
    h = HistoryBuilder()
    h.deployed(GROUP)
    h.step(scale("Worker", to=2), GROUP)
    h.wait(0.3)
    old = [r for r in h.objects.values() if _pod(r) or _workers(r)]
    target = copy.deepcopy(settled(GROUPS, generation=2))
    for raw in target:
        if (_pod(raw) or _workers(raw)) and raw["metadata"]["uid"] in h.objects:
            raw["metadata"] |= {"uid": f"{raw['metadata']['uid']}+", "name": _next(raw)}
    h.become([*target, *old])
    h.become(target)
    h.checkpoint(GROUPS)
    assert gating(check(Case(h.history()))) == []


def _workers(raw: Raw) -> bool:
    return raw["kind"] == "StatefulSet"
