"""Components (DCD): the operator's own objects below a graph, or a user's without one."""

import time

from conformance.suite import (
    Feature,
    Graph,
    Transition,
    Trial,
    add_multinode,
    case,
    graphs,
    remove_multinode,
)  # fmt: skip

WORKER = "VllmDecodeWorker"
NEEDS = [Feature.MULTINODE, Feature.COMPONENT]
BARE = [*NEEDS, Feature.BARE_COMPONENT]


def _race(trial: Trial, graph: Graph, transition: Transition, *, node_count: int | None) -> None:
    """Edit the component of many graphs, each touched 0-500 ms before or after in turn: which of the
    operator's controllers comes first decides what is left over."""
    tries = trial.bounds.race_tries
    deployed = [
        trial.deploy(graph.replace(name=f"try-{n}"), wait=False) for n in range(1, tries + 1)
    ]
    trial.arranged()
    for n, one in enumerate(deployed):
        lean = 0.5 * (n // 2) / max(tries // 2 - 1, 1)
        if n % 2:
            trial.touch(one, f"before-{lean:.2f}")
            time.sleep(lean)
        trial.change_component(one, transition, node_count=node_count, race=True)
        if not n % 2:
            time.sleep(lean)
            trial.touch(one, f"after-{lean:.2f}")
    trial.expect()


@case(feature="component", needs=NEEDS, race=True, long=True)
def test_multinode_set_below_a_graph(trial: Trial) -> None:
    """Multinode set on a graph's component is refused or undone, and leaves nothing behind."""
    _race(trial, graphs.agg(), add_multinode(WORKER), node_count=2)


@case(feature="component", needs=NEEDS, race=True, long=True)
def test_multinode_taken_below_a_graph(trial: Trial) -> None:
    """Multinode taken from a graph's component is refused or undone, and leaves nothing behind."""
    _race(trial, graphs.agg_multinode(), remove_multinode(WORKER), node_count=None)


@case(feature="component", needs=BARE)
def test_bare_component_gains_multinode(trial: Trial) -> None:
    """A component without a graph that gains multinode is groups alone, or the change is refused."""
    component = trial.deploy_component(graphs.agg().service(WORKER), name="bare-worker")
    trial.change_component(component, add_multinode(WORKER), node_count=2)
    trial.expect()


@case(feature="component", needs=BARE)
def test_bare_component_loses_multinode(trial: Trial) -> None:
    """A component without a graph that loses multinode is a Deployment alone, or it is refused."""
    worker = graphs.agg_multinode().service(WORKER)
    component = trial.deploy_component(worker, name="bare-worker")
    trial.change_component(component, remove_multinode(WORKER), node_count=None)
    trial.expect()
