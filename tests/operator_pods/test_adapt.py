"""What is changed in an operator's manifests, and what is not."""

import copy
from typing import Any

import pytest

from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall
from conformance.operator.pods.adapt import (
    Adaptation,
    RealNodes,
    fits,
    images,
    own_container,
    pod_template,
    repository,
    tag,
)

from .pods import deployment, ignored_webhook, rbac

NODES = RealNodes()
REAL = {"key": "type", "operator": "NotIn", "values": ["kwok"]}


def adaptation(**changes: Any) -> Adaptation:
    settings = {"namespace": "ops", "deployment": "op", "container": "manager"}
    settings |= {name: changes.pop(name) for name in (*settings, "image_name") if name in changes}
    settings["image"] = settings.pop("image_name", "")
    return Adaptation(settings=ClusterInstall(**settings), **changes)


def spec(manifest: dict[str, Any]) -> dict[str, Any]:
    template = pod_template(manifest)
    assert template is not None
    found: dict[str, Any] = template["spec"]
    return found


def test_without_a_reason_nothing_is_changed() -> None:
    for manifest in (deployment(), *rbac(), ignored_webhook()):
        assert adaptation().apply(manifest) == manifest


def test_rights_stay_as_they_ship() -> None:
    everything = adaptation(
        labels={"a": "b"}, nodes=NODES, image="x:1", arguments=("--x",), ca_bundle="Q0E="
    )
    for manifest in rbac():
        changed = everything.apply(manifest)
        changed["metadata"].pop("labels")
        assert changed == manifest


@pytest.mark.parametrize(
    ("image", "name", "its_tag"),
    [
        ("op", "op", "latest"),
        ("example.com:5000/a/op:1.2", "example.com:5000/a/op", "1.2"),
        ("example.com:5000/a/op", "example.com:5000/a/op", "latest"),
        ("a/op:1@sha256:00", "a/op", "1"),
    ],
)
def test_image_is_taken_apart(image: str, name: str, its_tag: str) -> None:
    assert (repository(image), tag(image)) == (name, its_tag)


def test_image_is_replaced_by_its_name_wherever_it_is_named() -> None:
    manifest = deployment()
    side = {"name": "side", "image": "example.com/proxy:1"}
    spec(manifest)["containers"].append(side)
    spec(manifest)["initContainers"] = [{"name": "apply", "image": "example.com/op@sha256:1"}]
    changed = adaptation(image_name="example.com/op", image="mine/op:2").apply(manifest)
    assert images([changed]) == ["example.com/proxy:1", "mine/op:2"]
    assert spec(changed)["initContainers"][0]["image"] == "mine/op:2"


def test_image_without_a_known_name_is_that_of_the_operators_container() -> None:
    manifest = deployment(image="what/ever:1")
    spec(manifest)["containers"].append({"name": "side", "image": "what/ever:1"})
    changed = adaptation(image="mine/op:2").apply(manifest)
    assert [c["image"] for c in spec(changed)["containers"]] == ["mine/op:2", "what/ever:1"]


def test_loaded_image_is_never_pulled() -> None:
    manifest = deployment(image="op:latest", imagePullPolicy="Always")
    changed = adaptation(loaded="op:latest").apply(manifest)
    assert spec(changed)["containers"][0]["imagePullPolicy"] == "IfNotPresent"


def test_arguments_go_to_the_operators_own_container_only() -> None:
    other = copy.deepcopy(deployment())
    other["metadata"]["name"] = "another"
    change = adaptation(arguments=("--fault=x",))
    assert spec(change.apply(deployment()))["containers"][0]["args"] == ["--a", "--fault=x"]
    assert spec(change.apply(other))["containers"][0]["args"] == ["--a"]


def test_every_pod_is_placed_on_real_nodes() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "j"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}},
    }
    for manifest in (deployment(), job):
        placed = spec(adaptation(nodes=NODES).apply(manifest))
        assert placed["tolerations"] == [
            {"key": NODES.taint, "operator": "Exists", "effect": "NoSchedule"}
        ]
        required = placed["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert required["nodeSelectorTerms"] == [{"matchExpressions": [REAL]}]


def test_own_placement_is_kept_and_each_alternative_is_narrowed() -> None:
    manifest = deployment()
    own = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"matchFields": []}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}}
    spec(manifest)["affinity"] = {"nodeAffinity": required}
    spec(manifest)["tolerations"] = [{"operator": "Exists", "key": "b"}]
    changed = adaptation(nodes=NODES).apply(manifest)
    assert len(spec(changed)["tolerations"]) == 2
    terms = spec(changed)["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert [REAL in term["matchExpressions"] for term in terms] == [True, True]
    template = pod_template(changed)
    assert template is not None
    assert fits(template, NODES)
    assert adaptation(nodes=NODES).apply(changed) == changed


def test_ca_is_added_where_none_is() -> None:
    configuration = ignored_webhook()
    configuration["webhooks"].append(copy.deepcopy(configuration["webhooks"][0]))
    configuration["webhooks"][1]["clientConfig"]["caBundle"] = "b3du"
    configuration["webhooks"].append(copy.deepcopy(configuration["webhooks"][0]))
    configuration["webhooks"][2]["clientConfig"]["caBundle"] = "Cg=="
    changed = adaptation(ca_bundle="Q0E=").apply(configuration)
    bundles = [row["clientConfig"]["caBundle"] for row in changed["webhooks"]]
    assert bundles == ["Q0E=", "b3du", "Q0E="]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"deployment": "no"}, "there is no Deployment no in namespace ops .*there: op$"),
        ({"namespace": "no"}, "there is no Deployment op in namespace no"),
        ({"container": "no"}, "has no container no .*; its containers: manager$"),
    ],
)
def test_missing_deployment_or_container_is_told(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        own_container([deployment()], adaptation(**changes), where="p.yaml")
