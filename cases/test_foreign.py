"""Objects of others stay as they are."""

from collections.abc import Mapping
from typing import Any

from conformance.suite import (
    Expect,
    Feature,
    Gang,
    Trial,
    add_multinode,
    case,
    graphs,
    remove_multinode,
)  # fmt: skip

WORKER = "VllmDecodeWorker"
OTHERS = {"app.kubernetes.io/name": "somebody-else"}
TEMPLATE = {
    "metadata": {"labels": OTHERS},
    "spec": {"containers": [{"name": "main", "image": "other:1.0.0"}]},
}
SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "Deployment": (
        "apps/v1",
        {"replicas": 1, "selector": {"matchLabels": OTHERS}, "template": TEMPLATE},
    ),
    "LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 1, "workerTemplate": TEMPLATE}},
    ),
    "PodGroup": ("scheduling.volcano.sh/v1beta1", {"minMember": 1}),
    "Service": ("v1", {"selector": OTHERS, "ports": [{"port": 80}]}),
}


def _foreign(kind: str, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    version, spec = SPECS[kind]
    metadata = {"name": name, "labels": dict(labels)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _kinds_of_groups(trial: Trial) -> list[str]:
    """What this operator makes for a multinode service and for no other, of the kinds that can be
    made here."""
    multinode = trial.profile.multinode
    kinds = ["LeaderWorkerSet"]
    if multinode.gang is Gang.PER_GROUP and multinode.gang_kind in SPECS:
        kinds.append(multinode.gang_kind)
    return kinds


def _foreseeable_name(trial: Trial) -> str:
    """The name of a child that this operator will make in this namespace, too: the worker's, unless
    it has more in it than graph and service, such as a hash, which may cover the namespace."""
    graph = graphs.agg()
    services = sorted((s.name for s in graph.services), key=lambda name: name != WORKER)
    names = {name: trial.learn(graph, "Deployment", name).name for name in services}
    plain = (child for name, child in names.items() if child == f"{graph.name}-{name.lower()}")
    return next(plain, names[WORKER])


@case(feature="foreign objects")
def test_under_a_childs_name(trial: Trial) -> None:
    """An object of somebody else under a child's name is left alone, and the graph says so."""
    trial.place_foreign(_foreign("Deployment", _foreseeable_name(trial), {}))
    trial.deploy(graphs.agg(), judged=True, expect=Expect.BLOCKED)
    trial.expect(Expect.BLOCKED)


@case(feature="foreign objects", needs=[Feature.MULTINODE])
def test_under_the_names_of_groups_and_services(trial: Trial) -> None:
    """Groups, gang objects and Services of somebody else under children's names are left alone, and
    the graph says so."""
    graph = graphs.two_workers()
    for service in ("WorkerA", "WorkerB"):
        graph = add_multinode(service).apply(graph)
    taken = dict(zip(_kinds_of_groups(trial), ("WorkerA", "WorkerB"), strict=False))
    if trial.makes(graph, "Service", "Frontend"):
        taken["Service"] = "Frontend"
    for kind, service in taken.items():
        trial.place_foreign(_foreign(kind, trial.learn(graph, kind, service).name, {}))
    trial.deploy(graph, judged=True, expect=Expect.BLOCKED)
    trial.expect(Expect.BLOCKED)


@case(feature="foreign objects", needs=[Feature.MULTINODE])
def test_with_lookalike_labels(trial: Trial) -> None:
    """A Deployment with the labels of a child but no owner is neither counted nor touched."""
    graph = trial.deploy(graphs.agg())
    child = trial.child(graph, "Deployment", WORKER)
    trial.place_foreign(_foreign("Deployment", "look-alike", child.labels))
    trial.change(graph, add_multinode(WORKER))
    trial.expect()


@case(feature="foreign objects", needs=[Feature.MULTINODE], long=True)
def test_lookalikes_outlive_a_removal(trial: Trial) -> None:
    """Groups and gang objects with the labels of children but no owner are neither touched when
    multinode is removed nor when the graph is deleted."""
    graph = trial.deploy(graphs.agg_multinode())
    for kind in _kinds_of_groups(trial):
        labels = trial.child(graph, kind, WORKER).labels
        trial.place_foreign(_foreign(kind, f"look-alike-{kind.lower()}", labels))
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()
    trial.delete(graph)
    trial.expect()


@case(feature="foreign objects", needs=[Feature.MULTINODE])
def test_sibling_graph_with_a_common_prefix(trial: Trial) -> None:
    """A change of one graph leaves another, whose name starts alike, as it is."""
    graph = trial.deploy(graphs.agg().replace(name="pair"), wait=False)
    trial.deploy(graphs.agg().replace(name="pair-frontend"))
    trial.change(graph, add_multinode(WORKER))
    trial.expect()


@case(feature="foreign objects")
def test_deletion_beside_a_sibling(trial: Trial) -> None:
    """Deleting one graph leaves another, whose name starts alike, as it is."""
    graph = trial.deploy(graphs.agg().replace(name="pair"), wait=False)
    trial.deploy(graphs.agg().replace(name="pair-frontend"))
    trial.delete(graph)
    trial.expect()
