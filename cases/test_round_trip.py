"""Sequences that come back to where they began."""

from conformance.suite import (
    ApiVersion,
    Door,
    Feature,
    Method,
    Trial,
    add_multinode,
    case,
    graphs,
    remove_multinode,
)  # fmt: skip

WORKER = "VllmDecodeWorker"


@case(feature="round trip", needs=[Feature.MULTINODE], long=True)
def test_add_then_remove_is_as_before(trial: Trial) -> None:
    """A worker that gains and loses multinode again is as if nothing had been."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()


BOTH = [Feature.MULTINODE, Feature.V1ALPHA1, Feature.V1BETA1]


@case(feature="round trip", needs=BOTH, long=True)
def test_through_both_versions(trial: Trial) -> None:
    """What one API version wrote the other toggles, the first toggles back, and nothing else moves."""
    graph = trial.deploy(
        graphs.disagg(), door=Door(method=Method.REPLACE, version=ApiVersion.V1ALPHA1)
    )
    newer = Door(method=Method.REPLACE, version=ApiVersion.V1BETA1)
    trial.change(graph, add_multinode("VllmPrefillWorker"), door=newer)
    trial.expect()
    older = Door(method=Method.JSON_PATCH, version=ApiVersion.V1ALPHA1)
    trial.change(graph, remove_multinode("VllmPrefillWorker"), door=older)
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
