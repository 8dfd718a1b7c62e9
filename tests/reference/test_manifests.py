"""The CRDs and manifests that ship with the reference operator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from reference.objects import COMPONENT, GRAPH
from reference.webhooks import CONVERT_PATH, VALIDATE_PATHS

ROOT = Path(__file__).resolve().parents[2]
CRDS = {
    crd["spec"]["names"]["kind"]: crd
    for file in sorted((ROOT / "fixtures/crds").glob("*.yaml"))
    if (crd := yaml.safe_load(file.read_text()))
}
WEBHOOKS = yaml.safe_load((ROOT / "operators/reference/manifests/webhooks.yaml").read_text())


def version(kind: str, name: str) -> dict[str, Any]:
    (found,) = [entry for entry in CRDS[kind]["spec"]["versions"] if entry["name"] == name]
    return dict(found)


def fields(kind: str, name: str) -> dict[str, Any]:
    schema = version(kind, name)["schema"]["openAPIV3Schema"]
    return dict(schema["properties"]["spec"]["properties"])


def component_schema(name: str) -> dict[str, Any]:
    spec = fields(GRAPH.kind, name)
    if name == "v1alpha1":
        return dict(spec["services"]["additionalProperties"]["properties"])
    return dict(spec["components"]["items"]["properties"])


@pytest.mark.parametrize("kind", [GRAPH, COMPONENT])
def test_both_versions_are_served_and_v1beta1_is_stored(kind: Any) -> None:
    crd = CRDS[kind.kind]
    assert crd["metadata"]["name"] == f"{kind.plural}.{kind.group}"
    served = {entry["name"]: entry["storage"] for entry in crd["spec"]["versions"]}
    assert served == {"v1beta1": True, "v1alpha1": False}
    assert all(entry["subresources"] == {"status": {}} for entry in crd["spec"]["versions"])
    assert crd["spec"]["conversion"]["strategy"] == "Webhook"


@pytest.mark.parametrize("name", ["v1alpha1", "v1beta1"])
def test_component_limits_are_those_of_the_public_api(name: str) -> None:
    component = component_schema(name)
    assert component["replicas"]["minimum"] == 0
    assert component["multinode"]["properties"]["nodeCount"]["minimum"] == 2
    assert component["multinode"]["properties"]["nodeCount"]["default"] == 2
    own = {key for key in fields(COMPONENT.kind, name) if key != "backendFramework"}
    assert own == set(component)


def test_components_are_a_list_map_of_at_most_25() -> None:
    components = fields(GRAPH.kind, "v1beta1")["components"]
    assert components["x-kubernetes-list-map-keys"] == ["name"]
    assert components["maxItems"] == 25
    assert fields(GRAPH.kind, "v1alpha1")["services"]["maxProperties"] == 25


def test_ready_and_age_are_printed() -> None:
    for name in ("v1alpha1", "v1beta1"):
        columns = {c["name"] for c in version(GRAPH.kind, name)["additionalPrinterColumns"]}
        assert {"Ready", "Age"} <= columns


def test_webhooks_and_conversion_name_one_service_and_served_paths() -> None:
    clients = [hook["clientConfig"]["service"] for hook in WEBHOOKS["webhooks"]]
    paths = {client["path"] for client in clients}
    assert paths == set(VALIDATE_PATHS)
    for crd in CRDS.values():
        conversion = crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
        assert conversion["path"] == CONVERT_PATH
        clients.append(conversion)
    assert {(client["namespace"], client["name"]) for client in clients} == {
        ("dgd-reference", "dgd-reference-webhook")
    }


def test_every_write_of_a_spec_is_reviewed_whatever_its_version() -> None:
    for hook in WEBHOOKS["webhooks"]:
        assert hook["matchPolicy"] == "Equivalent"
        assert hook["failurePolicy"] == "Fail"
        assert hook["rules"][0]["operations"] == ["CREATE", "UPDATE"]


def test_profile_of_the_statefulsets_differs_in_the_kind_alone() -> None:
    plain, other = (
        yaml.safe_load((ROOT / f"operators/{name}/profile.yaml").read_text())
        for name in ("reference", "reference-statefulset")
    )
    assert other.pop("single_node") == {"kind": "StatefulSet"}
    other["install"]["command"].remove("--single-node-kind=StatefulSet")
    different = {key for key in plain if plain[key] != other[key]}
    # Its name, and where its files lie.
    assert different == {"identity", "install", "in_cluster", "fault_table"}
    assert other["install"] == {**plain["install"], "webhooks": other["install"]["webhooks"]}


@pytest.mark.parametrize("name", ["reference", "reference-refusing", "reference-statefulset"])
def test_profile_starts_the_operator_that_it_promises(name: str) -> None:
    profile = yaml.safe_load((ROOT / f"operators/{name}/profile.yaml").read_text())
    word = "refuse" if name.endswith("refusing") else "reconcile"
    assert f"--policy={word}" in profile["install"]["command"]
    assert set(profile["promises"].values()) == {word}
    folder = ROOT / "operators" / name
    for entry in [*profile["install"]["crds"], *profile["install"]["webhooks"]]:
        assert (folder / entry).exists(), entry


def test_graphs_that_ship_use_only_fields_of_the_schema() -> None:
    files = list((ROOT / "fixtures").glob("*.yaml"))
    assert files
    for file in files:
        graph = yaml.safe_load(file.read_text())
        if graph.get("kind") != GRAPH.kind:
            continue
        name = graph["apiVersion"].partition("/")[2]
        schema = version(GRAPH.kind, name)["schema"]["openAPIV3Schema"]
        assert list(unknown(graph, schema, file.name)) == []


def unknown(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Paths that the API server would prune."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or path.endswith(".metadata"):
        return
    if isinstance(value, dict):
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties")
        for key, entry in value.items():
            if key in known:
                yield from unknown(entry, known[key], f"{path}.{key}")
            elif rest:
                yield from unknown(entry, rest, f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from unknown(entry, schema.get("items", {}), f"{path}[{index}]")
