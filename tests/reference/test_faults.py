"""Each fault breaks what it says; the same steps without it are in test_controllers."""

import itertools
import re
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import pytest
from reference_fakes import (
    MULTI,
    NAMESPACE,
    FakeApi,
    Start,
    component,
    condition,
    deploy,
    graph_spec,
    is_ready,
    set_worker,
)

from reference.faults import FAULTS, Fault, Faults, Policy, UnknownFaultError
from reference.objects import (
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    LWS,
    POD_GROUP,
    SERVICE,
    STATEFUL_SET,
    Object,
    controller_of,
    key_of,
    labels_of,
    meta,
)
from reference.webhooks import Admission

ROOT = Path(__file__).resolve().parents[2]
REQUIRED = {
    "deployment-kept-on-add",
    "lws-kept-on-remove",
    "podgroup-kept",
    "service-stale-selector",
    "old-generation-kept",
    "size-not-changed",
    "ready-while-both",
    "refusal-after-move",
    "refusal-one-version",
    "dcd-door-leftover",
    "ownerref-missing",
    "deletion-leaves-child",
    "hot-loop",
}


def test_table_has_each_fault_with_a_sentence() -> None:
    assert set(FAULTS) >= REQUIRED
    for name, info in FAULTS.items():
        assert info.breaks.endswith("."), name


def test_each_fault_stands_once_in_the_table_and_is_asked_for_in_code() -> None:
    table = tomllib.loads((ROOT / "operators/reference/faults.toml").read_text())
    assert sum(len(rows) for rows in table.values()) == len(FAULTS)
    code = "".join(file.read_text() for file in (ROOT / "operators/reference").glob("*.py"))
    asked = set(re.findall(r"\bFault\.([A-Z_]+)\b", code)) - {"NAME", "HOT_LOOP"}
    assert asked | {"HOT_LOOP"} == {fault.name for fault in Fault}


def test_each_fault_names_a_case_that_exists() -> None:
    for fault, info in FAULTS.items():
        file, _, name = info.case.partition("::")
        assert f"def {name}(" in (ROOT / "cases" / file).read_text(), fault


def test_list_is_one_fault_a_line() -> None:
    command = [sys.executable, "-m", "reference", "--list-faults"]
    run = subprocess.run(
        command, cwd=ROOT / "operators", capture_output=True, text=True, check=True
    )
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    assert [line[0] for line in lines] == list(FAULTS)
    assert all(len(line) == 5 for line in lines)


def test_unknown_fault_names_the_known_ones() -> None:
    with pytest.raises(UnknownFaultError, match=r"'no-such'.*deployment-kept-on-add"):
        Faults(["no-such"])


def test_deployment_stays_on_add(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.DEPLOYMENT_KEPT_ON_ADD)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert "g-worker" in api.names(DEPLOYMENT)
    assert api.names(LWS) == ["g-worker-0"]


def test_stateful_set_stays_on_add(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.STATEFULSET_KEPT_ON_ADD, single_node=STATEFUL_SET)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert "g-worker" in api.names(STATEFUL_SET)
    assert api.names(LWS) == ["g-worker-0"]


def test_lws_stays_on_remove(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.LWS_KEPT_ON_REMOVE, multinode=MULTI)
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert "g-worker" in api.names(DEPLOYMENT)
    assert api.names(LWS) == ["g-worker-0"]


@pytest.mark.parametrize("fault", [Fault.PODGROUP_KEPT, Fault.OWNERREF_MISSING])
def test_gang_object_stays_on_remove(api: FakeApi, start: Start, fault: Fault) -> None:
    operator = deploy(api, start, fault, multinode=MULTI)
    owned = controller_of(api.find(POD_GROUP, "g-worker-0") or {}) is not None
    assert owned == (fault is Fault.PODGROUP_KEPT)
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert api.names(LWS) == []
    assert api.names(POD_GROUP) == ["g-worker-0"]


def test_service_keeps_the_selector_of_the_old_shape(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.SERVICE_STALE_SELECTOR, multinode=MULTI)
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    assert (api.find(SERVICE, "g-worker") or {})["spec"]["selector"]["role"] == "leader"


def test_old_generation_stays_on_count_change(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.OLD_GENERATION_KEPT, multinode=MULTI)
    set_worker(api, multinode={"nodeCount": 3})
    operator.wait(lambda: is_ready(api))
    assert len(api.names(LWS)) == 2


def test_size_stays_and_the_graph_says_ready(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.SIZE_NOT_CHANGED, multinode=MULTI)
    set_worker(api, multinode={"nodeCount": 3})
    operator.wait(lambda: is_ready(api))
    workload = api.find(LWS, "g-worker-0") or {}
    assert workload["spec"]["leaderWorkerTemplate"]["size"] == 2


def test_gang_minimum_stays(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.GANG_MINMEMBER_STALE, multinode=MULTI)
    set_worker(api, multinode={"nodeCount": 3})
    operator.wait(lambda: is_ready(api))
    assert (api.find(POD_GROUP, "g-worker-0") or {})["spec"]["minMember"] == 2


def test_ready_is_claimed_while_both_run_and_then_the_old_one_goes(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference.defects.BOTH_SECONDS", 0.5)
    operator = deploy(api, start, Fault.READY_WHILE_BOTH)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api))
    assert "g-worker" in api.names(DEPLOYMENT)
    operator.wait(lambda: "g-worker" not in api.names(DEPLOYMENT))
    operator.wait(lambda: is_ready(api))


def test_refused_change_is_carried_out(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.REFUSAL_AFTER_MOVE)
    admission = Admission(
        Policy.REFUSE, Faults([Fault.REFUSAL_AFTER_MOVE]), operator.manager.graphs.act_on_refused
    )
    old = api.find(GRAPH, "g") or {}
    new = {**old, "spec": graph_spec(old["spec"]["components"][0], component(multinode=MULTI))}
    request = {"uid": "1", "namespace": NAMESPACE, "object": new, "oldObject": old}
    assert not admission.review(request)["allowed"]
    operator.wait(lambda: api.names(LWS) == ["g-worker-0"])
    assert meta(api.find(GRAPH, "g") or {})["generation"] == 1


def test_edit_of_a_component_leaves_its_lws(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.DCD_DOOR_LEFTOVER)
    operator.settle()
    api.edit(COMPONENT, "g-worker", lambda obj: obj["spec"].update(multinode=MULTI))
    operator.wait(lambda: api.names(LWS) == ["g-worker-0"])
    operator.settle(quiet=1.0)
    assert "multinode" not in (api.find(COMPONENT, "g-worker") or {})["spec"]
    assert "g-worker" in api.names(DEPLOYMENT)
    assert api.names(LWS) == ["g-worker-0"]


def test_service_stays_after_deletion(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.DELETION_LEAVES_CHILD)
    api.remove(GRAPH, "g")
    operator.wait(lambda: api.names(GRAPH) == [])
    operator.settle()
    assert "g-worker" in api.names(SERVICE)


def test_service_is_rewritten_several_times_a_second(api: FakeApi, start: Start) -> None:
    deploy(api, start, Fault.HOT_LOOP)
    count = len(api.writes)
    time.sleep(1.0)
    touched = [write for write in api.writes[count:] if write == ("patch", "Service", "g-worker")]
    assert 3 <= len(touched) <= 6


def test_every_condition_gets_a_new_time_each_second(api: FakeApi, start: Start) -> None:
    deploy(api, start, Fault.LASTTRANSITION_MOVES)
    count = len(api.writes)
    time.sleep(1.5)
    moved = {write for write in api.writes[count:] if write[0] == "status"}
    assert {name for _, _, name in moved} == {"g", "g-frontend", "g-worker"}


def test_followers_are_selected(api: FakeApi, start: Start) -> None:
    deploy(api, start, Fault.FOLLOWERS_IN_SELECTOR, multinode=MULTI)
    assert "role" not in (api.find(SERVICE, "g-worker") or {})["spec"]["selector"]


def test_foreign_object_is_replaced(api: FakeApi, start: Start) -> None:
    foreign = api.put(SERVICE, "g-worker", spec={})
    operator = start(Fault.FOREIGN_OVERWRITTEN)
    api.put(GRAPH, "g", spec=graph_spec(component()))
    operator.wait(lambda: is_ready(api))
    now = api.find(SERVICE, meta(foreign)["name"]) or {}
    assert meta(now)["uid"] != meta(foreign)["uid"]


def test_status_keeps_a_removed_component(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.STATUS_SERVICE_KEY_STAYS)
    api.edit(GRAPH, "g", lambda graph: graph["spec"]["components"].pop())
    operator.wait(lambda: is_ready(api) and api.names(COMPONENT) == ["g-frontend"])
    operator.settle()
    assert "Worker" in (api.find(GRAPH, "g") or {})["status"]["components"]


def test_removed_component_runs_on(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.SERVICE_REMOVED_DCD_KEPT)
    api.edit(GRAPH, "g", lambda graph: graph["spec"]["components"].pop())
    operator.wait(lambda: is_ready(api))
    operator.settle()
    assert api.names(COMPONENT) == ["g-frontend", "g-worker"]


def test_sidecar_is_lost_in_multinode_only(api: FakeApi, start: Start) -> None:
    sides = []
    for name, fault in itertools.zip_longest(("good", "bad"), ((), (Fault.SIDECAR_LOST_IN_LWS,))):
        spec = component(multinode=MULTI)
        spec["podTemplate"]["spec"]["containers"].append({"name": "side", "image": "s:1.0.0"})
        operator = start(*(fault or ()))
        api.put(GRAPH, name, spec=graph_spec(spec))
        operator.wait(partial(is_ready, api, name))
        operator.stop()
        workload = api.find(LWS, f"{name}-worker-0") or {}
        template = workload["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
        sides.append(len(template["spec"]["containers"]))
    assert sides == [2, 1]


def set_image(graph: dict[str, object]) -> None:
    worker = graph["spec"]["components"][-1]  # type: ignore[index]
    worker["podTemplate"]["spec"]["containers"][0]["image"] = "vllm-runtime:2.0.0"


def image_of(api: FakeApi) -> str:
    spec = (api.find(DEPLOYMENT, "g-worker") or {})["spec"]["template"]["spec"]
    return str(spec["containers"][0]["image"])


def test_image_is_not_rolled_and_the_graph_says_ready(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.IMAGE_NOT_ROLLED)
    api.edit(GRAPH, "g", set_image)
    operator.wait(lambda: is_ready(api))
    assert image_of(api) == "vllm-runtime:1.0.0"


@pytest.mark.parametrize("faults", [(), (Fault.STALE_READY,)])
def test_ready_before_the_rollout_only_with_the_fault(
    api: FakeApi, start: Start, faults: tuple[Fault, ...]
) -> None:
    operator = deploy(api, start, *faults)
    api.realise = False
    api.edit(GRAPH, "g", set_image)
    operator.wait(lambda: image_of(api) == "vllm-runtime:2.0.0")
    operator.settle()
    assert is_ready(api) == bool(faults)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_one_version_only_is_refused(version: str) -> None:
    admission = Admission(Policy.REFUSE, Faults([Fault.REFUSAL_ONE_VERSION]), lambda graph: None)
    old = {
        "kind": GRAPH.kind,
        "metadata": {"name": "g", "namespace": NAMESPACE},
        "spec": graph_spec(component()),
    }
    new = {**old, "spec": graph_spec(component(multinode=MULTI))}
    request = {
        "uid": "1",
        "namespace": NAMESPACE,
        "requestKind": {"version": version},
        "object": new,
        "oldObject": old,
    }
    assert admission.review(request)["allowed"] == (version == "v1beta1")
    assert key_of(new).name == "g"


def test_prefill_keeps_its_deployment_and_decode_does_not(api: FakeApi, start: Start) -> None:
    operator = start(Fault.PREFILL_DEPLOYMENT_KEPT)
    workers = [component(name, type_=name) for name in ("prefill", "decode")]
    api.put(GRAPH, "g", spec=graph_spec(*workers))
    operator.wait(lambda: is_ready(api))
    multi = [{**worker, "multinode": MULTI} for worker in workers]
    api.edit(GRAPH, "g", lambda graph: graph.update(spec=graph_spec(*multi)))
    operator.wait(lambda: is_ready(api))
    assert api.names(LWS) == ["g-decode-0", "g-prefill-0"]
    assert api.names(DEPLOYMENT) == ["g-prefill"]


@pytest.mark.parametrize("multinode", [{}, {"multinode": MULTI}], ids=["single", "groups"])
def test_volumes_are_lost_in_groups_only(api: FakeApi, start: Start, multinode: Object) -> None:
    spec = component(**multinode)
    pod = spec["podTemplate"]["spec"]
    pod["volumes"] = [{"name": "shared", "emptyDir": {}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "shared", "mountPath": "/shared"}]
    operator = start(Fault.VOLUME_LOST_IN_LWS)
    api.put(GRAPH, "g", spec=graph_spec(spec))
    operator.wait(lambda: is_ready(api))
    if multinode:
        groups = (api.find(LWS, "g-worker-0") or {})["spec"]["leaderWorkerTemplate"]
        built = groups["workerTemplate"]["spec"]
    else:
        built = (api.find(DEPLOYMENT, "g-worker") or {})["spec"]["template"]["spec"]
    assert ("volumes" in built, "volumeMounts" in built["containers"][0]) == (not multinode,) * 2


def test_foreign_service_is_given_the_operators_spec(api: FakeApi, start: Start) -> None:
    foreign = api.put(SERVICE, "g-worker", spec={"selector": {"app": "other"}})
    operator = start(Fault.FOREIGN_SERVICE_OVERWRITTEN)
    api.put(GRAPH, "g", spec=graph_spec(component()))
    operator.wait(lambda: is_ready(api))
    now = api.find(SERVICE, "g-worker") or {}
    assert meta(now)["uid"] == meta(foreign)["uid"]
    assert "app" not in now["spec"]["selector"]
    assert controller_of(now) is None


@pytest.mark.parametrize("faults", [(), (Fault.LOOKALIKES_DELETED_ON_REMOVE,)])
def test_lookalikes_go_on_remove_only_with_the_fault(
    api: FakeApi, start: Start, faults: tuple[Fault, ...]
) -> None:
    operator = deploy(api, start, *faults, multinode=MULTI)
    for kind in (LWS, POD_GROUP):
        child = api.find(kind, "g-worker-0") or {}
        api.put(kind, "other", metadata={"labels": labels_of(child)}, spec=child["spec"])
    operator.settle()
    assert "other" in api.names(LWS)
    set_worker(api, multinode=None)
    operator.wait(lambda: is_ready(api))
    operator.settle()
    assert [api.names(LWS), api.names(POD_GROUP)] == [[] if faults else ["other"]] * 2


@pytest.mark.parametrize("faults", [(), (Fault.STUCK_ONCE_UNBUILDABLE,)], ids=["good", "stuck"])
def test_what_could_not_be_built_is_looked_at_again(
    api: FakeApi, start: Start, faults: tuple[Fault, ...]
) -> None:
    operator = deploy(api, start, *faults)

    def without_gpu(graph: Object) -> None:
        graph["spec"]["components"][-1]["podTemplate"]["spec"]["containers"][0].pop("resources")

    api.edit(GRAPH, "g", without_gpu)
    operator.wait(lambda: is_ready(api))
    set_worker(api, multinode=MULTI)
    operator.wait(
        lambda: condition(api.find(GRAPH, "g"), "Ready").get("reason") == "TargetNotBuildable"
    )
    set_worker(api, multinode=None)
    operator.settle()
    assert is_ready(api) != bool(faults)


@pytest.mark.parametrize(
    "fault", [Fault.STUCK_FOR_ONE_GRAPH, Fault.ONE_STEP_A_MINUTE, Fault.STUCK_UNTIL_WOKEN]
)
def test_a_changed_component_waits_for_ever(api: FakeApi, start: Start, fault: Fault) -> None:
    operator = deploy(api, start, fault)
    set_worker(api, multinode=MULTI)
    operator.settle()
    assert "g-worker" in api.names(DEPLOYMENT)
    assert api.names(LWS) == []
    assert not is_ready(api)


def test_a_step_a_minute_is_a_step(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference.defects.STEP_SECONDS", 0.5)
    operator = deploy(api, start, Fault.ONE_STEP_A_MINUTE)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: api.names(LWS) == ["g-worker-0"])


def test_what_was_missed_is_done_when_something_else_happens(api: FakeApi, start: Start) -> None:
    operator = deploy(api, start, Fault.STUCK_UNTIL_WOKEN)
    set_worker(api, multinode=MULTI)
    operator.settle()
    api.edit(DEPLOYMENT, "g-worker", lambda one: one["metadata"].update(annotations={"a": "b"}))
    operator.wait(lambda: api.names(LWS) == ["g-worker-0"])


@pytest.mark.parametrize("toggled", [True, False], ids=["toggled", "as it was made"])
def test_deployment_of_what_was_toggled_comes_back_at_a_restart(
    api: FakeApi, start: Start, toggled: bool
) -> None:
    first = deploy(
        api, start, Fault.DEPLOYMENT_BACK_AT_RESTART, **({} if toggled else {"multinode": MULTI})
    )
    set_worker(api, multinode=MULTI)
    first.wait(lambda: is_ready(api) and "g-worker" not in api.names(DEPLOYMENT))
    first.settle()
    first.stop()
    second = start(Fault.DEPLOYMENT_BACK_AT_RESTART)
    second.settle()
    assert ("g-worker" in api.names(DEPLOYMENT)) == toggled
    assert api.names(LWS) == ["g-worker-0"]


def test_deployment_comes_back_some_time_after_a_change(
    api: FakeApi, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference.defects.BACK_SECONDS", 0.5)
    operator = deploy(api, start, Fault.DEPLOYMENT_BACK_LATER)
    set_worker(api, multinode=MULTI)
    operator.wait(lambda: is_ready(api) and "g-worker" not in api.names(DEPLOYMENT))
    operator.wait(lambda: "g-worker" in api.names(DEPLOYMENT))
    operator.settle(quiet=0.7)
    assert "g-worker" in api.names(DEPLOYMENT)
    assert api.names(LWS) == ["g-worker-0"]


@pytest.mark.parametrize("down", [True, False], ids=["while it was down", "while it ran"])
def test_only_a_deletion_while_it_was_down_is_missed(
    api: FakeApi, start: Start, down: bool
) -> None:
    operator = deploy(api, start, Fault.DELETION_MISSED_WHILE_DOWN)
    operator.settle()
    if down:
        operator.stop()
    api.remove(GRAPH, "g")
    if down:
        operator = start(Fault.DELETION_MISSED_WHILE_DOWN)
    operator.settle()
    assert (api.names(GRAPH) == ["g"]) == down


@pytest.mark.parametrize("toggled", [True, False], ids=["toggled", "as it was made"])
def test_service_of_what_was_toggled_stays_after_deletion(
    api: FakeApi, start: Start, toggled: bool
) -> None:
    operator = deploy(api, start, Fault.CHILD_LEFT_AFTER_TOGGLE)
    if toggled:
        set_worker(api, multinode=MULTI)
        operator.wait(lambda: is_ready(api))
    api.remove(GRAPH, "g")
    operator.wait(lambda: api.names(GRAPH) == [])
    operator.settle()
    assert api.names(SERVICE) == (["g-worker"] if toggled else [])


def test_refused_topology_is_carried_out_with_the_next_change(api: FakeApi, start: Start) -> None:
    fault = Fault.REFUSED_CHANGE_DONE_LATER
    operator = deploy(api, start, fault)
    admission = Admission(Policy.REFUSE, Faults([fault]), operator.manager.graphs.act_on_refused)
    old = api.find(GRAPH, "g") or {}
    new = {
        **old,
        "metadata": {**meta(old), "generation": meta(old)["generation"] + 1},
        "spec": graph_spec(old["spec"]["components"][0], component(multinode=MULTI)),
    }
    request = {"uid": "1", "namespace": NAMESPACE, "object": new, "oldObject": old}
    assert not admission.review(request)["allowed"]
    operator.settle()
    assert api.names(LWS) == []
    api.edit(GRAPH, "g", lambda graph: graph["spec"]["components"][0].update(replicas=2))
    operator.wait(lambda: api.names(LWS) == ["g-worker-0"])
    assert (api.find(DEPLOYMENT, "g-frontend") or {})["spec"]["replicas"] == 2
