"""Replicas change on both shapes."""

import pytest

from conformance.suite import Feature, Graph, Trial, case, graphs, scale

WORKER = "VllmDecodeWorker"


def _with_replicas(graph: Graph, replicas: int) -> Graph:
    return graph.with_service(graph.service(WORKER).replace(replicas=replicas))


@case(feature="replicas")
@pytest.mark.parametrize(("start", "to"), [(1, 3), (3, 1)], ids=["1-to-3", "3-to-1"])
def test_deployment(trial: Trial, start: int, to: int) -> None:
    """A single-node worker has as many pods as replicas; surviving pods are not replaced."""
    graph = trial.deploy(_with_replicas(graphs.agg(), start))
    trial.change(graph, scale(WORKER, to=to))
    trial.expect()


@case(feature="replicas", needs=[Feature.MULTINODE])
@pytest.mark.parametrize(("start", "to"), [(1, 2), (3, 1)], ids=["1-to-2", "3-to-1"])
def test_groups(trial: Trial, start: int, to: int) -> None:
    """A multinode worker has as many groups as replicas; nothing of a removed group stays."""
    graph = trial.deploy(_with_replicas(graphs.agg_multinode(), start))
    trial.change(graph, scale(WORKER, to=to))
    trial.expect()
