"""Changes beside a service of the other shape, and image changes on both shapes."""

from conformance.suite import Feature, Trial, add_multinode, case, graphs, scale, set_image

WORKER = "VllmDecodeWorker"
NEW_IMAGE = "vllm-runtime:1.1.0"


@case(feature="siblings", needs=[Feature.MULTINODE])
def test_scale_beside_a_multinode_service(trial: Trial) -> None:
    """A scale of the frontend leaves the multinode worker's pods as they are."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.change(graph, scale("Frontend", to=2))
    trial.expect()


@case(feature="siblings", needs=[Feature.MULTINODE])
def test_add_beside_a_multinode_service(trial: Trial) -> None:
    """One worker gains multinode beside another that has it; the other's pods stay."""
    graph = graphs.two_workers()
    graph = trial.deploy(graph.with_service(graph.service("WorkerB").replace(node_count=2)))
    trial.change(graph, add_multinode("WorkerA"))
    trial.expect()


@case(feature="image")
def test_image_of_a_deployment(trial: Trial) -> None:
    """A new image reaches every pod of a single-node worker, and its old generation goes."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, set_image(WORKER, NEW_IMAGE))
    trial.expect()


@case(feature="image", needs=[Feature.MULTINODE])
def test_image_of_a_multinode_worker(trial: Trial) -> None:
    """A new image reaches every pod of every group, and no old group stays."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.change(graph, set_image(WORKER, NEW_IMAGE))
    trial.expect()
