import json
from pathlib import Path
from typing import Any

import pytest

from conformance.record.files import LineReader, live_file
from conformance.record.logs import audited_writes, to_write
from tests.kube.fake_api import POD, FakeApi
from tests.record.support import recording, rows, until


def entry(**fields: Any) -> dict[str, Any]:
    target = {
        "resource": "deployments",
        "namespace": "ns",
        "name": "a",
        "apiGroup": "apps",
        "apiVersion": "v1",
    }
    return {
        "stage": "ResponseComplete",
        "verb": "create",
        "requestURI": "/apis/apps/v1/namespaces/ns/deployments?fieldManager=m",
        "user": {"username": "system:serviceaccount:kube-system:x"},
        "userAgent": "agent/1",
        "objectRef": {**target, **fields.pop("target", {})},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": "2026-11-30T06:52:21.100000Z",
        "stageTimestamp": "2026-11-30T06:52:21.250000Z",
        **fields,
    }


def append(path: Path, *entries: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in entries)


def test_an_answered_write_has_author_target_times_and_code() -> None:
    write = to_write(entry(target={"subresource": "status"}))
    assert write is not None
    assert (write.user, write.agent) == ("system:serviceaccount:kube-system:x", "agent/1")
    assert (write.group, write.resource, write.subresource) == ("apps", "deployments", "status")
    assert (write.namespace, write.name, write.verb, write.code) == ("ns", "a", "create", 201)
    assert write.at == 1796021541.25
    assert round(write.at - write.received_at, 6) == 0.15


def test_what_changes_nothing_or_is_not_answered_is_left_out() -> None:
    assert to_write(entry(verb="list")) is None
    assert to_write(entry(stage="RequestReceived")) is None
    assert to_write(entry(requestURI="/apis/apps/v1/x?dryRun=All&force=true")) is None
    assert to_write({**entry(), "objectRef": None}) is None


def test_a_namespace_is_cluster_scoped_although_the_log_files_it_under_itself() -> None:
    target = {"resource": "namespaces", "namespace": "ns", "name": "ns", "apiGroup": ""}
    write = to_write(entry(target=target))
    assert write is not None
    assert (write.namespace, write.name) == ("", "ns")


def test_a_generated_name_is_unknown_and_a_refusal_says_why() -> None:
    refused = {"code": 403, "reason": "Forbidden", "message": "denied by webhook"}
    write = to_write(entry(responseStatus=refused, target={"name": None}))
    assert write is not None
    assert (write.name, write.code, write.reason) == ("", 403, "denied by webhook")


@pytest.mark.parametrize("shown", ["system:kube-controller-manager", "conformance-suite", "jane"])
def test_who_impersonates_another_is_the_author_still(shown: str) -> None:
    write = to_write(entry(user={"username": "dgd-operator"}, impersonatedUser={"username": shown}))
    assert write is not None
    assert write.user == "dgd-operator"


def test_the_log_is_read_as_it_grows_and_through_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    reader = LineReader(path)
    assert list(audited_writes(reader.read())) == []
    append(path, entry(), entry(verb="get"))
    assert [write.name for write in audited_writes(reader.read())] == ["a"]
    append(path, entry(target={"name": "last"}))
    path.rename(tmp_path / "audit-old.jsonl")
    append(path, entry(target={"name": "first"}))
    assert [write.name for write in audited_writes(reader.read())] == ["last"]
    assert [write.name for write in audited_writes(reader.read())] == ["first"]
    with path.open("a") as file:
        file.write("{cut off\n")
    assert list(audited_writes(reader.read())) == []


def test_the_recorder_routes_writes_by_namespace(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    append(path, entry())
    fake = FakeApi(POD)
    cluster = {"resource": "nodes", "namespace": None, "name": "n"}
    try:
        with recording(fake, tmp_path, audit_log=path) as out:
            append(path, entry(target=cluster), entry(target={"name": "b"}))
            until(lambda: len(rows(out, "ns")) == 2)
            assert [row["name"] for row in rows(out, "ns")] == ["a", "b"]
            until(lambda: rows(out, ""))
    finally:
        fake.close()
    assert [row["name"] for row in rows(out, "")] == ["n"]
    assert live_file(out, "").name == "_cluster.jsonl"
