"""Nothing is asked, and nothing is done."""

from conformance.suite import (
    Door,
    Expect,
    Feature,
    Method,
    Trial,
    annotate,
    case,
    graphs,
    no_op,
)  # fmt: skip


@case(feature="rest")
def test_idle_deployments(trial: Trial) -> None:
    """A settled graph of Deployments is not written to."""
    trial.deploy(graphs.agg())
    trial.idle()


@case(feature="rest", needs=[Feature.MULTINODE])
def test_idle_groups(trial: Trial) -> None:
    """A settled graph with groups is not written to."""
    trial.deploy(graphs.agg_multinode())
    trial.idle()


@case(feature="rest", needs=[Feature.MULTINODE])
def test_same_graph_applied_again(trial: Trial) -> None:
    """Applying the same graph once more moves no generation and no child."""
    door = Door(method=Method.APPLY, version=trial.version)
    graph = trial.deploy(graphs.agg_multinode(), door=door)
    trial.change(graph, no_op(), door=door)
    trial.expect(Expect.RECONCILE)


@case(feature="rest")
def test_annotation_alone(trial: Trial) -> None:
    """An annotation of the user's own on the graph rolls nothing."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, annotate("example.com/note", "nothing to do"))
    trial.expect(Expect.RECONCILE)
