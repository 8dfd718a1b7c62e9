"""Targets that cannot be reached end in the truth, not in a mess."""

from conformance.suite import (
    Expect,
    Feature,
    Trial,
    add_multinode,
    case,
    graphs,
    remove_multinode,
)  # fmt: skip

WORKER = "VllmDecodeWorker"


@case(feature="unreachable", needs=[Feature.MULTINODE])
def test_multinode_without_gpus(trial: Trial) -> None:
    """A worker without a GPU limit that gains multinode: refused, or the old workload keeps serving."""
    graph = graphs.agg()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(gpus=None)))
    trial.change(graph, add_multinode(WORKER))
    trial.expect(Expect.BLOCKED)


@case(feature="unreachable", needs=[Feature.MULTINODE])
def test_taken_back(trial: Trial) -> None:
    """A worker that could not become groups, and is taken back, is one Deployment again, and Ready."""
    graph = graphs.agg()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(gpus=None)))
    trial.change(graph, add_multinode(WORKER))
    trial.expect(Expect.BLOCKED)
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()


@case(feature="unreachable", needs=[Feature.MULTINODE])
def test_multinode_without_a_command(trial: Trial) -> None:
    """A worker without a command that gains multinode: refused, or the old workload keeps serving."""
    graph = graphs.agg()
    worker = graph.service(WORKER)
    bare = {key: v for key, v in worker.container.items() if key not in ("command", "args")}
    graph = trial.deploy(graph.with_service(worker.replace(container=bare)))
    trial.change(graph, add_multinode(WORKER))
    trial.expect(Expect.BLOCKED)


# At most one pod of this kind on a node, so that a group needs as many nodes as it has pods.
SPREAD = {"example.com/spread": "one-a-node"}
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": SPREAD},
                }
            ]
        }
    }
}


@case(feature="unreachable", needs=[Feature.MULTINODE])
def test_more_nodes_than_exist(trial: Trial) -> None:
    """A group that the cluster has no room for is told as not Ready, with a reason, and rests."""
    graph = graphs.agg_multinode()
    worker = graph.service(WORKER).replace(node_count=12, pod=APART, pod_labels=SPREAD)
    trial.deploy(graph.with_service(worker), judged=True, expect=Expect.BLOCKED)
    trial.expect(Expect.BLOCKED)
