"""Other ways to be right: what each manner changes, and that it ends as the usual one does."""

import time

import pytest
from reference_fakes import MULTI, FakeApi, Start, component, deploy, is_ready, set_worker

from reference import manners
from reference.children import Builder
from reference.faults import Faults
from reference.manners import Manner, Pace
from reference.objects import (
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    LWS,
    POD_GROUP,
    SERVICE,
    Kind,
    Object,
    controller_of,
)


def test_names_change_with_what_runs_and_not_with_the_replicas() -> None:
    names = [name(replicas=1), name(replicas=3), name(replicas=1, multinode=MULTI)]
    assert names[0] == names[1] != names[2]
    assert all(len(each) == len("g-worker-") + 8 for each in names)


def name(**fields: object) -> str:
    owner = {
        "metadata": {"name": "g-worker", "namespace": "ns", "uid": "c"},
        "spec": component(**fields),
    }
    plan = Builder(owner, Faults(), manner=Manner.HASHED_NAMES).plan()
    for gang in plan.gangs:
        assert gang["metadata"]["name"].startswith(plan.workload["metadata"]["name"])
    return str(plan.workload["metadata"]["name"])


def test_an_old_name_goes_once_the_new_one_is_ready(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, manner=Manner.HASHED_NAMES)
    (old,) = (each for each in api.names(DEPLOYMENT) if each.startswith("g-worker-"))
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert old not in api.names(DEPLOYMENT)
    (lws,) = api.names(LWS)
    assert api.names(POD_GROUP) == [f"{lws}-0"]
    assert first(api, "create", LWS) < first(api, "delete", DEPLOYMENT)


def first(api: FakeApi, verb: str, kind: Kind) -> int:
    """Where among the writes the first such one stands."""
    return next(at for at, write in enumerate(api.writes) if write[:2] == (verb, kind.kind))


def test_room_is_made_before_the_other_kind_comes(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, manner=Manner.BREAK_BEFORE_MAKE)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert api.names(DEPLOYMENT) == ["g-frontend"]
    assert first(api, "delete", DEPLOYMENT) < first(api, "create", LWS)


@pytest.mark.parametrize(("manner", "least"), [(Manner.SLOW, 0.5), (Manner.USUAL, 0.0)])
def test_a_slow_one_leaves_a_new_generation_alone(
    api: FakeApi, start: Start, manner: Manner, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manners, "SLOW_SECONDS", 0.5)
    operator = deploy(api, start, manner=manner)
    began = time.monotonic()
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert time.monotonic() - began >= least
    assert api.names(LWS) == ["g-worker-0"]


def test_pace_counts_each_generation_and_the_end_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(Manner.SLOW)
    one: Object = {"metadata": {"uid": "u", "generation": 1}}
    going = {"metadata": {**one["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert pace.left(one) == pytest.approx(manners.SLOW_SECONDS, abs=0.5)
    later = time.monotonic() + manners.SLOW_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert pace.left(one) <= 0
    assert pace.left(going) > 0
    assert Pace(Manner.USUAL).left(one) == 0


@pytest.mark.parametrize("kind", [DEPLOYMENT, LWS, POD_GROUP, SERVICE])
def test_without_components_the_graph_owns_all(api: FakeApi, start: Start, kind: Kind) -> None:
    operator = deploy(api, start, manner=Manner.NO_COMPONENTS, multinode=MULTI)
    assert api.names(COMPONENT) == []
    owners = [controller_of(api.find(kind, each) or {}) or {} for each in api.names(kind)]
    assert owners
    assert {owner["kind"] for owner in owners} == {GRAPH.kind}
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert (api.names(LWS), api.names(POD_GROUP)) == ([], [])
    assert api.names(DEPLOYMENT) == api.names(SERVICE) == ["g-frontend", "g-worker"]


def test_without_components_what_cannot_be_built_keeps_serving(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, manner=Manner.NO_COMPONENTS)
    set_worker(api, multinode=MULTI, podTemplate={"spec": {"containers": [{"name": "main"}]}})
    operator.wait(lambda: not is_ready(api))
    assert api.names(DEPLOYMENT) == ["g-frontend", "g-worker"]
    assert api.names(LWS) == []
