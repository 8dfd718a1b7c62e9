"""Objects of others stay as they are."""

from __future__ import annotations

import copy
from typing import Any

from conformance.suite import Expect, Feature, Trial, add_multinode, case, graphs

WORKER = "VllmDecodeWorker"


def _deployment(name: str, labels: dict[str, str]) -> dict[str, Any]:
    selector = {"app.kubernetes.io/name": "somebody-else"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": copy.copy(selector)},
                "spec": {"containers": [{"name": "main", "image": "other:1.0.0"}]},
            },
        },
    }


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
    trial.place_foreign(_deployment(_foreseeable_name(trial), {}))
    trial.deploy(graphs.agg(), judged=True, expect=Expect.BLOCKED)
    trial.expect(Expect.BLOCKED)


@case(feature="foreign objects", needs=[Feature.MULTINODE])
def test_with_lookalike_labels(trial: Trial) -> None:
    """A Deployment with the labels of a child but no owner is neither counted nor touched."""
    graph = trial.deploy(graphs.agg())
    child = trial.learn(graphs.agg(), "Deployment", WORKER)
    trial.place_foreign(_deployment("look-alike", dict(child.labels)))
    trial.change(graph, add_multinode(WORKER))
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
