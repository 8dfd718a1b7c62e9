"""A kind of workload is one row: a made-up one, with templates and counts at places of its own, is
judged like any other."""

import copy
from collections.abc import Iterable

import pytest

from conformance.judge.case import Case
from conformance.judge.state.match import mismatches
from conformance.judge.verdict import CHECKERS
from conformance.model.graph import Graph
from conformance.model.kinds import WORKLOADS, PodTemplate, Strategy, WorkloadKind
from conformance.model.profile import Profile
from conformance.model.transition import Transition, scale, set_image
from conformance.model.verdict import CheckerName, Verdict
from tests.builders import OPERATOR, PLATFORM, SUITE, HistoryBuilder
from tests.objects import Raw, a_graph, a_profile, edited, find, settled, snapshot, swapped, without

FLEET = WorkloadKind(
    kind="Fleet",
    group="fleets.example.com",
    multinode=False,
    groups=("spec", "members"),
    templates=(PodTemplate(path=("spec", "podTemplate")),),
    counts=("members", "currentMembers", "readyMembers"),
    strategy=Strategy(max_unavailable=("spec", "maxMissing"), unavailable=0),
)
GRAPH = a_graph(replicas=2)


@pytest.fixture(autouse=True)
def _row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORKLOADS, FLEET.kind, FLEET)


@pytest.fixture
def profile() -> Profile:
    return a_profile(single_node={"kind": FLEET.kind})


def fleets(graph: Graph, profile: Profile, *, generation: int = 1) -> list[Raw]:
    """Everything at rest, with Fleets where Deployments would be."""
    return [as_fleet(raw) for raw in settled(graph, profile, generation=generation)]


def as_fleet(raw: Raw) -> Raw:
    raw = copy.deepcopy(raw)
    for owner in raw["metadata"].get("ownerReferences") or ():
        if owner["kind"] == "Deployment":
            owner.update(kind="Fleet", apiVersion="fleets.example.com/v1")
    for entries in (raw.get("status") or {}).values() if "Graph" in raw["kind"] else ():
        for entry in entries.values() if isinstance(entries, dict) else ():
            entry["componentKind"] = "Fleet"
    if raw["kind"] == "Deployment":
        spec, count = raw["spec"], raw["spec"]["replicas"]
        raw.update(kind="Fleet", apiVersion="fleets.example.com/v1")
        raw["spec"] = {"members": count, "podTemplate": spec["template"]}
        raw["status"] = {"observedGeneration": 1, "members": count, "currentMembers": count,
                         "readyMembers": count}  # fmt: skip
    return raw


def found(objects: list[Raw], profile: Profile) -> set[tuple[CheckerName, str]]:
    rows = mismatches(snapshot(objects, GRAPH, profile=profile))
    return {(row.checker, row.subject) for row in rows}


def test_a_graph_at_rest_matches(profile: Profile) -> None:
    assert found(fleets(GRAPH, profile), profile) == set()


def test_without_its_row_the_same_objects_are_no_workload(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = fleets(GRAPH, profile)
    monkeypatch.delitem(WORKLOADS, FLEET.kind)
    assert (CheckerName.SIZE, "service/Worker") in found(objects, a_profile())


def test_its_number_is_judged(profile: Profile) -> None:
    objects = fleets(GRAPH, profile)
    fleet = edited(find(objects, "Fleet", "agg-worker"), "spec", "members", to=3)
    assert (CheckerName.SIZE, "Fleet/agg-worker") in found(swapped(objects, fleet), profile)


def test_it_coexists_with_the_kind_of_before(profile: Profile) -> None:
    objects = fleets(GRAPH, profile)
    old = find(settled(GRAPH, profile), "Deployment", "agg-worker")
    old["metadata"]["uid"] = "old"
    assert (CheckerName.COEXISTENCE, "Deployment/agg-worker") in found([*objects, old], profile)


def test_its_rollout_is_waited_for(profile: Profile) -> None:
    objects = fleets(GRAPH, profile)
    fleet = edited(find(objects, "Fleet", "agg-worker"), "status", "currentMembers", to=1)
    rows = mismatches(snapshot(swapped(objects, fleet), GRAPH, profile=profile))
    assert [row.message for row in rows] == [
        "Fleet agg-worker of service Worker is still being updated"
    ]


def test_a_service_selects_its_pods(profile: Profile) -> None:
    objects = fleets(GRAPH, profile)
    service = edited(find(objects, "Service", "agg-worker"), "spec", "selector", to={"no": "pod"})
    assert (CheckerName.SELECTORS, "Service/agg-worker") in found(
        swapped(objects, service), profile
    )


def changed(profile: Profile, change: Transition) -> tuple[HistoryBuilder, list[Raw]]:
    """A graph at rest on Fleets, to which the change was just sent; and what it should become."""
    h = HistoryBuilder(profile)
    objects = fleets(GRAPH, profile)
    h.create(objects[0], by=SUITE)
    h.become(objects)
    h.checkpoint(GRAPH, judged=False)
    h.step(change, GRAPH)
    return h, fleets(change.apply(GRAPH), profile, generation=2)


def violations(h: HistoryBuilder, checker: CheckerName) -> list[str]:
    result = CHECKERS[checker](Case(h.history()))
    return [f.subject for f in result.findings if f.verdict is Verdict.VIOLATES]


def pods_of_worker(objects: Iterable[Raw]) -> list[Raw]:
    return [raw for raw in objects if raw["kind"] == "Pod" and "worker" in raw["metadata"]["name"]]


def test_an_image_that_never_reached_its_template_is_lost(profile: Profile) -> None:
    change = set_image("Worker", "vllm:2.0.0")
    h, wanted = changed(profile, change)
    kept = find(fleets(GRAPH, profile), "Fleet", "agg-worker")
    h.become(swapped(wanted, kept), after=0.5)
    h.checkpoint(change.apply(GRAPH))
    assert violations(h, CheckerName.FIDELITY) == ["Fleet/agg-worker"]


def test_fewer_ready_pods_than_its_strategy_allows_are_seen(profile: Profile) -> None:
    change = set_image("Worker", "vllm:2.0.0")
    h, wanted = changed(profile, change)
    h.delete(pods_of_worker(h.objects.values())[0], by=PLATFORM)
    h.wait(1.0)
    h.become(wanted, after=0.5)
    h.checkpoint(change.apply(GRAPH))
    assert "Worker" in violations(h, CheckerName.AVAILABILITY)


def test_pods_that_a_new_template_replaced_while_only_the_number_changed_are_seen(
    profile: Profile,
) -> None:
    change = scale("Worker", to=3)
    h, wanted = changed(profile, change)
    pods = pods_of_worker(wanted)
    fresh = copy.deepcopy(pods)
    for raw in fresh:
        raw["metadata"]["uid"] += "-new"
        raw["metadata"]["name"] += "-new"
    noted = find(wanted, "Fleet", "agg-worker")
    noted["spec"]["podTemplate"]["metadata"]["annotations"] = {"restarted": "now"}
    h.update(noted, by=OPERATOR)
    h.become([*wanted, *fresh], after=0.5)
    h.become([*without(wanted, *pods), *fresh], after=0.5)
    h.checkpoint(change.apply(GRAPH))
    assert "Worker" in violations(h, CheckerName.AVAILABILITY)
