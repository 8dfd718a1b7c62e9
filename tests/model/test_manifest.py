import pytest

from conformance.driver import graphs
from conformance.model.errors import UsageError
from conformance.model.graph import ApiVersion, Role
from conformance.model.manifest import component_manifest, manifest, parse

NAMES = ["vllm-agg", "vllm-agg-multinode", "vllm-disagg", "vllm-two-workers"]


@pytest.mark.parametrize("name", NAMES)
def test_both_versions_of_a_fixture_mean_one_graph(name: str) -> None:
    alpha = graphs.load(name, ApiVersion.V1ALPHA1)
    assert alpha == graphs.load(name, ApiVersion.V1BETA1)
    assert any(service.gpus == 1 for service in alpha.services)


@pytest.mark.parametrize("version", list(ApiVersion))
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_survives_being_written_and_read(name: str, version: ApiVersion) -> None:
    graph = graphs.load(name)
    assert parse(manifest(graph, version=version)) == graph


def test_a_prefill_worker_is_a_sub_type_in_v1alpha1_and_a_type_in_v1beta1() -> None:
    graph = graphs.disagg()
    alpha = manifest(graph, version=ApiVersion.V1ALPHA1)["spec"]["services"]["VllmPrefillWorker"]
    assert (alpha["componentType"], alpha["subComponentType"]) == ("worker", "prefill")
    beta = manifest(graph, version=ApiVersion.V1BETA1)["spec"]["components"][1]
    assert (beta["name"], beta["type"]) == ("VllmPrefillWorker", "prefill")
    assert graph.service("VllmPrefillWorker").role is Role.PREFILL


def test_empty_multinode_means_the_default_of_two_nodes() -> None:
    document = manifest(graphs.agg(), version=ApiVersion.V1ALPHA1)
    document["spec"]["services"]["VllmDecodeWorker"]["multinode"] = {}
    assert parse(document).service("VllmDecodeWorker").size == 2


def test_equal_content_under_another_name_has_one_fingerprint() -> None:
    graph = graphs.agg()
    assert graph.replace(name="other").fingerprint() == graph.fingerprint()
    assert graphs.agg_multinode().fingerprint() != graph.fingerprint()


def test_a_bare_component_names_its_service_in_each_version() -> None:
    worker = graphs.agg().service("VllmDecodeWorker")
    alpha = component_manifest(worker, name="w", version=ApiVersion.V1ALPHA1, namespace="ns")
    beta = component_manifest(worker, name="w", version=ApiVersion.V1BETA1, namespace="ns")
    assert alpha["spec"]["serviceName"] == beta["spec"]["name"] == "VllmDecodeWorker"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, "found kind 'Deployment'"),
        ({"kind": "DynamoGraphDeployment", "apiVersion": "nvidia.com/v9"}, "'v9' is not one of"),
        ({}, "expected a DynamoGraphDeployment"),
    ],
)
def test_a_document_that_is_no_graph_is_told_in_a_sentence(
    document: dict[str, str], told: str
) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        parse(document, source="mine.yaml")
    assert str(caught.value).startswith("mine.yaml: ")
