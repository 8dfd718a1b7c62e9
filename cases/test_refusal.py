"""What was refused stays undone."""

from conformance.suite import Feature, Trial, add_multinode, case, graphs, scale

WORKER = "VllmDecodeWorker"


@case(feature="refusal", needs=[Feature.MULTINODE], long=True)
def test_not_done_with_the_next_change(trial: Trial) -> None:
    """A toggle that was refused is not carried out with the next change that is accepted."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.change(graph, scale("Frontend", to=2))
    trial.expect()
