"""A run on a cluster that is not the suite's own: what it makes, and that nothing of it stays."""

import copy
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.kubeconfig import (
    KubeconfigCluster,
    cleanup_command,
    inspection,
    leftovers,
    removal,
    rights,
    run_lease,
)
from conformance.cluster.kubeconfig import cluster as kubeconfig_cluster
from conformance.cluster.protocol import Cluster
from conformance.driver.namespaces import open_namespace
from conformance.kube import Api, Resource, apply_manifests, raise_for
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import LWS, LWS_GROUP
from conformance.model.labels import OWNED, of_run
from conformance.operator import profiles
from conformance.record.process import RecorderProcess
from conformance.record.tail import Tail
from conformance.record.verify import verify
from tests.cluster.clusters import eventually
from tests.kubeconfig.crds import crd, graph
from tests.kubeconfig.users import arguments
from tests.record.support import unseen_kinds, until

pytestmark = pytest.mark.xdist_group("cluster")

NAMESPACE = Resource("", "v1", "namespaces", "Namespace", False)
Raw = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def graphs(admin: Api) -> Resource:
    apply_manifests(admin, [crd("DynamoGraphDeployment"), crd("DynamoComponentDeployment")])
    return admin.resource_for("DynamoGraphDeployment")


@pytest.fixture
def running(powerful: Raw, options: Any) -> Iterator[KubeconfigCluster]:
    with KubeconfigCluster(options(powerful, i_own=True)) as started:
        yield started


def remove_kind(admin: Api, name: str) -> None:
    """Until none of its group is served: a definition goes after its objects, and discovery lags
    behind it, so that another test would still be told of a kind that is about to go."""
    raise_for(admin.delete(admin.resource_for("CustomResourceDefinition"), name))
    group = name.partition(".")[2]
    eventually(lambda: group not in {kind.group for kind in admin.discover()})


def spaces(admin: Api, run: str) -> list[str]:
    items = admin.list(NAMESPACE.path(), {"labelSelector": f"conformance.dgd.dev/run={run}"})[0]
    return sorted(item["metadata"]["name"] for item in items)


def test_it_is_what_a_run_needs_of_a_cluster_with_pods(running: KubeconfigCluster) -> None:
    cluster: Cluster = running
    assert cluster.throw_away is False
    assert cluster.audit_log is None
    assert cluster.failure() is None
    assert cluster.versions["kube-apiserver"].startswith("v1.")
    assert "lws" in cluster.versions
    assert cluster.operator_installed
    assert cluster.process_host is None
    assert cluster.real_nodes is None


def test_a_multinode_operator_needs_leader_worker_sets(
    powerful: Raw, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = profiles.load("reference").profile
    with KubeconfigCluster(options(powerful, i_own=True), profile=reference) as own:
        assert own.failure() is None
    monkeypatch.setattr(inspection, "serves", lambda _, kind, group: kind != LWS)
    own = KubeconfigCluster(options(powerful, i_own=True), profile=reference)
    with pytest.raises(UsageError, match=r"need LeaderWorkerSet, and context prod serves no"):
        own.start()
    with pytest.raises(InfraError, match="is closed"):
        own.kubeconfig  # noqa: B018 - nothing is left behind


def test_the_plan_names_what_is_made_and_nothing_is_written_before_the_start(
    powerful: Raw, options: Any, sent: list[tuple[str, str]]
) -> None:
    powerful = copy.deepcopy(powerful)
    powerful["contexts"][0]["context"]["namespace"] = "shop"
    own = KubeconfigCluster(options(powerful, i_own=True))
    text = "\n".join(own.plan())
    # The question after one's own rights is a POST that writes nothing.
    assert {path for verb, path in sent if verb != "GET"} == {rights.REVIEWS}
    assert f"namespace dgd-conformance-run-{own.run} with a Lease" in text
    assert "you say that you own it" in text
    assert "ignores: the context's default namespace shop" in text
    assert "nothing else, and nothing cluster-wide" in text
    assert "default" not in json.loads(own.kubeconfig.read_text())["contexts"][0]["context"]
    own.stop()


def test_all_that_a_run_made_goes_with_it(admin: Api, powerful: Raw, options: Any) -> None:
    with KubeconfigCluster(options(powerful, i_own=True)) as own:
        private, run = own.kubeconfig, own.run
        assert private.stat().st_mode & 0o777 == 0o600
        with Api.from_kubeconfig(private) as api:
            open_namespace(api, "case-one", bounds=Bounds(), run=run)
            raise_for(
                api.create(admin.resource_for("DynamoGraphDeployment"), graph("g", "case-one"))
            )
        assert spaces(admin, run) == ["case-one", run_lease.namespace_of(run)]
    assert spaces(admin, run) == []
    assert not private.parent.exists()


def test_the_cases_can_be_cleared_while_the_operator_still_runs(
    admin: Api, running: KubeconfigCluster
) -> None:
    open_namespace(admin, "case-two", bounds=Bounds(), run=running.run)
    running.clear()
    assert spaces(admin, running.run) == [run_lease.namespace_of(running.run)]


CHILD = """
import sys, time
from pathlib import Path
from conformance.cluster.kubeconfig import KubeconfigOptions, KubeconfigCluster
own = KubeconfigCluster(KubeconfigOptions(kubeconfig=Path(sys.argv[1]), context="prod", i_own=True))
own.start()
print(own.run, own.kubeconfig, flush=True)
time.sleep(600)
"""


def test_a_killed_run_leaves_no_identity_behind_and_cleanup_removes_the_rest(
    admin: Api, powerful: Raw, options: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = options(powerful).kubeconfig
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        run, private = child.stdout.readline().split()
        open_namespace(admin, "case-killed", bounds=Bounds(), run=run)
        # A run that is going on is left alone.
        assert cleanup_command.run(arguments(path, yes=True)) == 0
        assert f"left alone: 2 of runs that are going on ({run})" in capsys.readouterr().out
        assert spaces(admin, run) == ["case-killed", run_lease.namespace_of(run)]
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    eventually(lambda: not Path(private).parent.exists())
    raise_for(admin.create(NAMESPACE, {"metadata": {"name": "unlabelled"}}))
    assert cleanup_command.run(arguments(path, **{"dry-run": True})) == 0
    assert "would remove: Namespace case-killed" in capsys.readouterr().out
    with pytest.raises(UsageError, match="nobody is there to ask; give --yes"):
        cleanup_command.run(arguments(path))
    assert spaces(admin, run) == ["case-killed", run_lease.namespace_of(run)]
    capsys.readouterr()
    assert cleanup_command.run(arguments(path, yes=True)) == 0
    assert "removed 2 of 2" in capsys.readouterr().out
    assert spaces(admin, run) == []
    assert admin.read(NAMESPACE, "unlabelled") is not None
    assert cleanup_command.run(arguments(path, yes=True)) == 0
    assert "nothing is left of crashed runs" in capsys.readouterr().out


def test_a_run_of_another_machine_is_alive_as_long_as_its_lease_is_renewed(
    admin: Api, running: KubeconfigCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[bool]:
        return [row.alive for row in leftovers.find(admin, run=running.run)]

    monkeypatch.setattr(run_lease.socket, "gethostname", lambda: "elsewhere")
    assert found() == [True]
    monkeypatch.setattr(run_lease, "ALIVE_SECONDS", -1.0)
    assert found() == [False]


def test_the_lease_is_renewed(
    admin: Api, powerful: Raw, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "RENEW_SECONDS", 0.2)
    with KubeconfigCluster(options(powerful, i_own=True)) as own:
        path = (
            f"/apis/coordination.k8s.io/v1/namespaces/{run_lease.namespace_of(own.run)}/leases/run"
        )
        first = admin.get(path)["spec"]["renewTime"]
        eventually(lambda: admin.get(path)["spec"]["renewTime"] > first)
        assert own.failure() is None
        # Somebody takes it away: after a while the run knows that it looks dead.
        raise_for(admin.request("DELETE", path))
        monkeypatch.setattr(run_lease, "ALIVE_SECONDS", 0.1)
        eventually(lambda: "cannot be renewed" in str(own.failure()))


def test_a_finalizer_that_nobody_runs_is_told_and_left(
    admin: Api, graphs: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "GRAPHS_SECONDS", 0.5)
    run = "stuck"
    open_namespace(admin, "case-stuck", bounds=Bounds(), run=run)
    raise_for(admin.create(graphs, graph("g", "case-stuck", "example.com/keep")))
    rows = leftovers.find(admin, run=run)
    done = removal.remove(admin, rows, namespaces_within=6.0)
    (said,) = done.stuck
    assert said.startswith("Namespace case-stuck (of run stuck) is still there")
    assert "waits for example.com/keep, which nobody runs" in said
    assert "-n case-stuck --type=merge" in said
    raise_for(admin.patch(graphs, "g", {"metadata": {"finalizers": None}}, "case-stuck"))
    eventually(lambda: spaces(admin, run) == [])


def test_graphs_go_before_their_namespace_so_that_the_operator_can_work(
    admin: Api, graphs: Resource
) -> None:
    open_namespace(admin, "case-order", bounds=Bounds(), run="order")
    raise_for(admin.create(graphs, graph("g", "case-order", "example.com/work")))
    seen: list[str] = []

    def operator(stage: str) -> None:
        # What an operator does once its graph is to be deleted, if its namespace still takes writes.
        seen.append(stage)
        if "DynamoGraphDeployment" in stage:

            def work() -> None:
                eventually(lambda: deleting(admin.read(graphs, "g", "case-order")))
                phase = (admin.read(NAMESPACE, "case-order") or {})["status"]["phase"]
                seen.append(phase)
                admin.patch(graphs, "g", {"metadata": {"finalizers": None}}, "case-order")

            threading.Thread(target=work, daemon=True).start()

    done = removal.remove(admin, leftovers.find(admin, run="order"), tell=operator)
    assert done.stuck == []
    assert seen[1] == "Active"
    assert spaces(admin, "order") == []


def deleting(obj: Raw | None) -> bool:
    return obj is not None and "deletionTimestamp" in obj["metadata"]


def test_what_was_installed_goes_too_but_a_kind_in_use_is_kept(admin: Api) -> None:
    labels = {"metadata": {"labels": of_run("installed")}}
    kinds = [crd("Unused", group="own.example"), crd("Used", group="own.example")]
    apply_manifests(admin, kinds)
    crds = admin.resource_for("CustomResourceDefinition")
    for kind in kinds:
        raise_for(admin.patch(crds, kind["metadata"]["name"], labels))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    apply_manifests(admin, [{**role, "metadata": {"name": "own-x", **labels["metadata"]}}])
    theirs = {"apiVersion": "own.example/v1alpha1", "kind": "Used"}
    apply_manifests(admin, [{**theirs, "metadata": {"name": "u", "namespace": "default"}}])
    done = removal.remove(admin, leftovers.find(admin, run="installed"))
    assert sorted(row.name for row in done.removed) == ["own-x", "unuseds.own.example"]
    assert len(done.stuck) == 1
    assert "useds.own.example (of run installed) is kept: 1 objects" in done.stuck[0]
    assert admin.read(crds, "useds.own.example") is not None
    remove_kind(admin, "useds.own.example")


def test_a_namespace_without_a_run_is_taken_for_a_living_one(admin: Api) -> None:
    meta = {"name": "no-run", "labels": {OWNED: "true"}}
    raise_for(admin.create(NAMESPACE, {"metadata": meta}))
    assert [row.alive for row in leftovers.find(admin) if row.name == "no-run"] == [True]
    raise_for(admin.delete(NAMESPACE, "no-run"))


# A restricted user ---------------------------------------------------------------------------------


def test_a_restricted_user_runs_and_what_it_cannot_see_is_said_once(
    admin: Api, restricted: Raw, options: Any, tmp_path: Path
) -> None:
    with KubeconfigCluster(options(restricted)) as own:
        (line,) = [line for line in own.plan() if line.startswith("unseen: ")]
        said = line.removeprefix("unseen: ").partition(":")[0]
        hidden = set(said.strip().split(", "))
        assert "leaderworkersets.leaderworkerset.x-k8s.io" in hidden
        assert "secrets" in hidden
        assert not {"pods", "deployments.apps", "dynamographdeployments.nvidia.com"} & hidden
        recorder = RecorderProcess.start(
            kubeconfig=own.kubeconfig, directory=tmp_path / "record", users=own.users
        )
        try:
            ready = recorder.wait_ready()
            # A kind that may be listed and not watched is known for one only after it was listed.
            seen = tmp_path / "record"
            until(lambda: {mark.resource for mark in unseen_kinds(seen)} == hidden)
            assert not ready.audited
            with Api.from_kubeconfig(own.kubeconfig) as api:
                kinds = api.discover()
                recorder.wait_recording(k for k in kinds if k.kind not in ("Lease",))
                tail = Tail(recorder.directory, "case-seen")
                open_namespace(api, "case-seen", bounds=Bounds(), run=own.run)
                graphs = api.resource_for("DynamoGraphDeployment")
                raise_for(api.create(graphs, graph("g", "case-seen")))
                eventually(lambda: tail.poll() and tail.state().named("DynamoGraphDeployment", "g"))
                lws = api.resource_for(LWS, LWS_GROUP)
                verified, disagreed = verify(api, tail, "case-seen", [graphs, lws])
            assert disagreed == {}
            assert "DynamoGraphDeployment" in verified
            assert LWS not in verified
            assert (LWS, LWS_GROUP) in tail.unseen
        finally:
            recorder.stop()


# Images and kinds ----------------------------------------------------------------------------------


def test_an_image_cannot_be_loaded_into_a_cluster_that_is_no_kind_one(
    running: KubeconfigCluster,
) -> None:
    with pytest.raises(UsageError, match=r"x:1 cannot be loaded into context prod .*push it to a"):
        running.load_image("x:1")


def test_an_image_is_loaded_by_kind_into_a_kind_cluster(
    powerful: Raw, options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    kind = tmp_path / "bin" / "kind"
    kind.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
        '[ "$3" = good ] || { echo no image >&2; exit 1; }\n'
    )
    kind.chmod(0o755)
    monkeypatch.setenv("PATH", f"{kind.parent}:{os.environ['PATH']}")
    named = {**powerful, "contexts": [{**powerful["contexts"][0], "name": "kind-blue"}]}
    own = KubeconfigCluster(options(named))
    own.check()
    own.load_image("good")
    assert (tmp_path / "asked").read_text() == "load docker-image good --name blue\n"
    with pytest.raises(UsageError, match="could not load bad into cluster blue: no image"):
        own.load_image("bad")
    own.stop()


def test_the_garbage_collector_is_waited_for_only_if_kinds_are_new(
    admin: Api, running: KubeconfigCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeconfig_cluster, "COLLECTOR_SECONDS", 1.5)
    began = time.monotonic()
    running.kinds_changed()
    assert time.monotonic() - began < 1.4
    apply_manifests(admin, [crd("Fresh", group="own.example")])
    eventually(lambda: any(kind.kind == "Fresh" for kind in admin.discover()))
    began = time.monotonic()
    running.kinds_changed()
    assert time.monotonic() - began >= 1.5
    remove_kind(admin, "freshs.own.example")
