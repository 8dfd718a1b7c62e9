"""The recorder beside a real API server: what it wrote down is what happened."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.programs.prepare import ensure
from conformance.history import store
from conformance.history.history import History
from conformance.history.records import Event, Gap, Header, Write
from conformance.judge.case import Case
from conformance.kube import Api, Resource, apply_manifests, raise_for
from conformance.model.kinds import Actor
from conformance.record.files import Ready
from conformance.record.process import RecorderProcess
from conformance.record.tail import Tail
from conformance.record.verify import verify
from tests.record.support import until

pytestmark = pytest.mark.xdist_group("cluster")

USERS = {"dgd-conformance": "suite", "lws-controller-manager": "LWS controller"}
SUITE = "dgd-conformance"


@dataclass
class Scene:
    api: Api
    recorder: RecorderProcess
    ready: Ready


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with EmbeddedCluster(programs=ensure()) as cluster:
        recorder = RecorderProcess.start(
            kubeconfig=cluster.kubeconfig,
            audit_log=cluster.audit_log,
            directory=tmp_path_factory.mktemp("recorder"),
            users=USERS,
        )
        try:
            ready = recorder.wait_ready()
            with Api.from_kubeconfig(cluster.kubeconfig) as api:
                yield Scene(api=api, recorder=recorder, ready=ready)
        finally:
            recorder.stop()


def namespace(scene: Scene, name: str) -> Tail:
    tail = Tail(scene.recorder.directory, name)
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    apply_manifests(scene.api, [manifest])
    return tail


def deployment(name: str, where: str, replicas: int = 1) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": where},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example/x:1"}]},
            },
        },
    }


def ready_pods(tail: Tail) -> int:
    tail.poll()
    return sum(pod.ready for pod in tail.state().of_kind("Pod"))


def full_header(where: str) -> Header:
    return Header(
        case="real",
        feature="f",
        title="t",
        operator="o",
        namespace=where,
        profile={},
        bounds={},
        users=USERS,
    )


def test_the_life_of_a_deployment_is_recorded_as_the_lists_have_it(
    scene: Scene, tmp_path: Path
) -> None:
    where, api = "real-life", scene.api
    apps = api.resource_for("Deployment", "apps")
    tail = namespace(scene, where)
    raise_for(api.create(apps, deployment("a", where)))
    until(lambda: ready_pods(tail) == 1, within=30)
    verified, disagreed = verify(api, tail, where, [apps])
    assert disagreed == {}
    assert {"Deployment", "ReplicaSet", "Pod", "ServiceAccount"} <= verified.keys()
    assert min(verified.values()) > scene.ready.revision

    raise_for(api.patch(apps, "a", {"spec": {"replicas": 3}}, where))
    until(lambda: ready_pods(tail) == 3, within=30)
    before_delete = tail.revision
    raise_for(api.delete(apps, "a", where, propagation="Foreground"))
    until(lambda: tail.poll() and not tail.state().of_kind("Deployment", "Pod"), within=30)
    assert verify(api, tail, where, [apps])[1] == {}
    tail.catch_up(time.time())
    history = tail.history(full_header(where))

    store.write(tmp_path / "h", history)
    for past in (history, store.read(tmp_path / "h")):
        check_life(past, before_delete)


def check_life(history: History, before_delete: int) -> None:
    (a,) = [life for life in history.lives.values() if str(life.last) == "Deployment a"]
    assert a.created_revision is not None
    assert a.deleted_at is not None
    assert a.created_revision < before_delete < a.events[-1].revision
    assert len(history.at(before_delete).of_kind("Pod")) == 3
    assert history.at(a.created_revision - 1).of_kind("Deployment") == []
    assert history.at(a.events[-1].revision).of_kind("Deployment", "ReplicaSet", "Pod") == []
    # Foreground deletion: the owner goes last, at whatever order the kinds' events came in.
    pods = [life for life in history.lives.values() if life.last.kind == "Pod"]
    assert all((life.events[-1].revision or 0) < a.events[-1].revision for life in pods)
    assert Case(history).log.creator(a.uid) is Actor.SUITE
    assert {Case(history).log.creator(pod.uid) for pod in pods} == {Actor.PLATFORM}
    assert not any("managedFields" in e.object["metadata"] for e in history.events)
    assert history.gaps == []


def test_every_write_is_recorded_and_none_of_a_dry_run(scene: Scene) -> None:
    where, api = "real-writes", scene.api
    apps = api.resource_for("Deployment", "apps")
    tail = namespace(scene, where)
    raise_for(api.create(apps, deployment("a", where)))
    dry = api.request("PATCH", apps.path(where, "a"), {}, "application/merge-patch+json",
                      {"dryRun": "All"})  # fmt: skip
    raise_for(dry)
    refused = api.patch(apps, "a", {"spec": {"replicas": -1}}, where)
    assert refused.code == 422

    def mine() -> list[Write]:
        tail.catch_up(time.time())
        return [w for w in tail.history(full_header(where)).writes if w.user == SUITE]

    # The API server answers first, and then writes its log.
    until(lambda: any(write.code == 422 for write in mine()))
    assert [(w.verb, w.resource, w.name, w.code) for w in mine()] == [
        ("patch", "namespaces", where, 201),
        ("create", "deployments", "a", 201),
        ("patch", "deployments", "a", 422),
    ]


def test_a_secret_is_recorded_without_its_values(scene: Scene) -> None:
    where = "real-secret"
    tail = namespace(scene, where)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": where},
        "stringData": {"password": "correct horse"},
    }
    apply_manifests(scene.api, [secret])
    until(lambda: tail.poll() and tail.state().named("Secret", "s"))
    stored = tail.state().named("Secret", "s")
    assert stored is not None
    assert stored.raw["data"] == {"password": "<masked>"}
    assert (
        b"Y29ycmVjdCBob3JzZQ"
        not in (scene.recorder.directory / "live" / f"{where}.jsonl").read_bytes()
    )


def test_a_kind_installed_later_is_recorded_and_its_gap_is_over_before_a_case(scene: Scene) -> None:
    graph = Resource("late.example.com", "v1", "things", "Thing", True)
    early = Tail(scene.recorder.directory, "real-late")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.late.example.com"},
        "spec": {
            "group": graph.group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }
    apply_manifests(scene.api, [crd])
    scene.recorder.wait_recording([graph])
    early.poll()
    assert [gap.kind for gap in early.records if isinstance(gap, Gap)] == ["Thing"]
    tail = namespace(scene, "real-late")
    thing = {
        "apiVersion": graph.api_version,
        "kind": "Thing",
        "metadata": {"name": "t", "namespace": "real-late"},
    }
    apply_manifests(scene.api, [thing])
    until(lambda: tail.poll() and tail.state().named("Thing", "t"), within=10)
    assert not [record for record in tail.records if isinstance(record, Gap)]
    assert verify(scene.api, tail, "real-late", [graph])[1] == {}


def test_events_of_two_groups_are_one_object(scene: Scene) -> None:
    where = "real-life"
    tail = Tail(scene.recorder.directory, where)
    tail.poll()
    of_event = [e for e in tail.records if isinstance(e, Event) and e.obj.kind == "Event"]
    keys = [(e.obj.uid, e.revision, e.type) for e in of_event]
    assert keys
    assert len(keys) == len(set(keys))
    assert {e.obj.group for e in of_event} == {""}
