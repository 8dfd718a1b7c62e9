"""A toggle together with other changes in one request."""

import dataclasses
from typing import Any

from conformance.suite import (
    ChangeKind,
    Expect,
    Feature,
    Transition,
    Trial,
    add_multinode,
    case,
    graphs,
    remove_multinode,
    rename_service,
    scale,
    set_image,
    together,
)  # fmt: skip

WORKER = "VllmDecodeWorker"
NEW_IMAGE = "vllm-runtime:1.1.0"


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_add_with_image(trial: Trial) -> None:
    """Multinode and a new image in one request: groups with the new image, or nothing at all."""
    graph = trial.deploy(graphs.agg())
    trial.change(
        graph, together("add-and-image", add_multinode(WORKER), set_image(WORKER, NEW_IMAGE))
    )
    trial.expect()


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_remove_with_image(trial: Trial) -> None:
    """Multinode removed and a new image in one request: a Deployment with it, or nothing at all."""
    graph = trial.deploy(graphs.agg_multinode())
    trial.change(
        graph, together("remove-and-image", remove_multinode(WORKER), set_image(WORKER, NEW_IMAGE))
    )
    trial.expect()


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_add_with_another_service(trial: Trial) -> None:
    """A toggle of the worker and a scale of the frontend in one request are done or refused whole."""
    graph = trial.deploy(graphs.agg())
    trial.change(graph, together("add-and-scale", add_multinode(WORKER), scale("Frontend", to=2)))
    trial.expect()


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_two_workers_swap_shapes(trial: Trial) -> None:
    """Prefill loses multinode and decode gains it in one request: each is its new shape alone."""
    graph = add_multinode("VllmPrefillWorker").apply(graphs.disagg())
    graph = trial.deploy(graph)
    swap = together("swap", remove_multinode("VllmPrefillWorker"), add_multinode(WORKER))
    trial.change(graph, swap)
    trial.expect()


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_add_with_another_name(trial: Trial) -> None:
    """A service renamed and given multinode in one request is groups under its new name alone."""
    graph = trial.deploy(graphs.two_workers())
    renamed = rename_service("WorkerB", "WorkerC")
    trial.change(graph, together("rename-and-add", renamed, add_multinode("WorkerC")))
    trial.expect()


def _illegal(body: dict[str, Any]) -> dict[str, Any]:
    spec = body["spec"]
    services = list(spec.get("services", {}).values()) or spec.get("components", [])
    # Every published schema says: replicas, an integer. That it is at least 0 the oldest does not.
    services[0]["replicas"] = "one"
    return body


@case(feature="mixed request", needs=[Feature.MULTINODE])
def test_add_with_an_illegal_field(trial: Trial) -> None:
    """A toggle in one request with a value that the schema forbids is refused, and nothing moves."""
    graph = trial.deploy(graphs.agg())
    illegal = Transition(
        name="illegal-replicas", kinds=(ChangeKind.ILLEGAL,), apply=lambda graph: graph,
        services=("Frontend",), raw=_illegal,
    )  # fmt: skip
    toggle = together("add-and-illegal", add_multinode(WORKER), illegal)
    trial.change(graph, dataclasses.replace(toggle, services=("Frontend", WORKER)))
    trial.expect(Expect.REFUSE)
