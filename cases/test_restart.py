"""The operator goes away and comes back. These cases have a control plane of their own."""

from conformance.suite import Feature, Trial, add_multinode, case, graphs, remove_multinode

WORKER = "VllmDecodeWorker"
NEEDS = [Feature.MULTINODE, Feature.RESTART]


@case(feature="restart", needs=NEEDS, disruptive=True)
def test_between_two_steps(trial: Trial) -> None:
    """An operator restarted between adding and removing multinode ends as one that was not."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.restart_operator()
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()


@case(feature="restart", needs=NEEDS, disruptive=True)
def test_killed_right_after_the_change(trial: Trial) -> None:
    """An operator killed right after multinode was added to one graph and removed from another
    finishes both when it is back."""
    gains = trial.deploy(graphs.agg(), wait=False)
    loses = trial.deploy(graphs.agg_multinode().replace(name="vllm-agg-multinode"))
    trial.change(gains, add_multinode(WORKER))
    trial.change(loses, remove_multinode(WORKER))
    trial.restart_operator(kill=True)
    trial.expect()


@case(feature="restart", needs=NEEDS, disruptive=True)
def test_at_rest(trial: Trial) -> None:
    """A restart alone changes nothing: no child is written to, no pod is replaced."""
    trial.deploy(graphs.agg_multinode())
    trial.restart_operator()
    trial.expect()


@case(feature="restart", needs=NEEDS, disruptive=True)
def test_at_rest_after_a_toggle(trial: Trial) -> None:
    """A restart after a toggle brings nothing of the old shape back."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER))
    trial.expect()
    trial.restart_operator()
    trial.expect()


@case(feature="restart", needs=NEEDS, disruptive=True)
def test_deleted_while_it_was_down(trial: Trial) -> None:
    """Nothing stays of a graph that was deleted while the operator was down, once it is back."""
    graph = trial.deploy(graphs.agg_multinode())
    with trial.operator_down(kill=True):
        trial.delete(graph)
    trial.expect()
