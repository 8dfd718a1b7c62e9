"""The node count of a multinode service changes."""

import pytest

from conformance.suite import (
    Feature,
    Trial,
    case,
    change_node_count,
    graphs,
    scale,
    together,
)  # fmt: skip

WORKER = "VllmDecodeWorker"


@case(feature="node count", needs=[Feature.MULTINODE])
@pytest.mark.parametrize(("start", "to"), [(2, 3), (3, 2)], ids=["2-to-3", "3-to-2"])
def test_groups_follow(trial: Trial, start: int, to: int) -> None:
    """Every group has the new number of pods and no old group is left, or the change is refused."""
    graph = graphs.agg_multinode()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(node_count=start)))
    trial.change(graph, change_node_count(WORKER, to=to))
    trial.expect()


@case(feature="node count", needs=[Feature.MULTINODE], long=True)
def test_there_and_back(trial: Trial) -> None:
    """Two nodes, four, and two again: each time just the groups that the graph asks for."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.change(graph, change_node_count(WORKER, to=4))
    trial.expect()
    trial.change(graph, change_node_count(WORKER, to=2))
    trial.expect()


@case(feature="node count", needs=[Feature.MULTINODE], long=True)
def test_two_replicas(trial: Trial) -> None:
    """Both groups of a service with two replicas follow a change of the node count."""
    graph = graphs.agg_multinode()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(replicas=2)))
    trial.change(graph, change_node_count(WORKER, to=3))
    trial.expect()


@case(feature="node count", needs=[Feature.MULTINODE])
def test_together_with_replicas(trial: Trial) -> None:
    """More nodes and more replicas in one request: just the groups that the graph now asks for."""
    graph = trial.deploy(graphs.agg_multinode())
    both = together("nodes-and-replicas", change_node_count(WORKER, to=3), scale(WORKER, to=2))
    trial.change(graph, both)
    trial.expect()
