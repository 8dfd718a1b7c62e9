"""Sequences that come back to where they began."""

from __future__ import annotations

from conformance.suite import Feature, Trial, add_multinode, case, graphs, remove_multinode

WORKER = "VllmDecodeWorker"


@case(feature="round trip", needs=[Feature.MULTINODE], long=True)
def test_add_then_remove_is_as_before(trial: Trial) -> None:
    """A worker that gains and loses multinode again is as if nothing had been."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()


@case(feature="round trip", needs=[Feature.MULTINODE], long=True)
def test_add_remove_add(trial: Trial) -> None:
    """The second time multinode is added ends as the first."""
    graph = trial.deploy(graphs.agg())
    for transition in (add_multinode(WORKER), remove_multinode(WORKER), add_multinode(WORKER)):
        trial.change(graph, transition)
        trial.expect()


@case(feature="round trip", needs=[Feature.MULTINODE], long=True)
def test_add_remove_add_quickly(trial: Trial) -> None:
    """Three changes in one breath end in the last one's state, with nothing left of the others."""
    graph = trial.deploy(graphs.agg())
    for transition in (add_multinode(WORKER), remove_multinode(WORKER), add_multinode(WORKER)):
        trial.change(graph, transition)
    trial.expect()


@case(feature="round trip", needs=[Feature.MULTINODE], long=True)
def test_remove_add_remove(trial: Trial) -> None:
    """A graph that began with groups loses, gains and loses them, each time to the last one."""
    graph = trial.deploy(graphs.agg_multinode())
    for transition in (remove_multinode(WORKER), add_multinode(WORKER), remove_multinode(WORKER)):
        trial.change(graph, transition)
        trial.expect()
