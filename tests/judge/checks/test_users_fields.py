"""Every field of a pod that the user writes is on its children; what operators add is theirs."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from conformance.judge.case import Case
from conformance.judge.checks.fidelity import check
from conformance.judge.compare.containment import pod_differences
from conformance.model.graph import Service
from conformance.model.transition import scale
from conformance.model.verdict import Verdict
from tests.builders import HistoryBuilder, a_graph, a_profile, settled
from tests.judge.checks.reading import gating, only

PROBE = {"httpGet": {"path": "/live", "port": 9090}, "periodSeconds": 5}
CONTAINER: dict[str, Any] = {
    "image": "vllm:1.0.0",
    "workingDir": "/workspace",
    "livenessProbe": PROBE,
    "ports": [{"containerPort": 8000}],
    "lifecycle": {"preStop": {"exec": {"command": ["drain"]}}},
    "securityContext": {"runAsUser": 1000},
    "imagePullPolicy": "Always",
    "tty": False,
}
POD: dict[str, Any] = {
    "nodeSelector": {"gpu": "h100"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
    "imagePullSecrets": [{"name": "mine"}],
    "securityContext": {"fsGroup": 7},
    "terminationGracePeriodSeconds": 120,
    "serviceAccountName": "mine",
    "schedulerName": "mine",
    "hostname": "mine",
}
SIDECAR: dict[str, Any] = {"name": "side", "image": "side:1", "workingDir": "/s"}
INIT: dict[str, Any] = {"name": "init", "image": "init:1", "workingDir": "/i"}
WORKER = (
    a_graph()
    .service("Worker")
    .replace(
        container=CONTAINER,
        pod={**POD, "containers": [SIDECAR], "initContainers": [INIT]},
        pod_annotations={"example.com/note": "mine", "nvidia.com/reserved": "x"},
    )
)
GROUPS = WORKER.replace(node_count=2)
NOTE = {"example.com/note": "mine"}


def shown() -> dict[str, Any]:
    """The pod spec as a good operator and the API write it: the user's, and more."""
    return copy.deepcopy(
        {
            **POD,
            "containers": [
                {**CONTAINER, "name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}},
                 "ports": [{"name": "system", "containerPort": 9090}, {"containerPort": 8000}],
                 "livenessProbe": {**PROBE, "timeoutSeconds": 4},
                 "securityContext": {"runAsUser": 1000, "privileged": False}},
                SIDECAR,
            ],
            "initContainers": [INIT],
            "tolerations": [{"key": "node.kubernetes.io/not-ready"}, *POD["tolerations"]],
            "imagePullSecrets": [{"name": "found"}, {"name": "mine"}],
            "securityContext": {"fsGroup": 7, "runAsNonRoot": True},
            "restartPolicy": "Always",
        }
    )  # fmt: skip


def lost(
    service: Service, spec: Mapping[str, Any], *, runs: bool = True,
    annotations: Mapping[str, str] = NOTE,
) -> list[str]:  # fmt: skip
    found = pod_differences(
        service, spec=spec, labels={}, annotations=annotations, reserved=["nvidia.com/"], runs=runs
    )
    return [difference.field for difference in found]


def test_what_operators_and_the_api_add_is_no_loss() -> None:
    assert lost(WORKER, shown()) == []
    assert lost(GROUPS, shown()) == []


@pytest.mark.parametrize("service", [WORKER, GROUPS], ids=["single", "groups"])
@pytest.mark.parametrize("field", ["workingDir", "ports", "lifecycle", "securityContext",
                                   "imagePullPolicy"])  # fmt: skip
def test_a_lost_field_of_the_main_container_is_told(service: Service, field: str) -> None:
    spec = shown()
    del spec["containers"][0][field]
    assert lost(service, spec) == [field]


@pytest.mark.parametrize(
    "field", [field for field in POD if field not in ("schedulerName", "hostname", "affinity")]
)
def test_a_lost_field_of_the_pod_is_told(field: str) -> None:
    spec = shown()
    del spec[field]
    assert lost(WORKER, spec) == [field]


def test_a_changed_value_is_a_loss() -> None:
    spec = shown()
    spec["containers"][0]["workingDir"] = "/"
    spec["nodeSelector"] = {"gpu": "a100"}
    assert lost(WORKER, spec) == ["workingDir", "nodeSelector"]


def test_a_probe_is_the_users_in_the_single_node_shape_and_the_operators_in_a_group() -> None:
    spec = shown()
    del spec["containers"][0]["livenessProbe"]
    assert lost(WORKER, spec) == ["livenessProbe"]
    assert lost(GROUPS, spec) == []


def test_followers_need_no_ports_and_no_farewell() -> None:
    spec = shown()
    for field in ("ports", "lifecycle"):
        del spec["containers"][0][field]
    assert lost(GROUPS, spec, runs=False) == []


def test_schedulers_and_workload_kinds_set_some_fields_themselves() -> None:
    assert lost(WORKER, {**shown(), "schedulerName": "volcano", "hostname": "worker-0"}) == []


@pytest.mark.parametrize("key", ["containers", "initContainers"])
def test_fields_of_other_containers_are_told_by_their_name(key: str) -> None:
    spec = shown()
    del spec[key][-1]["workingDir"]
    assert lost(WORKER, spec) == [f"{key}.{spec[key][-1]['name']}.workingDir"]


def test_annotations_of_the_users_are_on_the_pods_but_for_reserved_ones() -> None:
    assert lost(WORKER, shown(), annotations={}) == ["annotations.example.com/note"]
    assert lost(WORKER, shown(), annotations={**NOTE, "operators/own": "1"}) == []


def _scaled(*, keep: bool, **profile: Any) -> HistoryBuilder:
    before = a_graph().with_service(WORKER.replace(pod={}))
    after = before.with_service(WORKER.replace(pod={}, replicas=2))
    h = HistoryBuilder(a_profile(**profile))
    h.deployed(before)
    h.step(scale("Worker", to=2), before)
    objects = copy.deepcopy(settled(after, generation=2))
    for raw in objects:
        if raw["kind"] == "Pod" and "worker" in raw["metadata"]["name"] and keep:
            raw["metadata"]["annotations"] = dict(NOTE)
    h.become(objects, after=0.5)
    h.checkpoint(after)
    return h


def test_the_checker_compares_the_annotations_of_templates_and_pods() -> None:
    assert gating(check(Case(_scaled(keep=True).history()))) == []
    finding = only(check(Case(_scaled(keep=False).history())), Verdict.VIOLATES)
    assert "annotations.example.com/note is missing" in finding.message


def test_a_profile_may_except_a_field_by_its_name() -> None:
    exception = {"field": "annotations.example.com/note", "reason": "r"}
    assert gating(check(Case(_scaled(keep=False, fidelity_exceptions=[exception]).history()))) == []


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ({"value": ""}, {}),
        ({"value": None}, {}),
        ({"value": "x"}, {"value": "x"}),
        ({}, {}),
    ],
)
def test_a_variable_without_a_value_is_kept_as_the_api_keeps_it(
    written: dict[str, Any], kept: dict[str, Any]
) -> None:
    service = WORKER.replace(container={"env": [{"name": "A", **written}]}, pod={})
    spec = {"containers": [{"name": "main", "env": [{"name": "A", **kept}]}]}
    found = pod_differences(
        service, spec=spec, labels=dict(service.pod_labels),
        annotations=dict(service.pod_annotations), reserved=(), runs=True,
    )  # fmt: skip
    assert "env.A" not in [one.field for one in found]


def test_a_variable_that_lost_its_value_is_missing() -> None:
    service = WORKER.replace(container={"env": [{"name": "A", "value": "x"}]}, pod={})
    found = pod_differences(
        service, spec={"containers": [{"name": "main", "env": [{"name": "A"}]}]},
        labels=dict(service.pod_labels), annotations=dict(service.pod_annotations), reserved=(),
        runs=True,
    )  # fmt: skip
    assert "env.A" in [one.field for one in found]
