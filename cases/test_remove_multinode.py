"""`multinode` is removed from a running service."""

import dataclasses
from typing import Any

from conformance.suite import (
    DOORS,
    ApiVersion,
    Door,
    Feature,
    Method,
    Trial,
    case,
    every_door,
    every_version,
    graphs,
    remove_multinode,
)  # fmt: skip

WORKER = "VllmDecodeWorker"


@case(feature="remove multinode", needs=[Feature.MULTINODE])
@every_door()
def test_worker_becomes_a_deployment(trial: Trial, door: Door) -> None:
    """A worker that loses multinode is one Deployment alone, or the change is refused whole."""
    graph = trial.deploy(graphs.agg_multinode(), door=door)
    trial.change(graph, remove_multinode(WORKER), door=door)
    trial.expect()


def _as_null(body: dict[str, Any]) -> dict[str, Any]:
    spec = body["spec"]
    services = spec.get("services", {}).values() or spec.get("components", [])
    for service in services:
        service.setdefault("multinode", None)
    return body


@case(feature="remove multinode", needs=[Feature.MULTINODE])
@every_version()
def test_null_is_as_good_as_absent(trial: Trial, version: ApiVersion) -> None:
    """`multinode: null` in a replaced graph means what a missing key means."""
    graph = trial.deploy(graphs.agg_multinode())
    transition = dataclasses.replace(remove_multinode(WORKER), raw=_as_null)
    trial.change(graph, transition, door=Door(method=Method.REPLACE, version=version))
    trial.expect()


@case(feature="remove multinode", needs=[Feature.MULTINODE])
def test_two_replicas(trial: Trial) -> None:
    """Two groups become two plain pods; neither a group nor its gang object stays."""
    graph = graphs.agg_multinode()
    graph = trial.deploy(graph.with_service(graph.service(WORKER).replace(replicas=2)))
    trial.change(graph, remove_multinode(WORKER))
    trial.expect()


@case(feature="remove multinode", needs=[Feature.MULTINODE], long=True)
def test_every_door_answers_alike(trial: Trial) -> None:
    """What one door refuses every door refuses, and what one takes every door takes."""
    doors = [door for door in DOORS if door.version in trial.profile.versions]
    deployed = [
        (
            trial.deploy(graphs.agg_multinode().replace(name=f"door-{n}"), door=door, wait=False),
            door,
        )
        for n, door in enumerate(doors)
    ]
    trial.arranged()
    for graph, door in deployed:
        trial.change(graph, remove_multinode(WORKER), door=door)
    trial.expect()
