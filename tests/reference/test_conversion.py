import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from reference.conversion import BETA_KEPT, ConversionError, convert, replay
from reference.objects import Object

ALPHA_GRAPH: Object = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g", "namespace": "ns", "uid": "1", "annotations": {"mine": "yes"}},
    "spec": {
        "backendFramework": "vllm",
        "envs": [{"name": "A", "value": "1"}],
        "pvcs": [{"name": "cache", "create": True, "size": "1Gi"}],
        "services": {
            "Frontend": {
                "componentType": "frontend",
                "serviceName": "front",
                "ingress": {"enabled": True},
                "labels": {"team": "a"},
                "extraPodMetadata": {"labels": {"team": "b", "x": "y"}},
                "extraPodSpec": {"mainContainer": {"image": "i:1.0.0", "name": "other"}},
            },
            "Prefill": {
                "componentType": "worker",
                "subComponentType": "prefill",
                "replicas": 2,
                "multinode": {"nodeCount": 3},
                "resources": {
                    "requests": {"cpu": "2", "memory": "1Gi"},
                    "limits": {"gpu": "2", "gpuType": "vendor.example/gpu", "custom": {"a/b": "1"}},
                },
                "envs": [{"name": "B", "value": "2"}],
                "envFromSecret": "token",
                "sharedMemory": {"size": "8Gi"},
                "volumeMounts": [
                    {"name": "cache", "mountPoint": "/c", "useAsCompilationCache": True},
                    {"name": "data", "mountPoint": "/d"},
                ],
                "livenessProbe": {"httpGet": {"path": "/live", "port": 9090}},
                "scalingAdapter": {"enabled": False},
                "extraPodSpec": {
                    "serviceAccountName": "me",
                    "containers": [{"name": "side", "image": "s:1.0.0"}],
                    "mainContainer": {
                        "image": "i:1.0.0",
                        "env": [{"name": "B", "value": "0"}, {"name": "C", "value": "3"}],
                        "resources": {"limits": {"cpu": "4"}},
                    },
                },
            },
            "Odd": {"componentType": "default", "subComponentType": "thing"},
        },
    },
}

BETA_GRAPH: Object = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "g", "namespace": "ns", "uid": "1"},
    "spec": {
        "labels": {"l": "1"},
        "env": [{"name": "A", "value": "1"}],
        "priorityClassName": "high",
        "experimental": {"kvTransferPolicy": {"a": 1}},
        "components": [
            {
                "name": "Worker",
                "type": "decode",
                "replicas": 1,
                "minAvailable": 1,
                "roles": [{"name": "leader"}],
                "scalingAdapter": {},
                "sharedMemorySize": "0",
                "compilationCache": {"pvcName": "cache", "mountPath": "/c"},
                "podTemplate": {
                    "metadata": {"labels": {"a": "b"}, "name": "unusual"},
                    "spec": {
                        "hostNetwork": True,
                        "containers": [
                            {"name": "side", "image": "s:1.0.0"},
                            {
                                "name": "main",
                                "image": "i:1.0.0",
                                "envFrom": [{"secretRef": {"name": "token"}}],
                                "resources": {"limits": {"nvidia.com/gpu": 1}},
                            },
                        ],
                    },
                },
            },
            {"name": "Frontend", "type": "frontend", "frontendSidecar": "side"},
        ],
    },
}


def to(version: str, obj: Object) -> Object:
    return convert(obj, version)


@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoComponentDeployment"])
@pytest.mark.parametrize("obj", [ALPHA_GRAPH, BETA_GRAPH], ids=["alpha", "beta"])
def test_round_trip_changes_nothing(obj: Object, kind: str) -> None:
    obj = copy.deepcopy(obj)
    if kind == "DynamoComponentDeployment":
        obj = as_component(obj)
    here = obj["apiVersion"].partition("/")[2]
    there = {"v1alpha1": "v1beta1", "v1beta1": "v1alpha1"}[here]
    before = copy.deepcopy(obj)
    away = to(there, obj)
    assert obj == before, "the input was changed"
    assert to(here, away) == obj
    assert to(there, to(here, away)) == away


def as_component(graph: Object) -> Object:
    spec = graph["spec"]
    if "services" in spec:
        spec = {**spec["services"]["Prefill"], "serviceName": "Prefill", "backendFramework": "vllm"}
    else:
        spec = spec["components"][0]
    return {**graph, "kind": "DynamoComponentDeployment", "spec": spec}


def test_shipped_graphs_keep_nothing_but_their_order(fixtures: Path) -> None:
    files = sorted(fixtures.glob("*.yaml"))
    assert files
    for file in files:
        obj = yaml.safe_load(file.read_text())
        if obj.get("kind") != "DynamoGraphDeployment":
            continue
        here = obj["apiVersion"].partition("/")[2]
        there = {"v1alpha1": "v1beta1", "v1beta1": "v1alpha1"}[here]
        away = to(there, obj)
        assert to(here, away) == obj, file.name
        for annotation in (away["metadata"].get("annotations") or {}).values():
            assert json.loads(annotation).keys() <= {"order"}, file.name


def test_both_versions_of_a_shipped_graph_mean_the_same(fixtures: Path) -> None:
    pairs = [
        (f, Path(str(f).replace("v1alpha1", "v1beta1"))) for f in fixtures.glob("*alpha1.yaml")
    ]
    assert pairs
    for alpha, beta in pairs:
        converted = to("v1beta1", yaml.safe_load(alpha.read_text()))["spec"]
        wanted = yaml.safe_load(beta.read_text())["spec"]
        assert by_name(converted) == by_name(wanted), alpha.name


def by_name(spec: Object) -> Object:
    return {**spec, "components": {entry["name"]: entry for entry in spec["components"]}}


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_worker_pair_is_one_type(role: str) -> None:
    alpha = copy.deepcopy(ALPHA_GRAPH)
    alpha["spec"] = {"services": {"W": {"componentType": "worker", "subComponentType": role}}}
    beta = to("v1beta1", alpha)
    assert beta["spec"]["components"] == [{"name": "W", "type": role}]
    assert to("v1alpha1", beta)["spec"] == alpha["spec"]


def test_resources_and_secret_reach_the_main_container() -> None:
    beta = to("v1beta1", ALPHA_GRAPH)
    prefill = next(c for c in beta["spec"]["components"] if c["name"] == "Prefill")
    main = prefill["podTemplate"]["spec"]["containers"][0]
    assert main["name"] == "main"
    assert main["resources"]["limits"] == {"cpu": "4", "vendor.example/gpu": "2", "a/b": "1"}
    assert main["envFrom"] == [{"secretRef": {"name": "token"}}]
    assert main["env"] == [{"name": "C", "value": "3"}, {"name": "B", "value": "2"}]
    assert main["volumeMounts"] == [{"name": "data", "mountPath": "/d"}]
    assert prefill["compilationCache"] == {"pvcName": "cache", "mountPath": "/c"}


def test_service_labels_reach_the_pod_and_the_closer_ones_win() -> None:
    beta = to("v1beta1", ALPHA_GRAPH)
    front = next(c for c in beta["spec"]["components"] if c["name"] == "Frontend")
    assert front["podTemplate"]["metadata"]["labels"] == {"team": "b", "x": "y"}


def test_edit_through_v1beta1_keeps_what_only_v1alpha1_can_say() -> None:
    beta = to("v1beta1", ALPHA_GRAPH)
    prefill = next(c for c in beta["spec"]["components"] if c["name"] == "Prefill")
    del prefill["multinode"]
    prefill["replicas"] = 5
    wanted = copy.deepcopy(ALPHA_GRAPH)
    del wanted["spec"]["services"]["Prefill"]["multinode"]
    wanted["spec"]["services"]["Prefill"]["replicas"] = 5
    assert to("v1alpha1", beta) == wanted


def test_edit_through_v1alpha1_keeps_what_only_v1beta1_can_say() -> None:
    alpha = to("v1alpha1", BETA_GRAPH)
    alpha["spec"]["services"]["Worker"]["multinode"] = {"nodeCount": 2}
    wanted = copy.deepcopy(BETA_GRAPH)
    wanted["spec"]["components"][0]["multinode"] = {"nodeCount": 2}
    again = to("v1beta1", alpha)
    assert again["spec"] == wanted["spec"]


def test_order_of_components_survives_and_new_ones_come_last() -> None:
    alpha = to("v1alpha1", BETA_GRAPH)
    alpha["spec"]["services"]["Another"] = {"componentType": "worker"}
    names = [component["name"] for component in to("v1beta1", alpha)["spec"]["components"]]
    assert names == ["Worker", "Frontend", "Another"]


def test_removed_component_takes_its_kept_fields_along() -> None:
    alpha = to("v1alpha1", BETA_GRAPH)
    del alpha["spec"]["services"]["Worker"]
    beta = to("v1beta1", alpha)
    assert [component["name"] for component in beta["spec"]["components"]] == ["Frontend"]
    assert "minAvailable" not in json.dumps(beta)


def test_status_is_the_same_in_both_spellings() -> None:
    entry = {"componentKind": "Deployment", "componentNames": ["g-w"], "replicas": 1}
    beta = {
        **copy.deepcopy(BETA_GRAPH),
        "status": {"state": "successful", "components": {"W": entry}},
    }
    alpha = to("v1alpha1", beta)
    assert alpha["status"]["services"]["W"] == {**entry, "componentName": "g-w"}
    assert to("v1beta1", alpha) == beta
    component = {**as_component(copy.deepcopy(BETA_GRAPH)), "status": {"component": entry}}
    old = to("v1alpha1", component)
    assert old["status"]["service"]["componentName"] == "g-w"
    assert to("v1beta1", old) == component


def test_only_labels_and_annotations_of_metadata_may_change() -> None:
    away = to("v1beta1", ALPHA_GRAPH)["metadata"]
    assert away.pop("annotations")["mine"] == "yes"
    here = copy.deepcopy(ALPHA_GRAPH["metadata"])
    here.pop("annotations")
    assert away == here


def test_broken_kept_annotation_is_ignored() -> None:
    alpha = copy.deepcopy(ALPHA_GRAPH)
    alpha["metadata"]["annotations"][BETA_KEPT] = "{not json"
    assert to("v1beta1", alpha)["spec"] == to("v1beta1", ALPHA_GRAPH)["spec"]


@pytest.mark.parametrize(
    ("kind", "version"),
    [("DynamoGraphDeployment", "v2"), ("Deployment", "v1beta1"), ("DynamoModel", "v1beta1")],
)
def test_unknown_kind_or_version_is_told(kind: str, version: str) -> None:
    with pytest.raises(ConversionError, match="cannot convert"):
        to(version, {**ALPHA_GRAPH, "kind": kind})


def test_replay_applies_edits_and_nothing_else() -> None:
    original = {"a": {"x": 1, "only": 2}, "b": [1], "c": 3, "gone": 4}
    before = {"a": {"x": 1}, "b": [1], "gone": 4}
    after = {"a": {"x": 9}, "b": [1], "new": 5}
    assert replay(original, before, after) == {"a": {"x": 9, "only": 2}, "b": [1], "c": 3, "new": 5}


@pytest.mark.parametrize("seed", range(60))
def test_random_objects_survive_the_round_trip_and_an_edit(seed: int) -> None:
    dice = random.Random(seed)
    alpha = {**copy.deepcopy(ALPHA_GRAPH), "spec": random_graph(dice)}
    beta = to("v1beta1", alpha)
    assert to("v1alpha1", beta) == alpha
    # The other way round, from a v1beta1 object that was edited there.
    component = dice.choice(beta["spec"]["components"])
    component["replicas"] = 7
    component.pop("multinode", None)
    shown = to("v1alpha1", beta)
    assert shown["spec"]["services"][component["name"]]["replicas"] == 7
    assert to("v1beta1", shown)["spec"] == beta["spec"]


def random_graph(dice: random.Random) -> Object:
    names = dice.sample(["A", "b", "C", "d"], dice.randint(1, 4))
    spec: Object = {"services": {name: random_service(dice) for name in sorted(names)}}
    return {**spec, **some(dice, {"backendFramework": "vllm", "pvcs": [{"name": "p"}]})}


def random_service(dice: random.Random) -> Object:
    choices = some(dice, ALPHA_GRAPH["spec"]["services"]["Prefill"])
    choices |= some(dice, ALPHA_GRAPH["spec"]["services"]["Frontend"])
    if "extraPodSpec" in choices:
        choices["extraPodSpec"] = some(dice, choices["extraPodSpec"])
    return choices


def some(dice: random.Random, source: dict[str, Any]) -> Object:
    return {key: copy.deepcopy(source[key]) for key in source if dice.random() < 0.6}
