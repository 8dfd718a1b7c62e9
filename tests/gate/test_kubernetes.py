"""The Indexed Job: its manifests on a real API server, its scripts without a cluster."""

import json
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kubeconfig import rights
from conformance.cluster.programs.prepare import ensure
from conformance.kube import Api
from conformance.model.run_cases import RunCase
from conformance.operator.profiles import load
from conformance.report import files
from tests.gate.manifests import one, rendered
from tests.gate.support import CI, environment, executable, run, suite_run

KUBERNETES = CI / "kubernetes"
BASES = ("base", "held")
NAMESPACE = "dgd-conformance"
FAKE = Path(__file__).with_name("fake_kubectl.py")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    cluster = EmbeddedCluster(programs=ensure(), nodes=1, logs=tmp_path_factory.mktemp("logs"))
    try:
        cluster.start()
        with Api.from_kubeconfig(cluster.kubeconfig) as found:
            yield found
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def applied(api: Api) -> list[dict[str, Any]]:
    """The objects of the base, as the server took them: unknown fields are refused."""
    return [create(api, body) for body in rendered(KUBERNETES / "base")]


def create(api: Api, body: dict[str, Any], **params: str) -> dict[str, Any]:
    paths = {
        "Namespace": "/api/v1/namespaces",
        "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
        "PersistentVolumeClaim": f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims",
        "Job": f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs",
        "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    }
    answer = api.request(
        "POST", paths[body["kind"]], body, params={"fieldValidation": "Strict", **params}
    )
    assert answer.ok, answer.message
    made: dict[str, Any] = answer.body
    return made


def test_the_base_is_taken_by_a_real_api_server(applied: list[dict[str, Any]]) -> None:
    assert {body["kind"] for body in applied} == {
        "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "PersistentVolumeClaim",
        "Job",
    }  # fmt: skip


def test_so_is_the_variant_without_storage(api: Api, applied: list[dict[str, Any]]) -> None:
    job = one(rendered(KUBERNETES / "held"), "Job")
    job["metadata"]["name"] = "held"
    made = create(api, job, dryRun="All")
    assert made["spec"]["template"]["spec"]["volumes"][0]["emptyDir"] == {}


@pytest.mark.parametrize("name", BASES)
def test_there_are_as_many_shards_as_completions(name: str) -> None:
    spec = one(rendered(KUBERNETES / name), "Job")["spec"]
    (suite,) = spec["template"]["spec"]["containers"]
    env = {item["name"]: item["value"] for item in suite["env"]}
    assert int(env["DGD_SHARDS"]) == spec["completions"] == spec["maxFailedIndexes"]
    assert spec["completionMode"] == "Indexed"
    assert "--i-own-this-cluster" in env["DGD_ARGS"].splitlines()
    assert suite["image"].count(":") == 1


def test_only_the_volumes_owner_is_set_by_root_and_by_nothing_but_that() -> None:
    spec = one(rendered(KUBERNETES / "base"), "Job")["spec"]["template"]["spec"]
    (init,) = spec["initContainers"]
    assert init["image"] == spec["containers"][0]["image"]
    assert init["command"] == ["chown", "65532:65532", "/results"]
    assert init["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}
    assert spec["securityContext"]["runAsNonRoot"] is True
    held = one(rendered(KUBERNETES / "held"), "Job")["spec"]["template"]["spec"]
    assert "initContainers" not in held


def test_only_the_variant_without_storage_waits_to_be_collected() -> None:
    for name, waits in (("base", False), ("held", True)):
        (suite,) = one(rendered(KUBERNETES / name), "Job")["spec"]["template"]["spec"]["containers"]
        assert any(item["name"] == "DGD_HOLD_SECONDS" for item in suite["env"]) is waits


def test_the_jobs_pods_are_not_for_simulated_nodes(api: Api, applied: list[dict[str, Any]]) -> None:
    job = one(rendered(KUBERNETES / "held"), "Job")
    job["metadata"]["name"] = "turned-away"
    create(api, job)
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    end = time.monotonic() + 30
    told = ""
    while "didn't match Pod's node affinity" not in told:
        assert time.monotonic() < end, f"no pod was turned away: {told}"
        selector = {"labelSelector": "batch.kubernetes.io/job-name=turned-away"}
        pods = api.list(path, selector)[0]
        conditions = [c for pod in pods for c in pod.get("status", {}).get("conditions", [])]
        told = " ".join(c.get("message", "") for c in conditions if c["type"] == "PodScheduled")
        assert not any(pod["spec"].get("nodeName") for pod in pods)
        time.sleep(0.2)


@pytest.fixture(scope="module")
def account(
    api: Api, applied: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files that a pod of the Job would have of its ServiceAccount."""
    folder = tmp_path_factory.mktemp("account")
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/dgd-conformance/token"
    answer = api.request("POST", path, {"spec": {"expirationSeconds": 3600}})
    assert answer.ok, answer.message
    (folder / "token").write_text(answer.body["status"]["token"])
    bundle = api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
    (folder / "ca.crt").write_text(bundle["data"]["ca.crt"])
    (folder / "namespace").write_text(NAMESPACE)
    return folder


@pytest.fixture(scope="module")
def suite(api: Api, account: Path) -> Iterator[Api]:
    """The API server as the suite sees it from a pod."""
    host, port = api.server.removeprefix("https://").rstrip("/").split(":")
    path = account / "made" / "kubeconfig"
    done = run(
        KUBERNETES / "kubeconfig.sh", path, cwd=account,
        env=environment(
            SERVICE_ACCOUNT=str(account), KUBERNETES_SERVICE_HOST=host, KUBERNETES_SERVICE_PORT=port
        ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert path.stat().st_mode & 0o077 == 0
    with Api.from_kubeconfig(path) as found:
        yield found


def may(api: Api, verb: str, resource: str, group: str = "", sub: str = "") -> bool:
    attributes = {"verb": verb, "resource": resource, "group": group, "subresource": sub,
                  "namespace": "any"}  # fmt: skip
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes}}  # fmt: skip
    answer = api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert answer.ok, answer.message
    return bool(answer.body["status"]["allowed"])


DGD, NVIDIA = "dynamographdeployments", "nvidia.com"
NEEDED = [
    *(("list", kind, group, "") for kind, group in [
        ("secrets", ""), ("pods", ""), ("clusterroles", "rbac.authorization.k8s.io"),
        ("leaderworkersets", "leaderworkerset.x-k8s.io"), ("customresourcedefinitions",
        "apiextensions.k8s.io"), ("podgroups", "scheduling.volcano.sh"),
    ]),
    # What a run asks for itself.
    *((verb, resource, group, "") for right in [
        *rights.needed(None, install_operator=False), *rights.for_restarts(load("reference").profile),
    ] for resource, _, group in [right.name.partition(".")] for verb in right.verbs),
    ("get", "pods", "", "log"),
]  # fmt: skip
NOT_NEEDED = [
    ("create", "secrets", "", ""), ("create", "pods", "", "exec"), ("create", "pods", "", ""),
    ("create", "clusterroles", "rbac.authorization.k8s.io", ""), ("impersonate", "users", "", ""),
    ("patch", "nodes", "", ""), ("update", "namespaces", "", "finalize"),
    ("create", "customresourcedefinitions", "apiextensions.k8s.io", ""),
    ("patch", DGD, NVIDIA, "status"), ("delete", "deployments", "apps", ""),
    ("create", "configmaps", "", ""),
]  # fmt: skip


def test_the_service_account_may_do_what_the_suite_does_and_no_more(suite: Api) -> None:
    assert [right for right in NEEDED if not may(suite, *right)] == []
    assert [right for right in NOT_NEEDED if may(suite, *right)] == []


def test_an_ipv6_address_stands_in_brackets(account: Path, tmp_path: Path) -> None:
    done = run(
        KUBERNETES / "kubeconfig.sh", tmp_path / "config", cwd=tmp_path,
        env=environment(SERVICE_ACCOUNT=str(account), KUBERNETES_SERVICE_HOST="fd00::1"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = yaml.safe_load((tmp_path / "config").read_text())
    assert data["clusters"][0]["cluster"]["server"] == "https://[fd00::1]:443"
    assert data["contexts"][0]["context"]["namespace"] == NAMESPACE
    assert "token" not in data["users"][0]["user"]


def test_outside_of_a_pod_it_says_so(tmp_path: Path) -> None:
    done = run(
        KUBERNETES / "kubeconfig.sh", tmp_path / "config", cwd=tmp_path,
        env=environment(SERVICE_ACCOUNT=str(tmp_path)),
    )  # fmt: skip
    assert done.returncode == 4
    assert "this is no pod" in done.stderr
    assert not (tmp_path / "config").exists()


def test_in_a_pod_the_suite_runs_on_the_cluster_that_it_is_in(
    account: Path, tmp_path: Path
) -> None:
    python = executable(tmp_path / "python", '#!/bin/sh\necho "$KUBECONFIG"; printf "%s\\n" "$@"\n')
    done = run(
        KUBERNETES / "in-cluster.sh", cwd=tmp_path,
        env=environment(
            PYTHON=str(python), SERVICE_ACCOUNT=str(account), KUBERNETES_SERVICE_HOST="10.0.0.1",
            DGD_OPERATOR="x", DGD_ARGS="--i-own-this-cluster\n",
        ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kubeconfig, *arguments = done.stdout.splitlines()
    assert yaml.safe_load(Path(kubeconfig).read_text())["current-context"] == "in-cluster"
    assert arguments[-2:] == ["--kube-context=in-cluster", "--i-own-this-cluster"]
    assert "--cluster=kubeconfig" in arguments
    shutil.rmtree(Path(kubeconfig).parent)


def shard(tmp_path: Path, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    suite = executable(tmp_path / "suite", f"#!/bin/sh\n{script}")
    more = {"JOB_COMPLETION_INDEX": "1", "DGD_SHARDS": "4", **env}
    place = tmp_path / "results"
    place.mkdir(exist_ok=True)
    return run(
        KUBERNETES / "shard.sh", cwd=tmp_path,
        env=environment(SUITE=str(suite), DGD_PLACE=str(place), **more),
    )  # fmt: skip


def test_a_pod_runs_the_shard_of_its_index_and_leaves_a_tarball_and_the_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "shard-2.code").write_text("of a pod before")
    (tmp_path / "results" / "shard-1.code").write_text("0")
    done = shard(
        tmp_path, 'mkdir -p "$DGD_RESULTS"; echo "$DGD_SHARD" >"$DGD_RESULTS/report.json"; exit 1'
    )
    assert done.returncode == 1, done.stderr
    place = tmp_path / "results"
    assert sorted(path.name for path in place.iterdir()) == [
        "shard-1.code", "shard-2.code", "shard-2.tar.gz",
    ]  # fmt: skip
    assert (place / "shard-2.code").read_text() == "1\n"
    with tarfile.open(place / "shard-2.tar.gz") as archive:
        member = archive.extractfile("shard-2/report.json")
        assert member is not None
        assert member.read() == b"2/4\n"


def test_a_suite_that_never_began_leaves_a_tarball_too(tmp_path: Path) -> None:
    assert shard(tmp_path, "exit 4").returncode == 4
    assert (tmp_path / "results" / "shard-2.tar.gz").is_file()


def test_a_pod_without_storage_ends_once_it_was_collected(tmp_path: Path) -> None:
    began = time.monotonic()
    done = shard(
        tmp_path, '(sleep 1; touch "$DGD_PLACE/shard-2.collected") & exit 0', DGD_HOLD_SECONDS="60"
    )
    assert done.returncode == 0
    assert 1 <= time.monotonic() - began < 30


def test_a_pod_without_storage_is_not_held_for_ever(tmp_path: Path) -> None:
    assert shard(tmp_path, "exit 1", DGD_HOLD_SECONDS="1").returncode == 1


def test_a_pod_that_is_stopped_leaves_what_there_is(tmp_path: Path) -> None:
    suite = executable(
        tmp_path / "suite",
        "#!/bin/bash\ntrap 'echo part >\"$DGD_RESULTS/report.json\"; exit 2' TERM\n"
        'mkdir -p "$DGD_RESULTS"; touch started; while :; do sleep 0.1; done\n',
    )
    env = environment(
        SUITE=str(suite),
        DGD_PLACE=str(tmp_path / "results"),
        JOB_COMPLETION_INDEX="0",
        DGD_SHARDS="1",
    )
    process = subprocess.Popen(
        [KUBERNETES / "shard.sh"], cwd=tmp_path, env=env, start_new_session=True
    )
    try:
        end = time.monotonic() + 30
        while not (tmp_path / "started").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 2
    finally:
        process.kill()
    with tarfile.open(tmp_path / "results" / "shard-1.tar.gz") as archive:
        assert "shard-1/report.json" in archive.getnames()


class Cluster:
    """What fake_kubectl.py shows of a cluster, with the results of real (pretended) shards."""

    def __init__(self, folder: Path, shards: Path, *, claim: str) -> None:
        self.folder, self.shards = folder / "cluster", shards
        self.claim = claim
        self.out = folder / "out"
        (self.folder / "pods").mkdir(parents=True)
        spec = one(rendered(KUBERNETES / ("base" if claim else "held")), "Job")["spec"]
        job = {"name": "dgd-conformance", "spec": {**spec, "completions": 2}, "status": {}}
        self.write_job(job)

    def write_job(self, job: dict[str, Any]) -> None:
        (self.folder / "job.json").write_text(json.dumps(job))

    def ended(self, how: str) -> None:
        job = json.loads((self.folder / "job.json").read_text())
        job["status"]["conditions"] = [{"type": how, "status": "True"}]
        self.write_job(job)

    def tarball(self, place: Path, number: int) -> None:
        place.mkdir(parents=True, exist_ok=True)
        with tarfile.open(place / f"shard-{number}.tar.gz", "w:gz") as archive:
            archive.add(self.shards / f"s{number}", f"shard-{number}")
        (place / f"shard-{number}.code").write_text("1\n")

    def pod(self, number: int, phase: str) -> Path:
        place = self.folder / "pods" / f"dgd-conformance-{number - 1}-abcde"
        place.mkdir()
        (place / "pod.json").write_text(json.dumps({"index": number - 1, "phase": phase}))
        return place

    def collect(self, **env: str) -> subprocess.CompletedProcess[str]:
        kubectl = f"{sys.executable} {FAKE}"
        settings = {"KUBECTL": kubectl, "CLUSTER": str(self.folder), "DGD_POLL": "0.1", **env}
        return run(
            KUBERNETES / "collect.sh", self.out, cwd=self.folder, env=environment(**settings)
        )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two shards, s1 and s2."""
    folder = tmp_path_factory.mktemp("two")
    for number in (1, 2):
        done = suite_run(
            folder, "--operator=reference", f"--shard={number}/2", f"--results=s{number}"
        )
        assert done.returncode in (0, 1), done.stdout
    return folder


@pytest.mark.parametrize("how", ["Complete", "Failed"])
def test_results_on_a_volume_are_fetched_by_a_pod_of_its_own_and_joined(
    two: Path, tmp_path: Path, how: str
) -> None:
    cluster = Cluster(tmp_path, two, claim="dgd-conformance-results")
    for number in (1, 2):
        cluster.tarball(cluster.folder / "claims" / cluster.claim, number)
        cluster.pod(number, "Failed")
    cluster.ended(how)
    done = cluster.collect()
    assert done.returncode == 1, done.stderr  # the report violates
    merged = files.read(cluster.out / "merged" / "report.json")
    assert (merged.statistics.cases, merged.statistics.not_run) == (8 + len(RunCase), 0)
    pod = json.loads(
        (cluster.folder / "deleted-dgd-conformance-collector/manifest.json").read_text()
    )
    assert pod["spec"]["containers"][0]["image"] == "dgd-conformance:0.1.0"
    assert pod["spec"]["affinity"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert not (cluster.folder / "pods" / "dgd-conformance-collector").exists()


def test_results_without_storage_are_fetched_pod_by_pod_which_are_then_let_go(
    two: Path, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, two, claim="")
    first = cluster.pod(1, "Running")
    cluster.tarball(first / "results", 1)
    # The second comes once the first has been let go, as with `parallelism: 1`.
    second = cluster.folder / "second"
    cluster.tarball(second / "results", 2)
    (second / "pod.json").write_text(json.dumps({"index": 1, "phase": "Running"}))
    executable(
        first / "after-exec",
        f"#!/bin/sh\n[ -e {first}/results/shard-1.collected ] && [ -e {second} ] && "
        f"mv {second} {cluster.folder}/pods/dgd-conformance-1-abcde\nexit 0\n",
    )
    done = cluster.collect()
    assert done.returncode == 1, done.stderr
    assert files.read(cluster.out / "merged" / "report.json").statistics.not_run == 0
    for number in (1, 2):
        place = cluster.folder / "pods" / f"dgd-conformance-{number - 1}-abcde" / "results"
        assert (place / f"shard-{number}.collected").exists()


def test_a_pod_that_ended_before_it_was_collected_is_told(two: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, two, claim="")
    cluster.pod(1, "Failed")
    done = cluster.collect()
    assert done.returncode == 3
    assert "pod dgd-conformance-0-abcde of shard 1 ended before" in done.stderr


def test_a_shard_without_results_is_told(two: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, two, claim="dgd-conformance-results")
    cluster.tarball(cluster.folder / "claims" / cluster.claim, 1)
    cluster.ended("Failed")
    done = cluster.collect()
    assert done.returncode == 3
    assert "shard 2 left no results in claim dgd-conformance-results" in done.stderr


def test_a_tarball_that_came_broken_is_told(two: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, two, claim="")
    pod = cluster.pod(1, "Running")
    cluster.tarball(pod / "results", 1)
    path = pod / "results" / "shard-1.tar.gz"
    path.write_bytes(path.read_bytes()[:200])
    done = cluster.collect()
    assert done.returncode == 3
    assert "the results of shard 1 could not be fetched" in done.stderr
    assert not (pod / "results" / "shard-1.collected").exists()


def test_shards_that_never_end_are_given_up(two: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, two, claim="dgd-conformance-results")
    done = cluster.collect(DGD_TIMEOUT="1")
    assert done.returncode == 3
    assert "did not end in time" in done.stderr
