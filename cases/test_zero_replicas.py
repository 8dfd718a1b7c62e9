"""Services without pods."""

from conformance.suite import Feature, Trial, add_multinode, case, graphs, remove_multinode, scale

WORKER = "VllmDecodeWorker"


@case(feature="zero replicas", needs=[Feature.MULTINODE], long=True)
def test_add_at_zero_then_scale_up(trial: Trial) -> None:
    """Multinode added while there are no pods shows when pods come: groups, and nothing else."""
    graph = graphs.agg()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(replicas=0)))
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.change(graph, scale(WORKER, to=1))
    trial.expect()


@case(feature="zero replicas", needs=[Feature.MULTINODE], long=True)
def test_remove_at_zero_then_scale_up(trial: Trial) -> None:
    """Multinode removed while there are no pods shows when pods come: one Deployment alone."""
    graph = graphs.agg_multinode()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(replicas=0)))
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()
    trial.change(graph, scale(WORKER, to=1))
    trial.expect()


@case(feature="zero replicas", needs=[Feature.MULTINODE], long=True)
def test_multinode_to_zero_and_back(trial: Trial) -> None:
    """A multinode worker scaled to zero has no pods, and comes back whole."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.change(graph, scale(WORKER, to=0))
    trial.expect()
    trial.change(graph, scale(WORKER, to=1))
    trial.expect()
