"""What the live API shows must be declared, and what is declared must be there."""

from typing import Any

import pytest

from conformance.model.errors import UsageError
from conformance.model.features import Feature
from conformance.model.profile import Profile
from conformance.operator.probes import check_features

from .fakes import ApiOnFake, FakeServer, component_crd, graph_crd

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL = ("v1alpha1", "v1beta1")


def probed(server: FakeServer, *crds: dict[str, Any], **fields: Any) -> dict[Feature, bool]:
    """Feature → found."""
    for crd in crds:
        server.objects[f"{CRDS}/{crd['metadata']['name']}"] = crd
    profile = Profile.model_validate(
        {"identity": {"name": "x"}, "install": {"command": ["run"]}, **fields}
    )
    api = ApiOnFake(server)
    return {probe.feature: probe.found for probe in check_features(api, profile, where="p.yaml")}


def test_multinode_may_not_be_left_out_where_the_graph_has_the_field(server: FakeServer) -> None:
    with pytest.raises(UsageError) as caught:
        probed(server, graph_crd("v1alpha1"), features=["restart"])
    assert str(caught.value) == (
        "p.yaml: `features` does not list multinode, but the graph's CRD has the field `multinode`, "
        "and LeaderWorkerSet is served"
    )


def test_a_kind_of_workload_or_gang_that_is_not_served_does_not_hide_the_field(
    server: FakeServer,
) -> None:
    multinode = {"kind": "DisaggregatedSet", "gang": "per-group", "gang_kind": "Nothing"}
    with pytest.raises(UsageError, match="does not list multinode"):
        probed(server, graph_crd("v1alpha1"), features=["restart"], multinode=multinode)


def test_a_graph_without_the_field_need_not_declare_it(server: FakeServer) -> None:
    found = probed(server, graph_crd("v1alpha1", multinode=False), features=["restart"])
    assert found[Feature.MULTINODE] is False


def test_a_component_in_any_version_is_a_door_that_must_be_declared(server: FakeServer) -> None:
    crds = graph_crd(*ALL), component_crd("v1beta1")
    with pytest.raises(UsageError, match=r"does not list component, but .* in v1beta1"):
        probed(server, *crds, versions=ALL, features=["multinode"])


def test_components_are_written_in_the_first_version_and_must_be_served_there(
    server: FakeServer,
) -> None:
    crds = graph_crd(*ALL), component_crd("v1beta1")
    declared = ["multinode", "component"]
    with pytest.raises(UsageError, match="no DynamoComponentDeployment in v1alpha1, which"):
        probed(server, *crds, versions=ALL, features=declared)
    assert probed(server, versions=ALL[::-1], features=declared)[Feature.COMPONENT]


def test_no_component_at_all_need_not_be_declared(server: FakeServer) -> None:
    found = probed(server, graph_crd("v1alpha1"), features=["multinode"])
    assert found[Feature.COMPONENT] is False
