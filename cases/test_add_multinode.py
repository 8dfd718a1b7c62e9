"""`multinode` is added to a running service."""

from conformance.suite import (
    DOORS,
    Door,
    Feature,
    Service,
    Trial,
    add_multinode,
    case,
    every_door,
    graphs,
    scale,
    together,
)  # fmt: skip

WORKER = "VllmDecodeWorker"


@case(feature="add multinode", needs=[Feature.MULTINODE])
@every_door()
def test_worker_becomes_an_lws(trial: Trial, door: Door) -> None:
    """A worker that gains multinode is LeaderWorkerSets alone, or the change is refused whole."""
    graph = trial.deploy(graphs.agg(), door=door)
    trial.change(graph, add_multinode(WORKER), door=door)
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_one_of_two_workers(trial: Trial) -> None:
    """Only the worker that gains multinode changes; its sibling keeps its pods."""
    graph = trial.deploy(graphs.two_workers())
    trial.change(graph, add_multinode("WorkerA"))
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_two_replicas(trial: Trial) -> None:
    """A worker with two replicas that gains multinode is two groups, each of the node count."""
    graph = graphs.agg()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(replicas=2)))
    trial.change(graph, add_multinode(WORKER))
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_three_nodes(trial: Trial) -> None:
    """A worker that gains multinode over three nodes has groups of three pods."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, add_multinode(WORKER, node_count=3))
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_prefill_worker(trial: Trial) -> None:
    """A prefill worker that gains multinode is groups alone; the decode worker keeps its pods."""
    graph = trial.deploy(graphs.disagg())
    trial.change(graph, add_multinode("VllmPrefillWorker"))
    trial.expect()


def _with_all_that_a_user_may_write(service: Service) -> Service:
    mount = {"name": "shared", "mountPath": "/shared"}
    optional = {"secretRef": {"name": "hf-token", "optional": True}}
    return service.replace(
        container={**service.container, "volumeMounts": [mount], "envFrom": [optional]},
        pod={
            "initContainers": [{"name": "fetch", "image": "fetch:1.0.0", "volumeMounts": [mount]}],
            "containers": [{"name": "sidecar", "image": "sidecar:1.0.0", "volumeMounts": [mount]}],
            "volumes": [{"name": "shared", "emptyDir": {}}],
            "serviceAccountName": "default",
            "tolerations": [{"key": "example.com/gpu", "operator": "Exists"}],
        },
        pod_labels={"example.com/team": "serving"},
        pod_annotations={"example.com/note": "keep me"},
    )


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_all_that_a_user_wrote_stays(trial: Trial) -> None:
    """Sidecar, init container, volumes, mounts, service account, labels and annotations of a worker
    that gains multinode are on its groups, as is its working directory."""
    graph = graphs.agg()
    rich = _with_all_that_a_user_may_write(graph.service(WORKER))
    graph = trial.deploy(graph.with_service(rich))
    trial.change(graph, add_multinode(WORKER))
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE])
def test_together_with_replicas(trial: Trial) -> None:
    """More replicas together with multinode in one request: two groups of two, nothing else."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, together("add-and-scale", add_multinode(WORKER), scale(WORKER, to=2)))
    trial.expect()


@case(feature="add multinode", needs=[Feature.MULTINODE], long=True)
def test_every_door_answers_alike(trial: Trial) -> None:
    """What one door refuses every door refuses, and what one takes every door takes."""
    doors = [door for door in DOORS if door.version in trial.profile.versions]
    deployed = [
        (trial.deploy(graphs.agg().replace(name=f"door-{n}"), door=door, wait=False), door)
        for n, door in enumerate(doors)
    ]
    trial.arranged()
    for graph, door in deployed:
        trial.change(graph, add_multinode(WORKER), door=door)
    trial.expect()
