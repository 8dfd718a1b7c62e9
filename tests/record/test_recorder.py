import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.history.records import Unseen
from conformance.kube import Resource
from conformance.model.errors import InfraError
from conformance.record import watcher
from conformance.record.files import Ready
from conformance.record.recorder import Recorder
from conformance.record.tail import Tail
from conformance.record.verify import verify
from conformance.record.watcher import RevisionClock
from tests.kube.fake_api import (
    CRD,
    EVENT,
    NAMESPACE,
    NEW_EVENT,
    POD,
    SECRET,
    FakeApi,
)
from tests.record.support import (
    events,
    gaps,
    heartbeats,
    recording,
    rows,
    seen,
    unseen_kinds,
    until,
)

GRAPH = Resource("nvidia.com", "v1", "graphs", "Graph", True)


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD, SECRET, EVENT, NEW_EVENT, NAMESPACE, CRD)
    yield server
    server.close()


def test_what_was_there_is_listed_and_what_comes_is_recorded(fake: FakeApi, tmp_path: Path) -> None:
    old = fake.put(POD, "old", "ns")
    start = fake.revision
    with recording(fake, tmp_path) as out:
        ready = Ready.read(out)
        fake.put(POD, "new", "ns")
        fake.put(POD, "new", "ns", spec={"x": 1})
        fake.delete(POD, "new", "ns")
        until(lambda: len(seen(out, "ns")) == 4)
        assert ready is not None
        assert ready.revision == start
        assert "pods" in ready.kinds
    assert seen(out, "ns") == [
        ("LISTED", "old", int(old["metadata"]["resourceVersion"])),
        ("ADDED", "new", start + 1),
        ("MODIFIED", "new", start + 2),
        ("DELETED", "new", start + 3),
    ]
    listed = events(out, "ns")[0].obj
    assert (listed.kind, listed.group) == ("Pod", "")
    assert gaps(out) == []


def test_cluster_scoped_objects_have_a_file_of_their_own(fake: FakeApi, tmp_path: Path) -> None:
    with recording(fake, tmp_path) as out:
        fake.put(NAMESPACE, "ns")
        until(lambda: seen(out, ""))
    assert seen(out, "") == [("ADDED", "ns", fake.revision)]


def test_an_expired_watch_is_listed_again_and_leaves_a_gap_mark(
    fake: FakeApi, tmp_path: Path
) -> None:
    fake.put(POD, "changed", "ns")
    fake.put(POD, "same", "ns")
    fake.put(POD, "gone", "ns")
    with recording(fake, tmp_path) as out:
        fake.wait_watched(POD)
        start = fake.revision
        with fake.lock:
            fake.end_watches(POD)
            fake.put(POD, "changed", "ns", spec={"x": 1})
            fake.delete(POD, "gone", "ns")
            fake.compact(POD)
        until(lambda: gaps(out))
        end = fake.revision
        fake.put(POD, "later", "ns")
        until(lambda: seen(out, "ns")[-1][1] == "later")
    (gap,) = gaps(out)
    assert (gap.kind, gap.from_revision, gap.to_revision) == ("Pod", start, end)
    assert "expired" in gap.reason
    assert seen(out, "ns")[3:] == [
        ("LISTED", "changed", start + 1),
        ("DELETED", "gone", end),
        ("ADDED", "later", end + 1),
    ]


def test_an_expiry_in_mid_stream_is_a_gap_too(fake: FakeApi, tmp_path: Path) -> None:
    with recording(fake, tmp_path) as out:
        fake.wait_watched(POD)
        fake.fail_watches(POD, 410, "too old")
        until(lambda: [gap.kind for gap in gaps(out)] == ["Pod"])


def test_a_silent_watch_is_replaced_and_an_idle_kind_has_no_gap(
    fake: FakeApi, tmp_path: Path
) -> None:
    with recording(fake, tmp_path, silence=0.3) as out:
        fake.wait_watched(POD, times=3)
    assert fake.kind(POD).lists == 1
    assert gaps(out) == []


def test_what_a_silent_watch_held_back_is_recorded_with_a_gap_mark(
    fake: FakeApi, tmp_path: Path
) -> None:
    with recording(fake, tmp_path, silence=0.3) as out:
        fake.wait_watched(POD)
        fake.kind(POD).mute = True
        fake.put(POD, "a", "ns")
        fake.kind(POD).mute = False
        until(lambda: seen(out, "ns"))
        until(lambda: "Pod" in {gap.kind for gap in gaps(out)})
    assert [name for _, name, _ in seen(out, "ns")] == ["a"]
    assert "silent for 0.3 s" in gaps(out)[0].reason


def test_a_bookmark_advances_the_watch_and_an_orderly_end_leaves_no_gap(
    fake: FakeApi, tmp_path: Path
) -> None:
    fake.put(POD, "a", "ns")
    with recording(fake, tmp_path) as out:
        fake.wait_watched(POD)
        fake.put(SECRET, "unrelated", "ns")
        marked = fake.bookmark(POD)
        fake.end_watches(POD)
        fake.wait_watched(POD, times=2)
        fake.put(POD, "b", "ns")
        until(lambda: ("ADDED", "b", fake.revision) in seen(out, "ns"))
    assert fake.kind(POD).watched_from[1] == marked
    assert fake.kind(POD).lists == 1
    assert gaps(out) == []
    assert [name for _, name, _ in seen(out, "ns")] == ["a", "unrelated", "b"]


def test_a_kind_without_bookmarks_goes_on_from_where_the_others_are(
    fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RevisionClock, "delivered", lambda clock: clock.revision)
    with recording(fake, tmp_path) as out:
        fake.wait_watched(EVENT)
        fake.put(POD, "a", "ns")
        until(lambda: seen(out, "ns"))
        fake.compact(EVENT)
        fake.end_watches(EVENT)
        fake.wait_watched(EVENT, times=2)
    assert fake.kind(EVENT).watched_from[1] == fake.revision
    assert gaps(out) == []


def test_a_watch_that_was_broken_for_long_marks_a_gap_and_loses_nothing(
    fake: FakeApi, tmp_path: Path
) -> None:
    with recording(fake, tmp_path) as out:
        fake.wait_watched(POD)
        busy = {"kind": "Status", "message": "starting"}
        fake.answers["GET", POD.path()] = lambda: (503, busy)
        fake.end_watches(POD)
        fake.put(POD, "a", "ns")
        until(lambda: any("Pod" in beat.down for beat in heartbeats(out)))
        time.sleep(1.1)
        del fake.answers["GET", POD.path()]
        until(lambda: seen(out, "ns"))
    assert seen(out, "ns") == [("ADDED", "a", fake.revision)]
    assert [(gap.kind, "was broken for" in gap.reason) for gap in gaps(out)] == [("Pod", True)]


def test_an_event_that_cannot_be_read_is_a_gap(fake: FakeApi, tmp_path: Path) -> None:
    with recording(fake, tmp_path) as out:
        fake.wait_watched(POD)
        fake.kind(POD).streams[0].put({"type": "STRANGE", "object": fake.put(POD, "a", "ns")})
        until(lambda: gaps(out))
        until(lambda: ("ADDED", "a", fake.revision) in seen(out, "ns"))
    assert "could not be read" in gaps(out)[0].reason


def test_a_kind_that_appears_later_is_recorded_and_starts_with_a_gap(
    fake: FakeApi, tmp_path: Path
) -> None:
    spec = {
        "group": "nvidia.com",
        "names": {"plural": "graphs", "kind": "Graph"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True}],
    }
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    with recording(fake, tmp_path) as out:
        fake.put(CRD, "graphs.nvidia.com", spec=spec)
        fake.put(CRD, "graphs.nvidia.com", spec=spec, status=established)
        until(lambda: any("Graph" in beat.down for beat in heartbeats(out)))
        fake.serve(GRAPH)
        fake.put(GRAPH, "first", "ns")
        fake.wait_watched(GRAPH)
        fake.put(GRAPH, "second", "ns")
        until(lambda: len(seen(out, "ns")) == 2)
        assert [(gap.kind, "appeared while" in gap.reason) for gap in gaps(out)] == [
            ("Graph", True)
        ]
        fake.delete(CRD, "graphs.nvidia.com")
        until(lambda: ("DELETED", "graphs.nvidia.com", fake.revision) in seen(out, ""))
        with fake.lock:
            del fake.kinds[GRAPH.path()].objects["ns", "first"]
            graphs = fake.kinds.pop(GRAPH.path())
            for stream in graphs.streams:
                stream.put(None)
        until(lambda: len(gaps(out)) == 2)
    assert "was removed together with its objects" in gaps(out)[1].reason
    last = events(out, "ns")[-2:]
    assert {(e.type, e.obj.name) for e in last} == {("DELETED", "first"), ("DELETED", "second")}


def test_a_crd_that_moves_on_to_another_version_is_followed(fake: FakeApi, tmp_path: Path) -> None:
    names = {"plural": "graphs", "kind": "Graph"}
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    spec = {"group": "nvidia.com", "names": names, "scope": "Namespaced"}
    fake.serve(GRAPH)
    with recording(fake, tmp_path) as out:
        fake.wait_watched(GRAPH)
        newer = Resource("nvidia.com", "v2", "graphs", "Graph", True)
        fake.serve(newer)
        versions = [{"name": "v1", "served": False}, {"name": "v2", "served": True}]
        fake.put(CRD, "graphs.nvidia.com", spec={**spec, "versions": versions}, status=established)
        until(lambda: seen(out, ""))
        fake.end_watches(GRAPH)
        fake.wait_watched(newer)
        fake.put(newer, "g", "ns")
        until(lambda: seen(out, "ns"))
    assert events(out, "ns")[0].object["apiVersion"] == "nvidia.com/v2"


def test_secrets_and_tokens_never_reach_the_disk(fake: FakeApi, tmp_path: Path) -> None:
    fake.put(SECRET, "listed", "ns", data={"tls.key": "czNjcjN0"})
    token = "eyJhbGciOiJSUzI1NiIs.eyJpc3MiOiJrdWJlcm5ldGVz.c2lnbmF0dXJlLWhlcmU"
    with recording(fake, tmp_path) as out:
        applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":"czNjcjN0"}'}
        fake.put(
            SECRET, "added", "ns", stringData={"p": "s3cr3t"}, metadata={"annotations": applied}
        )
        fake.put(POD, "p", "ns", spec={"env": f"Bearer {token}", "raw": token})
        until(lambda: len(seen(out, "ns")) == 3)
        text = "".join(path.read_text() for path in (out / "live").iterdir())
    assert events(out, "ns")[0].object["data"] == {"tls.key": "<masked>"}
    for secret in ("czNjcjN0", "s3cr3t", token, "signature"):
        assert secret not in text


def test_an_object_served_by_two_groups_is_recorded_once(fake: FakeApi, tmp_path: Path) -> None:
    with recording(fake, tmp_path) as out:
        same = fake.put(EVENT, "e", "ns")
        fake.kind(NEW_EVENT).objects["ns", "e"] = same
        until(lambda: seen(out, "ns"))
        time.sleep(0.1)
    assert seen(out, "ns") == [("ADDED", "e", fake.revision)]
    assert fake.kind(NEW_EVENT).lists == 0


@pytest.mark.parametrize("audited", [True, False])
def test_managed_fields_are_kept_only_where_nothing_else_names_the_writer(
    fake: FakeApi, tmp_path: Path, audited: bool
) -> None:
    log = tmp_path / "audit.jsonl"
    with recording(fake, tmp_path, audit_log=log if audited else None) as out:
        fake.put(POD, "p", "ns", metadata={"managedFields": [{"manager": "m"}]})
        until(lambda: seen(out, "ns"))
        ready = Ready.read(out)
    assert ("managedFields" in events(out, "ns")[0].object["metadata"]) is not audited
    assert ready is not None
    assert ready.audited is audited


def test_heartbeats_go_on_and_the_last_says_that_it_is_the_last(
    fake: FakeApi, tmp_path: Path
) -> None:
    with recording(fake, tmp_path) as out:
        fake.put(POD, "p", "ns")
        until(lambda: heartbeats(out)[-1].revision == fake.revision)
        count = len(heartbeats(out))
        until(lambda: len(heartbeats(out)) > count + 1, within=2.0)
    beats = heartbeats(out)
    assert [beat.stopped for beat in beats] == [False] * (len(beats) - 1) + [True]
    assert all(0 < b.at - a.at < 2 for a, b in itertools.pairwise(beats))


def test_a_kind_that_cannot_be_listed_ends_the_recorder_in_a_sentence(
    fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_BACKOFF", (0.01,))
    broken = {"kind": "Status", "message": "conversion webhook is down"}
    fake.answers["GET", POD.path()] = lambda: (500, broken)
    recorder = Recorder(api=fake.api(tmp_path), directory=tmp_path / "out")
    with pytest.raises(InfraError, match=r"cannot record pods: .* 500 conversion webhook is down"):
        recorder.run()
    assert Ready.read(tmp_path / "out") is None


FORBIDDEN = (403, {"kind": "Status", "message": "secrets is forbidden"})


def test_a_kind_that_may_not_be_listed_is_marked_once_and_the_others_are_recorded(
    fake: FakeApi, tmp_path: Path
) -> None:
    fake.answers["GET", SECRET.path()] = lambda: FORBIDDEN
    with recording(fake, tmp_path) as out:
        fake.put(POD, "a", "ns")
        until(lambda: seen(out, "ns") == [("ADDED", "a", fake.revision)])
        until(lambda: heartbeats(out)[-1].revision == fake.revision)
        assert heartbeats(out)[-1].down == ()
    ready = Ready.read(out)
    assert ready is not None
    assert "secrets" not in ready.kinds
    assert ready.unseen == {"secrets": "secrets may not be listed: secrets is forbidden"}
    assert [(mark.kind, mark.group) for mark in unseen_kinds(out)] == [("Secret", "")]
    asked = [path for _, path, _, _ in fake.requests if path.startswith(SECRET.path())]
    assert len(asked) == 1


def test_a_kind_that_may_be_listed_but_not_watched_is_unseen_too(
    fake: FakeApi, tmp_path: Path
) -> None:
    answers = iter([(200, fake.listed(fake.kind(SECRET), "")), FORBIDDEN])
    fake.answers["GET", SECRET.path()] = lambda: next(answers)
    with recording(fake, tmp_path) as out:
        until(lambda: unseen_kinds(out))
        (mark,) = unseen_kinds(out)
        assert mark.reason == "secrets may not be watched: secrets is forbidden"
        assert gaps(out) == []


def test_a_recorder_that_may_see_nothing_says_so(fake: FakeApi, tmp_path: Path) -> None:
    for kind in fake.kinds.values():
        fake.answers["GET", kind.resource.path()] = lambda: FORBIDDEN
    recorder = Recorder(api=fake.api(tmp_path), directory=tmp_path / "out")
    with pytest.raises(InfraError, match="may not list a single kind"):
        recorder.run()


def test_a_tail_made_later_knows_what_is_unseen(fake: FakeApi, tmp_path: Path) -> None:
    fake.answers["GET", SECRET.path()] = lambda: FORBIDDEN
    with recording(fake, tmp_path) as out:
        tail = Tail(out, "ns")
        tail.poll()
        assert list(tail.unseen) == [("Secret", "")]
        assert [record.kind for record in tail.records if isinstance(record, Unseen)] == ["Secret"]
        api = fake.api(tmp_path)
        # A list of it would be refused: it is not asked for.
        assert "Secret" not in verify(api, tail, "ns", [POD, SECRET])[0]


def test_a_full_disk_ends_the_recorder(fake: FakeApi, tmp_path: Path) -> None:
    out = tmp_path / "record"
    recorder = Recorder(api=fake.api(tmp_path), directory=out)
    caught: list[str] = []

    def run() -> None:
        try:
            recorder.run()
        except InfraError as error:
            caught.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until(lambda: Ready.read(out) is not None)
    # A directory where the namespace's file should be: opening it fails, as a full disk would.
    (out / "live" / "ns.jsonl").mkdir()
    fake.put(POD, "p", "ns")
    thread.join(5)
    assert "cannot record pods: the record cannot be written" in caught[0]


def test_kinds_without_bookmarks_go_on_from_a_revision_that_others_have_long_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, now = RevisionClock(), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock.saw(5)
    clock.tick()
    assert clock.delivered() == 0
    for revision in (6, 7):
        now[0] += 20
        clock.saw(revision)
        clock.tick()
    assert clock.delivered() == 5
    now[0] += 20
    assert clock.delivered() == 5
    clock.tick()
    assert clock.delivered() == 6
    assert clock.revision == 7


def test_the_files_are_lines_that_stand_alone(fake: FakeApi, tmp_path: Path) -> None:
    with recording(fake, tmp_path) as out:
        fake.put(POD, "p", "ns", spec={"text": 'line\nbreak "quote" ü'})
        until(lambda: seen(out, "ns"))
    (row,) = rows(out, "ns")
    assert row["object"]["spec"]["text"] == 'line\nbreak "quote" ü'
