import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.history.records import EventType
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.record.tail import Tail
from conformance.record.verify import verify
from tests.kube.fake_api import DEPLOYMENT, EVENT, NAMESPACE, POD, FakeApi
from tests.record.support import Writer


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD, DEPLOYMENT, EVENT, NAMESPACE)
    yield server
    server.close()


@pytest.fixture
def api(fake: FakeApi, tmp_path: Path) -> Api:
    return fake.api(tmp_path)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = Writer(tmp_path)
    made.beat()
    return made


def test_a_record_that_equals_the_lists_is_verified(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer
) -> None:
    writer.event(EventType.ADDED, fake.put(POD, "a", "case-1"))
    fake.put(POD, "foreign", "other")
    tail = Tail(tmp_path, "case-1")
    # Deployment was never seen, Pod was: both are listed, the latter without being named.
    verified, disagreed = verify(api, tail, "case-1", [DEPLOYMENT])
    assert verified == {"Deployment": fake.revision, "Pod": fake.revision}
    assert disagreed == {}


def test_events_after_the_list_do_not_disturb(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer
) -> None:
    pod = fake.put(POD, "a", "case-1")
    writer.event(EventType.ADDED, pod)
    writer.event(EventType.DELETED, pod, revision=fake.revision + 5)
    verified, disagreed = verify(api, Tail(tmp_path, "case-1"), "case-1", [POD])
    assert (list(verified), disagreed) == (["Pod"], {})


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        ("nothing", "Pod a is listed at revision 102 but not in the record"),
        ("older", "Pod a is listed at revision 102 with resourceVersion 102, the record has 101"),
        ("more", "is in the record at revision 102 but not listed"),
    ],
)
def test_a_record_that_differs_disagrees_in_a_sentence(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer, recorded: str, complaint: str
) -> None:
    old = fake.put(POD, "a", "case-1")
    new = fake.put(POD, "a", "case-1")
    if recorded != "nothing":
        writer.event(EventType.ADDED, old)
    if recorded == "more":
        writer.event(EventType.MODIFIED, new)
        ghost = {**new, "metadata": {**new["metadata"], "uid": "ghost"}}
        writer.event(EventType.ADDED, ghost)
    verified, disagreed = verify(api, Tail(tmp_path, "case-1"), "case-1", [POD], within=0.1)
    assert verified == {}
    assert complaint in disagreed["Pod"]


def test_a_record_that_lags_is_waited_for(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer
) -> None:
    pod = fake.put(POD, "a", "case-1")
    late = threading.Timer(0.3, writer.event, (EventType.ADDED, pod))
    late.start()
    started = time.monotonic()
    verified, disagreed = verify(api, Tail(tmp_path, "case-1"), "case-1", [POD])
    assert (list(verified), disagreed) == (["Pod"], {})
    assert time.monotonic() - started >= 0.25
    assert fake.kind(POD).lists == 1


def test_evidence_and_cluster_scoped_kinds_are_not_listed(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer
) -> None:
    writer.event(EventType.ADDED, fake.put(EVENT, "e", "case-1"))
    assert verify(api, Tail(tmp_path, "case-1"), "case-1", [EVENT, NAMESPACE]) == ({}, {})
    assert fake.kind(EVENT).lists == fake.kind(NAMESPACE).lists == 0


def test_nothing_is_verified_by_a_dead_recorder(api: Api, tmp_path: Path) -> None:
    Writer(tmp_path).beat(at=time.time() - 60)
    with pytest.raises(InfraError, match="no sign of life"):
        verify(api, Tail(tmp_path, "case-1"), "case-1", [POD])


def test_a_list_that_fails_is_an_infrastructure_error(
    fake: FakeApi, api: Api, tmp_path: Path, writer: Writer
) -> None:
    fake.answers["GET", POD.path("case-1")] = lambda: (500, {"kind": "Status", "message": "boom"})
    with pytest.raises(InfraError, match="boom"):
        verify(api, Tail(tmp_path, "case-1"), "case-1", [POD])
