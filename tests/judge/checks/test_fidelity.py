"""Fidelity on histories written by hand."""

from typing import Any

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case
from conformance.judge.checks.fidelity import check
from conformance.judge.compare.containment import contains, pod_differences, quantity
from conformance.model.graph import Graph, Service
from conformance.model.transition import ChangeKind, Transition, add_multinode, set_image
from conformance.model.verdict import Verdict
from tests.builders import HistoryBuilder, Raw, a_graph, a_profile, edited, settled
from tests.judge.checks.reading import gating, only

WORKER = (
    a_graph()
    .service("Worker")
    .replace(
        gpus=1,
        container={
            "image": "vllm:1.0.0",
            "command": ["python3", "-m", "dynamo.vllm"],
            "args": ["--model", "Qwen/Qwen3-0.6B", "--config", '{"a": 1}'],
            "env": [
                {"name": "A", "value": "1"},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "volumeMounts": [{"name": "models", "mountPath": "/models"}],
            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        },
        pod={
            "serviceAccountName": "mine",
            "volumes": [{"name": "models", "emptyDir": {}}],
            "containers": [{"name": "sidecar", "image": "side:1", "args": ["run"]}],
        },
        pod_labels={"team": "blue", "nvidia.com/reserved": "x"},
    )
)
SINGLE = a_graph().with_service(WORKER)
MULTI = add_multinode("Worker").apply(SINGLE)


def judged(
    graph: Graph, objects: list[Raw] | None = None, *, end: CheckpointEnd = CheckpointEnd.HELD,
    profile: Any = None, blocked: bool = False,
) -> History:  # fmt: skip
    """A change after which the namespace has these objects, by default a good operator's."""
    h = HistoryBuilder(profile)
    before = MULTI if graph == SINGLE else SINGLE
    h.deployed(before)
    kinds = (ChangeKind.CHANGE_NODE_COUNT, ChangeKind.IMAGE)
    h.step(Transition(name="change", kinds=kinds, apply=lambda _: graph), before)
    h.become(objects or good(graph), after=0.5)
    h.checkpoint(graph, end=end, blocked=blocked)
    return h.history()


def good(graph: Graph) -> list[Raw]:
    """What a good operator has for the graph; its pods have the user's labels, too."""
    objects = settled(graph, generation=2)
    for raw in objects:
        if raw["kind"] == "Pod" and raw["metadata"]["name"].startswith("agg-worker"):
            raw["metadata"]["labels"] |= {"team": "blue", "nvidia.com/reserved": "x"}
    return objects


def broken(graph: Graph, change: Any, *kinds: str) -> list[Raw]:
    """The good objects, with `change` applied to each pod spec of the worker in these kinds."""
    found = []
    for raw in good(graph):
        if raw["kind"] in kinds and raw["metadata"]["name"].startswith("agg-worker"):
            for template in templates(raw):
                change(template)
        found.append(raw)
    return found


def templates(raw: Raw) -> list[Raw]:
    if raw["kind"] == "Pod":
        return [raw]
    groups = raw["spec"].get("leaderWorkerTemplate")
    if groups is None:
        return [raw["spec"]["template"]]
    return [groups["leaderTemplate"], groups["workerTemplate"]]


def main(template: Raw) -> Raw:
    found: Raw = next(c for c in template["spec"]["containers"] if c["name"] == "main")
    return found


ALL = ("Deployment", "LeaderWorkerSet", "Pod")


@pytest.mark.parametrize("graph", [SINGLE, MULTI])
def test_what_the_user_wrote_in_both_shapes_conforms(graph: Graph) -> None:
    result = check(Case(judged(graph)))
    assert [f.message for f in result.findings] == []
    assert result.verdict is Verdict.CONFORMS
    assert result.looked_at > 3


def drop(template: Raw, *path: str) -> None:
    target: Any = template
    for key in path[:-1]:
        target = target[key]
    target.pop(path[-1])


@pytest.mark.parametrize("graph", [SINGLE, MULTI])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda t: main(t).update(image="vllm:0.9.0"), "image"),
        (lambda t: main(t)["env"].pop(0), "env.A"),
        (lambda t: main(t)["env"][1].update(valueFrom={"fieldRef": {}}), "env.TOKEN"),
        (lambda t: main(t).update(volumeMounts=[]), "volumeMounts./models"),
        (lambda t: main(t)["resources"]["requests"].update(cpu="2"), "resources.requests.cpu"),
        (lambda t: main(t)["resources"].pop("limits"), "resources.limits.nvidia.com/gpu"),
        (lambda t: t["spec"].update(serviceAccountName="theirs"), "serviceAccountName"),
        (lambda t: t["spec"].update(volumes=[]), "volumes.models"),
        (lambda t: t["spec"].update(containers=[main(t)]), "containers.sidecar"),
        (lambda t: drop(t, "metadata", "labels", "team"), "labels.team"),
    ],
)
def test_what_is_lost_on_the_way_violates(graph: Graph, change: Any, field: str) -> None:
    finding = only(check(Case(judged(graph, broken(graph, change, *ALL)))), Verdict.VIOLATES)
    assert finding.evidence["field"] == field
    assert "what the user wrote" in finding.message
    assert "created by the operator" in finding.message


def test_an_image_that_never_reached_the_pods_violates() -> None:
    graph = set_image("Worker", "vllm:2.0.0").apply(SINGLE)
    old = broken(graph, lambda t: main(t).update(image="vllm:1.0.0"), "Pod")
    finding = only(check(Case(judged(graph, old))), Verdict.VIOLATES)
    assert finding.subject.startswith("Pod/agg-worker")
    assert "image is 'vllm:1.0.0' (wanted 'vllm:2.0.0')" in finding.message


def test_a_label_with_a_reserved_prefix_is_the_operators() -> None:
    change = lambda t: t["metadata"]["labels"].pop("nvidia.com/reserved")  # noqa: E731
    assert gating(check(Case(judged(SINGLE, broken(SINGLE, change, *ALL))))) == []


# Command and arguments -------------------------------------------------------------------------

RAY = (
    "ray start --head --port=6379 && python3 -m dynamo.vllm --model Qwen/Qwen3-0.6B "
    "--config '{\"a\": 1}' --distributed-executor-backend ray"
)


def run(service: Service, command: list[str], args: list[str]) -> list[str]:
    graph = a_graph().with_service(service)
    found = [
        raw for raw in settled(graph)
        if raw["kind"] in ("Deployment", "LeaderWorkerSet")
        and raw["metadata"]["name"].startswith("agg-worker")
    ]  # fmt: skip
    template = templates(found[0])[0]
    main(template).update(command=command, args=args)
    differences = pod_differences(
        service, spec=template["spec"], labels=template["metadata"]["labels"],
        annotations={}, reserved=["nvidia.com/"], runs=True,
    )  # fmt: skip
    return [difference.field for difference in differences]


LEADER = WORKER.replace(node_count=2)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["/bin/sh", "-c"], [RAY]),
        (["python3", "-m", "dynamo.vllm"], [*WORKER.container["args"], "--nnodes", "2"]),
        (["sh", "-c", RAY], []),
    ],
)
def test_a_leader_may_wrap_the_users_command(command: list[str], args: list[str]) -> None:
    assert run(LEADER, command, args) == []


@pytest.mark.parametrize(
    ("command", "args", "fields"),
    [
        (["/bin/sh", "-c"], [RAY.replace("--model Qwen/Qwen3-0.6B ", "")], ["args"]),
        (["sh", "-c"], ["python3 -m dynamo.vllm Qwen/Qwen3-0.6B --model --config {}"], ["args"]),
        (["/bin/sh", "-c"], [RAY.replace("dynamo.vllm", "vllm")], ["command"]),
    ],
)
def test_a_leader_that_loses_or_reorders_arguments_violates(
    command: list[str], args: list[str], fields: list[str]
) -> None:
    assert run(LEADER, command, args) == fields


def test_in_the_single_node_shape_the_command_is_exact() -> None:
    assert run(WORKER, ["/bin/sh", "-c"], [RAY]) == ["command", "args"]


def test_the_followers_run_what_the_operator_says() -> None:
    def change(template: Raw) -> None:
        if template.get("metadata", {}).get("labels", {}).get("role") == "worker":
            main(template).update(command=["ray"], args=["start", "--block"])

    assert gating(check(Case(judged(MULTI, broken(MULTI, change, *ALL))))) == []


# Exceptions and what is not judged -------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "shape", "excused"),
    [
        ("serviceAccountName", "both", True),
        ("serviceAccountName", "single", True),
        ("serviceAccountName", "multinode", False),
        ("service*", "both", True),
        ("image", "both", False),
    ],
)
def test_exceptions_go_by_field_and_shape(field: str, shape: str, excused: bool) -> None:
    profile = a_profile(fidelity_exceptions=[{"field": field, "shape": shape, "reason": "r"}])
    change = lambda t: t["spec"].update(serviceAccountName="theirs")  # noqa: E731
    found = gating(check(Case(judged(SINGLE, broken(SINGLE, change, *ALL), profile=profile))))
    assert (found == []) is excused


def test_an_exception_of_a_group_of_fields_covers_what_is_in_it() -> None:
    profile = a_profile(fidelity_exceptions=[{"field": "env", "reason": "r"}])
    objects = broken(SINGLE, lambda t: main(t)["env"].pop(0), *ALL)
    assert gating(check(Case(judged(SINGLE, objects, profile=profile)))) == []


def test_a_blocked_checkpoint_is_not_compared() -> None:
    change = lambda t: t["spec"].update(serviceAccountName="theirs")  # noqa: E731
    assert check(Case(judged(SINGLE, broken(SINGLE, change, *ALL), blocked=True))).verdict is None


def test_a_rollout_in_progress_at_the_deadline_is_unknown() -> None:
    profile = a_profile(
        rollouts=[{"path": ["status", "rollingUpdate", "phase"], "values": ["InProgress"]}]
    )
    graph = set_image("Worker", "vllm:2.0.0").apply(SINGLE)
    objects = broken(graph, lambda t: main(t).update(image="vllm:1.0.0"), "Pod")
    rolling = [
        edited(raw, "status", "rollingUpdate", "phase", to="InProgress")
        if raw["kind"] == "DynamoGraphDeployment"
        else raw
        for raw in objects
    ]
    for seen, verdict in ((rolling, Verdict.UNKNOWN), (objects, Verdict.VIOLATES)):
        history = judged(graph, seen, end=CheckpointEnd.DEADLINE, profile=profile)
        assert only(check(Case(history)), verdict)


def test_a_service_without_a_workload_leaves_nothing_to_compare() -> None:
    objects = [
        raw for raw in good(SINGLE)
        if not raw["metadata"]["name"].startswith("agg-worker") or "Component" in raw["kind"]
    ]  # fmt: skip
    assert (
        "nothing to compare" in only(check(Case(judged(SINGLE, objects))), Verdict.UNKNOWN).message
    )


# Values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"), [("1000m", "1"), (1, "1"), ("1Gi", "1024Mi"), ("0.5", "500m")]
)
def test_equal_quantities_are_equal(one: Any, other: Any) -> None:
    assert quantity(one) == quantity(other)


@pytest.mark.parametrize(("one", "other"), [("1", "2"), ("1G", "1Gi"), ("a", "b"), (None, "0")])
def test_unequal_quantities_are_not(one: Any, other: Any) -> None:
    assert quantity(one) != quantity(other)


@pytest.mark.parametrize(
    ("wanted", "have", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {}}, {}, True),
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": False}, {}, True),
        ({"a": "x"}, {"a": "y"}, False),
        ({"a": {"b": 1}}, {"a": 1}, False),
    ],
)
def test_containment_allows_more_but_not_less(wanted: Any, have: Any, expected: bool) -> None:
    assert contains(wanted, have) is expected
