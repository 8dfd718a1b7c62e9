"""A real kind cluster. Needs Docker, kind and kubectl: `pytest -m docker tests/kind`.

The node image is the one that a run without further options would have."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.kind.cluster import KindCluster
from conformance.cluster.kind.controllers import KWOK, LWS
from conformance.cluster.kind.directories import root
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions, find_tools
from conformance.cluster.kind.pytest_kind import KindClusterClass
from conformance.cluster.nodes import TAINT, on_real_node
from conformance.kube import Api, apply_manifests
from conformance.model.errors import UsageError
from conformance.model.kinds import Actor
from conformance.plugin.kind import kind_cluster_class, kind_options

NODES = {f"node-{index}" for index in range(4)}
pytestmark = pytest.mark.docker

DEFAULT = "/api/v1/namespaces/default"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Clusters of other runs on this machine are not ours to sweep."""
    return {**os.environ, "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state"))}


@pytest.fixture(scope="module")
def options(pytestconfig: pytest.Config) -> KindOptions:
    given = kind_options(pytestconfig)
    return KindOptions(image=given.image, kind=given.kind, kubectl=given.kubectl)


@pytest.fixture(scope="module")
def docker(pytestconfig: pytest.Config, environ: dict[str, str]) -> Docker:
    docker = Docker(find_tools(kind_options(pytestconfig), environ).docker, environ)
    docker.check()
    return docker


@pytest.fixture(scope="module")
def cluster(
    options: KindOptions, environ: dict[str, str], pytestconfig: pytest.Config
) -> Iterator[KindCluster]:
    made = KindCluster(
        options=options, cluster_class=kind_cluster_class(pytestconfig), environ=environ
    )
    with made:
        yield made


@pytest.fixture(scope="module")
def api(cluster: KindCluster) -> Iterator[Api]:
    with Api.from_kubeconfig(cluster.kubeconfig) as client:
        yield client


def eventually(probe: Callable[[], Any], *, within: float = 60.0) -> Any:
    end = time.monotonic() + within
    while not (result := probe()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.1)
    return result


def ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def writes(cluster: KindCluster) -> list[dict[str, Any]]:
    lines = cluster.audit_log.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def test_nodes_are_as_on_the_embedded_control_plane_beside_one_that_is_tainted(
    cluster: KindCluster, api: Api
) -> None:
    nodes = {node["metadata"]["name"]: node for node in api.list("/api/v1/nodes")[0]}
    assert set(nodes) == {cluster.node, *NODES}
    assert nodes[cluster.node]["spec"]["taints"] == [dict(TAINT)]
    for name in NODES:
        assert "taints" not in nodes[name]["spec"]
        assert nodes[name]["status"]["allocatable"]["nvidia.com/gpu"] == "128"


def test_system_pods_run_on_the_real_node(cluster: KindCluster, api: Api) -> None:
    for namespace in ("kube-system", LWS.namespace):
        for pod in api.list(f"/api/v1/namespaces/{namespace}/pods")[0]:
            if not pod["metadata"]["name"].startswith(("kube-proxy-", "kindnet-")):
                assert pod["spec"]["nodeName"] == cluster.node, pod["metadata"]["name"]


@pytest.mark.parametrize("scheduler", ["default-scheduler", "volcano"])
def test_a_group_becomes_ready_on_simulated_nodes(
    cluster: KindCluster, api: Api, scheduler: str
) -> None:
    container = {
        "name": "main",
        "image": "example.com/exists-nowhere:1",
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    spec = {"schedulerName": scheduler, "containers": [container]}
    name = f"group-{scheduler.split('-')[0]}"
    body = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {"size": 4, "workerTemplate": {"spec": spec}},
        },
    }
    apply_manifests(api, [body])
    selector = {"labelSelector": f"leaderworkerset.sigs.k8s.io/name={name}"}

    def pods() -> list[dict[str, Any]]:
        found = api.list(f"{DEFAULT}/pods", selector)[0]
        return found if len(found) == 8 and all(ready(pod) for pod in found) else []

    assert {pod["spec"]["nodeName"] for pod in eventually(pods)} <= NODES
    path = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets/{name}"
    assert api.request("DELETE", path).ok
    eventually(lambda: not api.list(f"{DEFAULT}/pods", selector)[0])


def test_a_pod_without_toleration_never_runs_on_the_real_node(
    cluster: KindCluster, api: Api
) -> None:
    pod = {
        "metadata": {"name": "stranger"},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": cluster.node},
            "containers": [{"name": "main", "image": "example.com/exists-nowhere:1"}],
        },
    }
    assert api.request("POST", f"{DEFAULT}/pods", pod).ok

    def refusal() -> str:
        status = api.get(f"{DEFAULT}/pods/stranger").get("status", {})
        return "".join(each.get("message", "") for each in status.get("conditions", ()))

    assert "untolerated taint" in eventually(refusal)
    assert api.request("DELETE", f"{DEFAULT}/pods/stranger").ok


def test_each_write_is_in_the_audit_log_when_it_is_answered(cluster: KindCluster, api: Api) -> None:
    body = {"metadata": {"name": "audited"}, "data": {}}
    assert api.request("POST", f"{DEFAULT}/configmaps", body).ok
    found = [
        write
        for write in writes(cluster)
        if write["objectRef"].get("name") == "audited" and write["verb"] == "create"
    ]
    assert [write["user"]["username"] for write in found] == ["dgd-conformance"]


def test_the_authors_of_the_platform_are_known(cluster: KindCluster) -> None:
    seen = {write["user"]["username"] for write in writes(cluster)}
    assert cluster.users[LWS.user] is Actor.LWS_CONTROLLER
    assert {"dgd-conformance", LWS.user, KWOK.user, "kubernetes-admin"} <= seen
    assert set(cluster.users) - seen == set()


def test_objects_of_a_new_kind_are_collected_at_once(cluster: KindCluster, api: Api) -> None:
    names = {"kind": "Thing", "plural": "things", "singular": "thing"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": names, "versions": [version],
        },
    }  # fmt: skip
    apply_manifests(api, [crd])
    began = time.monotonic()
    cluster.kinds_changed()
    print(f"\nkinds_changed: {time.monotonic() - began:.1f} s")
    things = "/apis/example.com/v1/namespaces/default/things"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "parent"}}
    parent = api.request("POST", things, thing).body
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "name": "parent",
        "uid": parent["metadata"]["uid"],
    }
    child = {"metadata": {"name": "child", "ownerReferences": [owner]}}
    assert api.request("POST", f"{DEFAULT}/configmaps", child).ok
    assert api.request("DELETE", f"{things}/parent").ok
    # Without the restart it is seen after up to 30 s.
    eventually(lambda: api.request("GET", f"{DEFAULT}/configmaps/child").code == 404, within=15)


def test_a_local_image_runs_on_the_real_node(
    cluster: KindCluster, api: Api, docker: Docker
) -> None:
    (pod,) = api.list(
        "/api/v1/namespaces/kube-system/pods", {"labelSelector": "app=kwok-controller"}
    )[0]
    source = pod["spec"]["containers"][0]["image"]
    image = "dgd-conformance/kind-test:1"
    subprocess.run([docker.program, "tag", source, image], check=True)
    try:
        cluster.load_image(image)
        container = {"name": "main", "image": image, "args": ["--version"]}
        spec = on_real_node({"restartPolicy": "Never", "containers": [container]})
        pod = {"metadata": {"name": "local"}, "spec": spec}
        assert api.request("POST", f"{DEFAULT}/pods", pod).ok

        def phase() -> str:
            status = api.get(f"{DEFAULT}/pods/local").get("status", {})
            return str(status.get("phase", ""))

        eventually(lambda: phase() in ("Succeeded", "Failed"))
        assert phase() == "Succeeded"
    finally:
        subprocess.run([docker.program, "rmi", image], check=True, capture_output=True)


def test_an_image_that_docker_lacks_is_told(cluster: KindCluster) -> None:
    with pytest.raises(UsageError, match=r"example\.com/exists-nowhere:1 is not in Docker"):
        cluster.load_image("example.com/exists-nowhere:1")


def test_logs_of_everything_can_be_exported(cluster: KindCluster, tmp_path: Path) -> None:
    cluster.export_evidence(tmp_path)
    assert (tmp_path / "audit.jsonl").stat().st_size > 0
    assert "Creating cluster" in (tmp_path / "kind.log").read_text(encoding="utf-8")
    assert (tmp_path / "lws-manager.log").stat().st_size > 0
    assert list(tmp_path.glob(f"{cluster.node}/pods/kube-system_kwok-controller*"))


def test_a_node_that_stopped_is_a_failure(cluster: KindCluster, docker: Docker) -> None:
    assert cluster.failure() is None
    subprocess.run([docker.program, "pause", cluster.node], check=True, capture_output=True)
    try:
        assert (
            cluster.failure()
            == f"the container {cluster.node} of the kind cluster is paused (code 0)"
        )
    finally:
        subprocess.run([docker.program, "unpause", cluster.node], check=True, capture_output=True)


# The ends of a cluster. These make clusters of their own.

_OWNER = """
import importlib, json, os, sys, time
from conformance.cluster.kind import KindOptions, KindCluster
facts = json.loads(sys.argv[1])
module = importlib.import_module(facts.pop("module"))
os.chdir(facts.pop("cwd"))
cluster = KindCluster(options=KindOptions(**facts), cluster_class=module.KindCluster)
cluster.start()
print(json.dumps({"log": str(cluster.audit_log)}), flush=True)
sys.stdin.readline()
cluster.stop()
"""


def owner_of(
    options: KindOptions, cluster_class: KindClusterClass, environ: dict[str, str], **facts: Any
) -> subprocess.Popen[str]:
    """Another process that opens a cluster, and closes it once it is told."""
    facts |= {
        "image": options.image,
        "kind": str(options.kind) if options.kind else None,
        "kubectl": str(options.kubectl) if options.kubectl else None,
        "module": cluster_class.__module__,
    }
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", _OWNER, json.dumps(facts)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**environ, "PYTHONPATH": path},
    )


def opened(owner: subprocess.Popen[str]) -> dict[str, Any]:
    assert owner.stdout is not None
    facts: dict[str, Any] = json.loads(owner.stdout.readline())
    return facts


def end(owner: subprocess.Popen[str]) -> None:
    owner.communicate("\n", timeout=120)
    assert owner.returncode == 0


def kill(owner: subprocess.Popen[str]) -> None:
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()


def containers(docker: Docker, cluster: str) -> list[str]:
    return [f"{node.name} {node.state}" for node in docker.nodes(cluster)]


def identifier(docker: Docker, cluster: str) -> str:
    command = [docker.program, "inspect", "--format={{.Id}}", f"{cluster}-control-plane"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_kept_cluster_is_used_again_and_goes_with_the_run_that_does_not_keep_it(
    options: KindOptions,
    cluster_class: KindClusterClass,
    environ: dict[str, str],
    docker: Docker,
    tmp_path: Path,
) -> None:
    name = f"dgd-test-{os.getpid()}-kept"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    first = owner_of(options, cluster_class, environ, name=name, keep=True, cwd="/")
    opened(first)
    made = identifier(docker, name)
    end(first)
    try:
        second = owner_of(options, cluster_class, environ, name=name, keep=True, cwd=str(elsewhere))
        again = opened(second)
        assert identifier(docker, name) == made
        log = Path(again["log"]).read_text(encoding="utf-8").splitlines()
        assert "bootstrap" not in "".join(log)
        assert len(log) < 100
        kill(second)
        time.sleep(2)
        assert identifier(docker, name) == made
    finally:
        # Kept, so it is ours to delete: as a user does, by a run without --keep-cluster.
        last = owner_of(options, cluster_class, environ, name=name, keep=False, cwd="/")
        opened(last)
        kill(last)
    eventually(lambda: not containers(docker, name))
    eventually(lambda: not (root(environ) / name).exists())


def test_a_kill_while_the_cluster_is_made_leaves_nothing(
    options: KindOptions, cluster_class: KindClusterClass, environ: dict[str, str], docker: Docker
) -> None:
    name = f"dgd-test-{os.getpid()}-killed"
    owner = owner_of(options, cluster_class, environ, name=name, cwd="/")
    eventually(lambda: containers(docker, name))
    kill(owner)
    eventually(lambda: not (root(environ) / name).exists())
    assert containers(docker, name) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert f"--name={name}" not in running.stdout
