"""Field managers stand in for the users of an audit log."""

import dataclasses
from typing import Any

import pytest

from conformance.history.history import History
from conformance.history.records import Event, Header, Write
from conformance.judge.authors import operators_managers
from conformance.judge.case import Case
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from tests.builders import HistoryBuilder, a_graph, a_profile, edited, settled

GRAPH, PROFILE = a_graph(), a_profile()


def entry(manager: str, **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:01Z", **more}


def managed(raw: dict[str, Any], *entries: dict[str, Any]) -> dict[str, Any]:
    return edited(raw, "metadata", "managedFields", to=list(entries))


def cluster() -> list[Obj]:
    """A settled graph: the suite wrote the graph, `dynamo-operator` what it owns, and the platform
    what is below that."""
    by = {"DynamoGraphDeployment": "dgd-conformance", "ReplicaSet": "kube-controller-manager",
          "Pod": "kube-controller-manager", "EndpointSlice": "kube-controller-manager"}  # fmt: skip
    return [
        Obj(managed(raw, entry(by.get(raw["kind"], "dynamo-operator"))))
        for raw in settled(GRAPH, PROFILE)
    ]


def test_the_operators_managers_are_those_of_what_graphs_and_components_own() -> None:
    assert operators_managers(cluster(), known={"dgd-conformance"}) == {"dynamo-operator"}


def test_who_writes_only_a_status_or_is_known_is_no_operator() -> None:
    entries = (entry("kube-controller-manager", subresource="status"), entry("kubelet"),
               entry("lws"), entry(""), entry("status-writer", subresource="status"))  # fmt: skip
    objects = [
        Obj(managed(dict(obj.raw), *entries)) if obj.kind == "Deployment" else obj
        for obj in cluster()
    ]
    assert operators_managers(objects, known={"dgd-conformance", "lws"}) == {"dynamo-operator"}


@pytest.mark.parametrize(
    ("owner", "layer"),
    [("DynamoComponentDeployment", Actor.OPERATOR), ("LeaderWorkerSet", Actor.UNKNOWN),
     ("StatefulSet", Actor.UNKNOWN)],
)  # fmt: skip
def test_below_a_workload_the_name_may_be_somebody_elses(owner: str, layer: Actor) -> None:
    h = HistoryBuilder(PROFILE)
    h.deployed(GRAPH)
    reference = {"apiVersion": "v1", "kind": owner, "name": "o", "uid": "o"}
    service = edited(h.live("Service", "agg-worker"), "metadata", "ownerReferences", to=[reference])
    service = edited(edited(service, "metadata", "name", to="new"), "metadata", "uid", to="new")
    h.create(managed(service, entry("manager")), by="whoever")
    records = []
    for record in h.records:
        if isinstance(record, Header):
            users = {**record.users, "manager": Actor.OPERATOR}
            record = dataclasses.replace(record, audited=False, users=users)
        if not isinstance(record, Write):
            records.append(record)
    history = History(records)
    assert any(isinstance(r, Event) and r.obj.uid == "new" for r in history.records)
    assert Case(history).log.creator("new") is layer
