import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.driver.case_run import CaseOver
from conformance.driver.environment import CaseEnvironment
from conformance.driver.requests import GraphRequests, Sent
from conformance.driver.trial import Trial
from conformance.history.records import CheckpointEnd, Header, Step
from conformance.kube import Api, Resource
from conformance.model.bounds import Bounds
from conformance.model.doors import Door, Method
from conformance.model.errors import InfraError
from conformance.model.graph import ApiVersion
from conformance.model.manifest import manifest
from conformance.model.state import Obj
from conformance.model.transition import (
    Transition,
    add_multinode,
    change_node_count,
    no_op,
    remove_multinode,
)
from conformance.record.files import SIGN_LINES, Heartbeat, live_file
from conformance.record.tail import Tail
from tests.kube.fake_api import FakeApi
from tests.objects import a_graph, a_profile, made

NS = "case-1"
GRAPHS = f"/apis/nvidia.com/v1beta1/namespaces/{NS}/dynamographdeployments"
GRAPH = a_graph()
ONE = f"{GRAPHS}/{GRAPH.name}"
WORKER = GRAPH.services[-1].name
Raw = dict[str, Any]


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(Resource("nvidia.com", "v1beta1", "dynamographdeployments", "Graph", True))
    yield server
    server.close()


@pytest.fixture
def api(fake: FakeApi, tmp_path: Path) -> Api:
    return fake.api(tmp_path)


@pytest.fixture
def trial(api: Api, tmp_path: Path) -> Iterator[Trial]:
    recording = tmp_path / "record"
    bounds = Bounds(recorder_lag=0.2, poll=0.01, deadline=0.1, hold=0.05)
    environment = CaseEnvironment(
        profile=a_profile(), bounds=bounds, kubeconfig=tmp_path / "kubeconfig",
        recording=recording, results=tmp_path / "results",
        operator_events=recording / "_operator.jsonl",
    )  # fmt: skip
    header = Header(
        case="add/worker", feature="add", title="a case", operator=environment.operator,
        namespace=NS, profile=environment.profile.model_dump(mode="json"), bounds=bounds.to_json(),
    )  # fmt: skip
    tail = Tail(recording, NS, lag=bounds.recorder_lag)
    made_trial = Trial(environment=environment, api=api, tail=tail, header=header)
    yield made_trial
    made_trial.close()


def stored(revision: int = 7, generation: int = 1) -> Raw:
    body: Raw = copy.deepcopy(dict(manifest(GRAPH, version=ApiVersion.V1BETA1, namespace=NS)))
    body["metadata"].update(
        uid="u1", resourceVersion=str(revision), generation=generation, managedFields=[{"a": 1}]
    )
    body["status"] = {"state": "successful"}
    return body


def conflict() -> tuple[int, Raw]:
    message = "the object has been modified; please apply your changes to the latest version"
    return 409, {"kind": "Status", "code": 409, "reason": "Conflict", "message": message}


def refusal() -> tuple[int, Raw]:
    message = f"admission webhook denied the request: spec.components[{WORKER}].multinode: no"
    return 403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}


def steps(trial: Trial) -> list[Step]:
    return trial.finish([]).steps


def sent(fake: FakeApi, verb: str) -> list[Any]:
    return [body for method, _, _, body in fake.requests if method == verb]


def deployed(fake: FakeApi, trial: Trial) -> None:
    fake.answers["POST", GRAPHS] = lambda: (201, stored())
    fake.answers["GET", ONE] = lambda: (200, stored())
    trial.deploy(GRAPH, wait=False)


def test_a_step_that_a_refusal_made_pointless_is_journalled_and_not_sent(
    fake: FakeApi, trial: Trial
) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = refusal
    trial.change(GRAPH, add_multinode(WORKER))
    trial.change(GRAPH, remove_multinode(WORKER))
    refused, superseded = trial.steps[1:]
    assert refused.code == 403
    assert len(sent(fake, "PATCH")) == 1
    assert (superseded.code, superseded.request) == (0, {})
    assert "superseded" in superseded.answer
    assert [step.name for step in steps(trial)] == [
        f"deploy {GRAPH.name}", "add-multinode-2", "remove-multinode",
    ]  # fmt: skip


def test_a_no_op_is_sent_although_it_changes_nothing(fake: FakeApi, trial: Trial) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = lambda: (200, stored())
    trial.change(GRAPH, no_op())
    step = trial.steps[-1]
    assert (step.code, step.moved) == (200, False)
    assert len(sent(fake, "PATCH")) == 1


def test_a_refused_step_leaves_the_wanted_graph_as_it_was(fake: FakeApi, trial: Trial) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = refusal
    graph = trial.change(GRAPH, add_multinode(WORKER))
    assert graph == trial.graph(GRAPH.name)
    assert graph.service(WORKER).node_count is None


def test_an_accepted_step_moves_the_wanted_graph_and_notes_both_generations(
    fake: FakeApi, trial: Trial
) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = lambda: (200, stored(revision=9, generation=2))
    graph = trial.change(GRAPH, add_multinode(WORKER, node_count=3))
    assert graph == trial.graph(GRAPH.name)
    assert graph.service(WORKER).node_count == 3
    step = trial.steps[-1]
    assert (step.generation_before, step.generation_after, step.moved) == (1, 2, True)
    assert (step.revision_before, step.revision_after) == (7, 9)


def test_two_steps_of_one_name_are_told_apart(fake: FakeApi, trial: Trial) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = refusal
    for _ in range(3):
        trial.change(GRAPH, add_multinode(WORKER))
    assert [step.name for step in trial.steps[1:]] == [
        "add-multinode-2",
        "add-multinode-2 #2",
        "add-multinode-2 #3",
    ]


def changed(api: Api, transition: Transition, door: Door) -> Sent:
    requests = GraphRequests(api, NS, ApiVersion.V1BETA1)
    return requests.change(transition, before=GRAPH, door=door)


def test_a_replace_that_was_overtaken_is_built_anew_on_a_new_read(fake: FakeApi, api: Api) -> None:
    reads, writes = iter([7, 8, 9]), iter([conflict(), conflict(), (200, stored(10, 2))])
    fake.answers["GET", ONE] = lambda: (200, stored(next(reads)))
    fake.answers["PUT", ONE] = lambda: next(writes)
    door = Door(method=Method.REPLACE, version=ApiVersion.V1BETA1)
    answer = changed(api, add_multinode(WORKER), door)
    assert (answer.answer.code, answer.revision_before) == (200, 9)
    versions = [body["metadata"]["resourceVersion"] for body in sent(fake, "PUT")]
    assert versions == ["7", "8", "9"]
    assert not any("status" in body for body in sent(fake, "PUT"))


def test_conflicts_without_an_end_are_answered_as_they_are(fake: FakeApi, api: Api) -> None:
    fake.answers["GET", ONE] = lambda: (200, stored())
    fake.answers["PUT", ONE] = conflict
    door = Door(method=Method.REPLACE, version=ApiVersion.V1BETA1)
    answer = changed(api, add_multinode(WORKER), door)
    assert answer.answer.code == 409
    assert len(sent(fake, "PUT")) == 5


def test_a_graph_that_cannot_be_read_is_no_verdict_on_the_operator(fake: FakeApi, api: Api) -> None:
    door = Door(method=Method.MERGE_PATCH, version=ApiVersion.V1ALPHA1)
    with pytest.raises(InfraError, match="could not be read as v1alpha1: HTTP 404"):
        changed(api, change_node_count(WORKER, to=3), door)


def test_apply_sends_the_whole_graph_by_force_under_one_manager(
    fake: FakeApi, trial: Trial
) -> None:
    deployed(fake, trial)
    fake.answers["PATCH", ONE] = lambda: (200, stored(9, 2))
    door = Door(method=Method.APPLY, version=ApiVersion.V1BETA1)
    trial.change(GRAPH, add_multinode(WORKER), door=door)
    method, path, headers, body = fake.requests[-1]
    assert (method, headers["Content-Type"]) == ("PATCH", "application/apply-patch+yaml")
    assert path.endswith("?fieldManager=dgd-conformance&force=true")
    assert "managedFields" not in body["metadata"]


def test_a_case_that_stops_a_shared_operator_is_told_to_be_disruptive(trial: Trial) -> None:
    with (
        pytest.raises(InfraError, match="stops the operator but shares it; mark it disruptive"),
        trial.operator_down(),
    ):
        raise AssertionError("nothing was stopped")


class Control:
    """An operator whose end fails half-way."""

    def __init__(self, *, comes_back: bool) -> None:
        self.calls: list[str] = []
        self._comes_back = comes_back

    def stop(self) -> None:
        self.calls.append("stop")
        raise InfraError("its pods may not be deleted")

    kill = stop

    def start(self) -> None:
        self.calls.append("start")
        if not self._comes_back:
            raise InfraError("it was not ready")


@pytest.mark.parametrize("comes_back", [True, False])
@pytest.mark.parametrize("kill", [True, False])
def test_an_operator_that_was_ended_by_half_is_started_again_and_the_cause_is_told(
    trial: Trial, kill: bool, comes_back: bool
) -> None:
    control: Any = Control(comes_back=comes_back)
    trial.environment = trial.environment.model_copy(update={"control": control})
    with (
        pytest.raises(InfraError, match="its pods may not be deleted"),
        trial.operator_down(kill=kill),
    ):
        raise AssertionError("it was not ended")
    assert control.calls == ["stop", "start"]


def test_a_checkpoint_that_is_not_held_ends_the_case_and_is_journalled(
    fake: FakeApi, trial: Trial, tmp_path: Path
) -> None:
    deployed(fake, trial)
    alive(tmp_path / "record")
    with pytest.raises(CaseOver):
        trial.expect()
    (checkpoint,) = trial.finish([]).checkpoints
    assert (checkpoint.end, checkpoint.reached_at) == (CheckpointEnd.DEADLINE, None)
    assert checkpoint.steps == (f"deploy {GRAPH.name}",)
    assert [graph.name for graph in checkpoint.graphs] == [GRAPH.name]


def test_a_graph_that_never_goes_ends_the_case(fake: FakeApi, trial: Trial) -> None:
    deployed(fake, trial)
    trial.bounds = Bounds(deletion_deadline=0.05, poll=0.01)
    with pytest.raises(CaseOver):
        trial.wait_gone(GRAPH)
    del fake.answers["GET", ONE]
    trial.wait_gone(GRAPH)


def alive(recording: Path) -> None:
    """A recorder that said, for the next minute, that it lives."""
    path = live_file(recording, "_recorder")
    path.parent.mkdir(parents=True, exist_ok=True)
    import time

    path.write_bytes(SIGN_LINES.encode(Heartbeat(at=time.time() + 60, revision=1)))


def test_without_its_label_a_component_is_not_found_and_the_profile_is_named(
    trial: Trial, tmp_path: Path
) -> None:
    alive(tmp_path / "record")
    with pytest.raises(InfraError, match=r"no component for service .*`labels\.service`"):
        trial.change_component(GRAPH, add_multinode(WORKER), node_count=2)


def test_what_the_suite_puts_beside_the_graphs_is_noted_as_nobodys(
    fake: FakeApi, api: Api, trial: Trial
) -> None:
    config_map = Resource("", "v1", "configmaps", "ConfigMap", True)
    fake.serve(config_map)
    raw = made("ConfigMap", "somebodys", namespace=NS)
    fake.answers["POST", f"/api/v1/namespaces/{NS}/configmaps"] = lambda: (201, raw)
    foreign = trial.place_foreign(raw)
    assert (foreign.kind, foreign.name, foreign.uid) == ("ConfigMap", "somebodys", Obj(raw).uid)
