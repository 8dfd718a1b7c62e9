from collections.abc import Callable

import pytest

from conformance.driver import graphs
from conformance.model.errors import UsageError
from conformance.model.graph import ApiVersion, Graph, Role


def test_an_unknown_fixture_is_told_in_a_sentence_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        graphs.load("vllm-agg-multi")
    assert str(caught.value) == (
        "there is no fixture vllm-agg-multi.v1beta1.yaml; the graphs are "
        "vllm-agg, vllm-agg-multinode, vllm-disagg, vllm-two-workers"
    )


@pytest.mark.parametrize(
    "name", ["vllm-agg", "vllm-agg-multinode", "vllm-disagg", "vllm-two-workers"]
)
def test_both_versions_of_a_fixture_mean_one_graph(name: str) -> None:
    assert graphs.load(name, ApiVersion.V1ALPHA1) == graphs.load(name, ApiVersion.V1BETA1)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (graphs.agg, [1, 1]),
        (graphs.agg_multinode, [1, 2]),
        (graphs.disagg, [1, 1, 1]),
        (graphs.two_workers, [1, 1, 1]),
    ],
)
def test_the_shipped_graphs_have_the_shapes_that_their_names_say(
    make: Callable[[], Graph], sizes: list[int]
) -> None:
    graph = make()
    assert sorted(service.size for service in graph.services) == sizes
    assert sum(service.role is Role.FRONTEND for service in graph.services) == 1


def test_the_disaggregated_graph_has_a_prefill_and_a_decode_worker() -> None:
    roles = {service.role for service in graphs.disagg().services}
    assert roles == {Role.FRONTEND, Role.PREFILL, Role.DECODE}
