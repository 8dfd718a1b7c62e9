"""The write log: what counts against rest, and whose it was."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import Event, Header, Write
from conformance.judge.case import Case
from conformance.judge.changes import Act, Part
from conformance.judge.writers import WriteLog
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from tests.builders import (
    LWS_CONTROLLER,
    OPERATOR,
    PLATFORM,
    STRANGER,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    edited,
    made,
)


def rested() -> HistoryBuilder:
    """A settled graph, and some seconds in which nothing happened."""
    h = HistoryBuilder()
    h.deployed(a_graph())
    h.wait(3.0)
    return h


def test_a_changed_spec_by_the_operator_counts() -> None:
    h = rested()
    start = h.now
    h.update(edited(h.live("Service", "agg-worker"), "spec", "selector", "x", to="y"), by=OPERATOR)
    writes = Case(h.history()).log.counted(start, h.now)
    assert [(w.writer, w.change.act, w.change.parts) for w in writes] == [
        (Actor.OPERATOR, Act.CHANGED, (Part.SPEC,))
    ]


@pytest.mark.parametrize(
    ("path", "value", "part"),
    [
        (("metadata", "labels", "a"), "b", Part.LABELS),
        (("metadata", "annotations", "a"), "b", Part.ANNOTATIONS),
        (("metadata", "finalizers"), ["a"], Part.FINALIZERS),
        (("metadata", "ownerReferences"), [], Part.OWNERS),
    ],
)
def test_labels_annotations_owners_and_finalizers_count(
    path: tuple[str, ...], value: object, part: Part
) -> None:
    h = rested()
    start = h.now
    h.update(edited(h.live("Deployment", "agg-worker"), *path, to=value), by=OPERATOR)
    assert [w.change.parts for w in Case(h.history()).log.counted(start, h.now)] == [(part,)]


def test_a_status_write_does_not_count() -> None:
    h = rested()
    start = h.now
    graph = edited(h.live("DynamoGraphDeployment", "agg"), "status", "state", to="pending")
    h.update(graph, by=OPERATOR, status=True)
    assert Case(h.history()).log.counted(start, h.now) == []


def test_creation_and_deletion_count_once_each() -> None:
    h = rested()
    start = h.now
    service = h.live("Service", "agg-worker")
    ending = edited(service, "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z")
    h.update(ending, by=SUITE)
    h.records.pop()
    h.write(service, "delete", by=OPERATOR)
    h.delete(ending, by=PLATFORM)
    h.create(edited(service, "metadata", "uid", to="new"), by=OPERATOR)
    acts = [w.change.act for w in Case(h.history()).log.counted(start, h.now)]
    assert acts == [Act.DELETED, Act.CREATED]


@pytest.mark.parametrize("writer", [PLATFORM, LWS_CONTROLLER, SUITE])
def test_writes_of_others_do_not_count(writer: str) -> None:
    h = rested()
    start = h.now
    h.update(edited(h.live("DynamoGraphDeployment", "agg"), "metadata", "labels", "a", to="b"),
             by=writer)  # fmt: skip
    writes = Case(h.history()).log.counted(start, h.now)
    # Only the operator and the user write graphs: what a platform request seems to have done to its
    # labels was not its doing, and may have been the operator's.
    expected = [] if writer == SUITE else [Actor.UNKNOWN]
    assert [w.writer for w in writes] == expected


def test_an_unknown_writer_of_a_child_is_kept_as_unknown() -> None:
    h = rested()
    start = h.now
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True), by=STRANGER)
    assert [w.writer for w in Case(h.history()).log.counted(start, h.now)] == [Actor.UNKNOWN]


def test_the_deployment_controllers_annotation_is_the_platforms_even_beside_the_operator() -> None:
    h = rested()
    start = h.now
    deployment = edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True)
    h.update(deployment, by=OPERATOR)
    key = "deployment.kubernetes.io/revision"
    h.update(edited(deployment, "metadata", "annotations", key, to="2"), by=PLATFORM)
    writes = Case(h.history()).log.counted(start, h.now)
    assert [(w.writer, w.change.parts) for w in writes] == [(Actor.OPERATOR, (Part.SPEC,))]


def test_a_status_request_of_the_platform_does_not_blur_who_changed_the_spec() -> None:
    h = rested()
    start = h.now
    deployment = edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True)
    h.update(deployment, by=OPERATOR)
    h.write(deployment, "update", by=PLATFORM, subresource="status")
    assert [w.writer for w in Case(h.history()).log.counted(start, h.now)] == [Actor.OPERATOR]


def test_two_possible_writers_make_an_unknown_one_unless_managed_fields_tell() -> None:
    h = rested()
    start = h.now
    deployment = edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True)
    h.update(deployment, by=OPERATOR)
    h.write(deployment, "update", by=STRANGER)
    assert [w.writer for w in Case(h.history()).log.counted(start, h.now)] == [Actor.UNKNOWN]
    records = [
        _agent(r, "manager/v1") if isinstance(r, Write) and r.user == OPERATOR else r
        for r in h.records
    ]
    records = [_managed(r, "manager", start) if isinstance(r, Event) else r for r in records]
    assert [w.writer for w in Case(History(records)).log.counted(start, h.now)] == [Actor.OPERATOR]


def _agent(write: Write, agent: str) -> Write:
    return dataclasses.replace(write, agent=agent)


def _managed(event: Event, manager: str, after: float) -> Event:
    if event.at <= after:
        return event
    entry = {"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:01Z"}
    return dataclasses.replace(
        event, object=edited(dict(event.object), "metadata", "managedFields", to=[entry])
    )


def test_without_an_audit_log_the_manager_that_moved_is_the_writer() -> None:
    h = rested()
    start = h.now
    h.update(edited(h.live("Deployment", "agg-worker"), "spec", "paused", to=True), by=OPERATOR)
    records = [
        dataclasses.replace(r, audited=False) if isinstance(r, Header) else r for r in h.records
    ]
    records = [_managed(r, OPERATOR, start) if isinstance(r, Event) else r for r in records]
    records = [r for r in records if not isinstance(r, Write)]
    assert [w.writer for w in Case(History(records)).log.counted(start, h.now)] == [Actor.OPERATOR]


def test_other_namespaces_do_not_count() -> None:
    h = rested()
    start = h.now
    other = edited(h.live("Service", "agg-worker"), "metadata", "namespace", to="elsewhere")
    h.create(edited(other, "metadata", "uid", to="far"), by=OPERATOR)
    assert Case(h.history()).log.counted(start, h.now) == []
    assert Case(h.history()).log.requests(start, h.now) == []


def test_the_log_grown_record_by_record_says_the_same_as_the_whole() -> None:
    h = rested()
    grown = WriteLog(h.history().header)
    for record in h.records:
        grown.add(record)
    start = h.now
    before = len(h.records)
    service = edited(h.live("Service", "agg-worker"), "spec", "selector", "x", to="y")
    h.update(service, by=OPERATOR)
    h.write(service, "update", by=OPERATOR)
    for record in h.records[before:]:
        grown.add(record)
    whole = Case(h.history()).log.counted(start, h.now)
    assert [str(w.change) for w in grown.counted(start, h.now)] == [str(w.change) for w in whole]
    assert len(grown.requests(start, h.now)) == 2


def test_an_object_seen_again_in_a_new_list_is_no_creation() -> None:
    h = rested()
    start = h.now
    raw: Raw = h.live("Service", "agg-worker")
    event = next(
        r for r in h.records if isinstance(r, Event) and r.obj.uid == raw["metadata"]["uid"]
    )
    grown = WriteLog(h.history().header)
    grown.add(dataclasses.replace(event, type=event.type.__class__.LISTED, at=start + 1))
    assert grown.changes(start, start + 2) == []


def test_a_pod_is_assigned_by_the_scheduler_through_its_binding() -> None:
    h = rested()
    start = h.now
    pod = next(raw for raw in h.objects.values() if raw["kind"] == "Pod")
    h.update(edited(pod, "spec", "nodeName", to="node-1"), by=PLATFORM)
    h.records.pop()
    h.write(pod, "create", by=PLATFORM, subresource="binding", code=201)
    log = Case(h.history()).log
    assert [log.writer(change) for change in log.changes(start, h.now)] == [Actor.PLATFORM]


@pytest.mark.parametrize("group", ["", "events.k8s.io"])
def test_an_event_is_its_writers_through_either_group(group: str) -> None:
    h = rested()
    start = h.now
    h.create(made("Event", "agg.1") | {"reason": "Synced"}, by=OPERATOR)
    write = h.records.pop()
    assert isinstance(write, Write)
    h.records.append(dataclasses.replace(write, group=group))
    log = Case(h.history()).log
    assert [log.writer(change) for change in log.changes(start, h.now)] == [Actor.OPERATOR]
    assert Case(h.history()).log.counted(start, h.now) == []


def test_requests_too_many_name_the_last_that_must_be_out_of_the_window() -> None:
    """An operator that backs off is at rest once few enough requests are left to a hold."""
    h = rested()
    start, worker = h.now, h.live("Deployment", "agg-worker")
    for pause in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2):
        h.wait(pause)
        h.write(worker, "update", by=OPERATOR, code=422)
    log = Case(h.history()).log
    times = [write.at for write in log.requests(start, h.now)]
    assert log.too_many(start, h.now, allowed=2) == times[-3]
    assert log.too_many(times[-3], h.now, allowed=2) is None
    assert log.too_many(start, h.now, allowed=6) is None


def test_tries_are_the_operators_requests_for_that_object_refused_ones_included() -> None:
    h = rested()
    start, worker = h.now, h.live("Deployment", "agg-worker")
    for by, code in ((OPERATOR, 422), (PLATFORM, 200), (OPERATOR, 200)):
        h.wait(0.1)
        h.write(worker, "update", by=by, code=code)
    h.write(h.live("Service", "agg-worker"), "update", by=OPERATOR)
    tries = Case(h.history()).log.tries(Obj(worker), start, h.now + 1)
    assert [write.code for write in tries] == [422, 200]
