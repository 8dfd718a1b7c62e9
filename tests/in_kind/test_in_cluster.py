"""Runs against a cluster that is there already: from outside, and from pods in it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance import __version__, paths
from conformance.cluster.kind import Docker, KindCluster
from conformance.kube import Api, Resource, apply_manifests
from conformance.model.labels import OWNED
from conformance.report import files, verify
from conformance.report.compare import differences
from tests.in_kind.conftest import Suite

pytestmark = pytest.mark.docker

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False)
SELECT = os.environ.get(
    "DGD_CONFORMANCE_TEST_SELECT", "merge-patch-v1beta1 or groups_follow or at_rest"
)
"""For the runs of which several are compared; empty: all cases, some ten minutes more."""
WORKERS = "8"
"""As many as each shard of the Job has."""
SHARDS = 4
IMAGE = f"dgd-conformance:{__version__}"
CI = paths.root() / "ci"


@pytest.fixture(scope="module")
def api(cluster: KindCluster) -> Api:
    return Api.from_kubeconfig(cluster.kubeconfig)


@pytest.fixture(scope="module")
def image(cluster: KindCluster, docker: Docker) -> str:
    """The suite's image, on the offline base if Docker has it, in the cluster."""
    base = "dgd-conformance/python:offline"
    environ = {"BASE": base} if docker.has_image(base) else {}
    _run(["bash", str(CI / "image" / "build.sh"), IMAGE], **environ)
    cluster.load_image(IMAGE)
    return IMAGE


@pytest.fixture(scope="module")
def outside(cluster: KindCluster, suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one run from outside the cluster."""
    results = tmp_path_factory.mktemp("outside")
    ended = suite(
        results, "--cluster=kubeconfig", f"--kube-context=kind-{cluster.name}", "-k", SELECT,
        "-n", WORKERS, cases=[""], KUBECONFIG=str(cluster.kubeconfig),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-2000:]
    return results


def test_a_run_from_outside_conforms_and_leaves_nothing(outside: Path, api: Api) -> None:
    made = files.read(outside / "report.json")
    assert made.cluster == "kubeconfig"
    assert made.statistics.conforms > 5
    assert _owned(api) == []


def test_the_shards_of_an_indexed_job_say_together_what_one_run_says(
    cluster: KindCluster, image: str, outside: Path, api: Api, tmp_path: Path
) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    settings = {"DGD_OPERATOR": "reference", "DGD_SELECT": SELECT}
    (overlay / "kustomization.yaml").write_text(_overlay(settings))
    # kustomize takes no absolute paths.
    (overlay / "base").symlink_to(CI / "kubernetes" / "base")
    rendered = _run(
        ["kubectl", "kustomize", "--load-restrictor=LoadRestrictionsNone", str(overlay)]
    )
    apply_manifests(api, [m for m in yaml.safe_load_all(rendered) if m], namespace="default")
    collected = subprocess.run(
        ["bash", str(CI / "kubernetes" / "collect.sh"), str(tmp_path / "out")],
        env={**os.environ, "PYTHON": sys.executable, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True, text=True, timeout=1500, check=False, cwd=paths.root(),
    )  # fmt: skip
    assert collected.returncode == 0, collected.stdout[-3000:] + collected.stderr[-3000:]
    assert len(list((tmp_path / "out").glob("shard-*"))) == SHARDS
    merged = files.read(tmp_path / "out" / "merged" / "report.json")
    assert verify.problems(merged, tmp_path / "out" / "merged") == []
    assert differences(files.read(outside / "report.json"), merged) == []
    assert _owned(api) == []


def test_the_sonobuoy_plugin_leaves_a_tarball_and_says_done(
    cluster: KindCluster, image: str, api: Api, tmp_path: Path
) -> None:
    """What Sonobuoy does with the definition: the pod, its ServiceAccount, a volume for results."""
    plugin = yaml.safe_load((CI / "sonobuoy" / "plugin.yaml").read_text())
    container = plugin["spec"]
    container["env"].append({"name": "DGD_SELECT", "value": "groups_follow"})
    # Beside it runs Sonobuoy's worker, which waits for `done`; here it only keeps the volume.
    beside = {
        "name": "worker", "image": image, "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "3600"], "volumeMounts": container["volumeMounts"],
    }  # fmt: skip
    spec: dict[str, Any] = {
        **plugin["podSpec"],
        "containers": [container, beside],
        "volumes": [{"name": "results", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 0,
    }
    account = {"name": "sonobuoy-serviceaccount", "namespace": "sonobuoy"}
    group = "rbac.authorization.k8s.io"
    apply_manifests(
        api,
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sonobuoy"}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "sonobuoy-serviceaccount-sonobuoy"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", **account}],
            },
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "plugin", "namespace": "sonobuoy"},
                "spec": spec,
            },
        ],
        namespace="sonobuoy",
    )
    place = "/tmp/sonobuoy/results"
    tarball = _until_read(cluster, f"{place}/done", within=600).decode()
    (tmp_path / "results.tar.gz").write_bytes(_read(cluster, tarball))
    _run(["tar", "-C", str(tmp_path), "-xzf", str(tmp_path / "results.tar.gz")])
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "partial"
    assert 'failures="0"' in (tmp_path / "junit.xml").read_text()


def _overlay(settings: dict[str, str]) -> str:
    environ = [{"name": name, "value": value} for name, value in settings.items()]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "dgd-conformance"},
        "spec": {"template": {"spec": {"containers": [{"name": "suite", "env": environ}]}}},
    }
    return yaml.safe_dump({"resources": ["base"], "patches": [{"patch": yaml.safe_dump(job)}]})


def _owned(api: Api) -> list[str]:
    rows = api.metadata_list(NAMESPACES)[0]
    return [
        row["metadata"]["name"]
        for row in rows
        if row["metadata"].get("labels", {}).get(OWNED)
        and not row["metadata"].get("deletionTimestamp")
    ]


def _run(command: list[str], **environ: str) -> str:
    ended = subprocess.run(
        command, env={**os.environ, "PYTHON": sys.executable, **environ}, capture_output=True,
        text=True, timeout=900, check=False, cwd=paths.root(),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


def _read(cluster: KindCluster, path: str) -> bytes:
    command = ["kubectl", f"--kubeconfig={cluster.kubeconfig}", "exec", "-n", "sonobuoy", "plugin"]
    ended = subprocess.run(
        [*command, "-c", "worker", "--", "cat", path], capture_output=True, timeout=60, check=False
    )
    return ended.stdout if ended.returncode == 0 else b""


def _until_read(cluster: KindCluster, path: str, *, within: float) -> bytes:
    end = time.monotonic() + within
    while not (content := _read(cluster, path)):
        assert time.monotonic() < end, f"{path} was not there within {within:.0f} s"
        time.sleep(2.0)
    return content
