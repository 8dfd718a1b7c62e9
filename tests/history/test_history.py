from typing import Any

import pytest

from conformance.history.history import History
from conformance.history.records import Event, EventType, Header, Record

LISTED, ADDED = EventType.LISTED, EventType.ADDED
MODIFIED, DELETED = EventType.MODIFIED, EventType.DELETED


def event(type_: EventType, name: str, revision: int, at: float, **spec: Any) -> Event:
    meta = {"name": name, "uid": name, "namespace": "ns", "resourceVersion": str(revision)}
    obj = {"apiVersion": "v1", "kind": name.rstrip("0123456789"), "metadata": meta, "spec": spec}
    return Event(type=type_, revision=revision, at=at, object=obj)


def history(*records: Record) -> History:
    header = Header(
        case="c", feature="f", title="t", operator="o", namespace="ns", profile={}, bounds={}
    )
    return History([header, *records])


# As they arrived: the Deployment's deletion after what was written later.
ARRIVED = (
    event(LISTED, "Pod1", 5, 1.0),
    event(ADDED, "Deployment1", 10, 2.0, replicas=1),
    event(MODIFIED, "Deployment1", 12, 2.1, replicas=2),
    event(ADDED, "LeaderWorkerSet1", 20, 3.0),
    event(DELETED, "Deployment1", 18, 3.2),
    event(DELETED, "Pod1", 25, 4.0),
)


def names(state: Any) -> set[str]:
    return {obj.name for obj in state}


def test_events_are_ordered_by_revision_not_by_arrival() -> None:
    assert [e.revision for e in history(*ARRIVED).events] == [5, 10, 12, 18, 20, 25]


def test_two_workloads_that_only_arrived_together_never_coexisted() -> None:
    past = history(*ARRIVED)
    assert names(past.at(17)) == {"Pod1", "Deployment1"}
    assert names(past.at(18)) == {"Pod1"}
    assert names(past.at(20)) == {"Pod1", "LeaderWorkerSet1"}
    states = [names(past.at(event.revision)) for event in past.events if event.revision > 10]
    assert not [s for s in states if {"Deployment1", "LeaderWorkerSet1"} <= s]
    assert states == [
        {"Pod1", "Deployment1"},
        {"Pod1"},
        {"Pod1", "LeaderWorkerSet1"},
        {"LeaderWorkerSet1"},
    ]


def test_the_state_at_a_revision_has_the_objects_as_they_were_then() -> None:
    past = history(*ARRIVED)
    assert [past.at(r).named("Deployment", "Deployment1") is None for r in (9, 10, 18)] == [
        True,
        False,
        True,
    ]
    first, second = (past.at(r).named("Deployment", "Deployment1") for r in (11, 12))
    assert first is not None
    assert second is not None
    assert (first.spec["replicas"], second.spec["replicas"]) == (1, 2)
    assert len(past.at(0)) == 0


def test_lives_tell_creation_and_deletion_only_where_they_were_seen() -> None:
    lives = history(*ARRIVED).lives
    pod, deployment, lws = lives["Pod1"], lives["Deployment1"], lives["LeaderWorkerSet1"]
    assert (pod.created_revision, pod.events[-1].revision) == (None, 25)
    assert (deployment.created_revision, deployment.events[-1].revision) == (10, 18)
    assert (deployment.created_at, deployment.deleted_at) == (2.0, 3.2)
    assert (lws.created_revision, lws.deleted_at) == (20, None)


def test_an_event_that_came_twice_counts_once_and_a_deletion_stands_beside_it() -> None:
    twice = history(
        event(ADDED, "Event1", 5, 1.0),
        event(LISTED, "Event1", 5, 2.0),
        event(DELETED, "Event1", 5, 3.0),
    )
    assert [(e.type, e.at) for e in twice.events] == [(ADDED, 1.0), (DELETED, 3.0)]


def test_time_is_that_of_arrival_and_leads_to_a_revision() -> None:
    past = history(*ARRIVED)
    assert past.revision_at(2.05) == 10
    assert past.revision_at(3.1) == 20
    assert past.revision_at(0.5) == 0
    assert names(past.at_time(3.1)) == {"Pod1", "LeaderWorkerSet1"}
    assert [e.revision for e in past.between(2.1, 3.2)] == [12, 18, 20]


def test_a_history_needs_a_header() -> None:
    with pytest.raises(ValueError, match="needs a header"):
        History(ARRIVED)
