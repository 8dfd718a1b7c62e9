"""Graphs are deleted."""

import pytest

from conformance.suite import Feature, Trial, add_multinode, case, graphs, remove_multinode

WORKER = "VllmDecodeWorker"


@case(feature="delete")
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_single_node_graph(trial: Trial, propagation: str) -> None:
    """After the graph is deleted nothing of it is left, and nothing comes back."""
    graph = trial.deploy(graphs.agg())
    trial.delete(graph, propagation=propagation)
    trial.expect()


@case(feature="delete", needs=[Feature.MULTINODE])
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_multinode_graph(trial: Trial, propagation: str) -> None:
    """After a graph with groups is deleted nothing of it is left, gang objects included."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.delete(graph, propagation=propagation)
    trial.expect()


@case(feature="delete", needs=[Feature.MULTINODE])
def test_amid_a_transition(trial: Trial) -> None:
    """A graph deleted right after multinode was added leaves nothing of either shape."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.delete(graph)
    trial.expect()


@case(feature="delete", needs=[Feature.MULTINODE], long=True)
def test_after_a_toggle(trial: Trial) -> None:
    """Graphs that gained or lost multinode and came to rest leave nothing when they are deleted."""
    gains = trial.deploy(graphs.agg(), wait=False)
    loses = trial.deploy(graphs.agg_multinode().replace(name="vllm-agg-multinode"))
    trial.change(gains, add_multinode(WORKER))
    trial.change(loses, remove_multinode(WORKER))
    trial.expect()
    trial.delete(gains)
    trial.delete(loses)
    trial.expect()


@case(feature="delete", needs=[Feature.MULTINODE])
def test_made_again_in_the_other_shape(trial: Trial) -> None:
    """A graph made again under the name of a deleted one, in the other shape, is that shape alone."""
    graph = trial.deploy(graphs.agg())
    trial.delete(graph)
    trial.wait_gone(graph)
    trial.deploy(graphs.agg_multinode(), judged=True)
    trial.expect()
