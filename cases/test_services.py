"""Services are added, removed and renamed."""

from conformance.suite import (
    Feature,
    Trial,
    add_service,
    case,
    graphs,
    remove_service,
    rename_service,
)  # fmt: skip


@case(feature="services")
def test_added(trial: Trial) -> None:
    """A service added to a running graph is deployed; the others keep their pods."""
    graph = trial.deploy(graphs.two_workers().without_service("WorkerB"))
    trial.change(graph, add_service(graphs.two_workers().service("WorkerB")))
    trial.expect()


@case(feature="services", needs=[Feature.MULTINODE])
def test_added_as_multinode(trial: Trial) -> None:
    """A multinode service added to a running graph becomes groups; the others keep their pods."""
    graph = trial.deploy(graphs.two_workers().without_service("WorkerB"))
    worker = graphs.two_workers().service("WorkerB").replace(node_count=2)
    trial.change(graph, add_service(worker))
    trial.expect()


@case(feature="services")
def test_removed(trial: Trial) -> None:
    """Nothing of a removed service stays, neither workload nor Service nor status entry."""
    graph = trial.deploy(graphs.two_workers())
    trial.change(graph, remove_service("WorkerB"))
    trial.expect()


@case(feature="services", needs=[Feature.MULTINODE])
def test_removed_multinode(trial: Trial) -> None:
    """Nothing of a removed multinode service stays, gang objects and worker sets included."""
    graph = graphs.two_workers()
    graph = trial.deploy(graph.with_service(graph.service("WorkerB").replace(node_count=2)))
    trial.change(graph, remove_service("WorkerB"))
    trial.expect()


@case(feature="services")
def test_renamed(trial: Trial) -> None:
    """A renamed service runs under its new name alone."""
    graph = trial.deploy(graphs.two_workers())
    trial.change(graph, rename_service("WorkerB", "WorkerC"))
    trial.expect()


@case(feature="services", needs=[Feature.MULTINODE], long=True)
def test_removed_and_added_again_in_the_other_shape(trial: Trial) -> None:
    """A service removed and added again in the other shape is that shape alone."""
    graph = trial.deploy(graphs.two_workers())
    trial.change(graph, remove_service("WorkerB"))
    trial.expect()
    trial.change(graph, add_service(graph.service("WorkerB").replace(node_count=2)))
    trial.expect()
