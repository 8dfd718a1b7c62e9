"""On a cluster that is not thrown away, what was made goes again, and nothing else does."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from conformance.kube import Api
from conformance.model.errors import UsageError
from conformance.model.labels import of_run
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.resources import DEPLOYMENTS

from .conftest import Install
from .pods import deployment, ignored_webhook, rbac, write, write_operator

LABELS = of_run("1")


def test_removal_leaves_the_cluster_as_it_was(install: Install, api: Api, tmp_path: Path) -> None:
    operator = install(write_operator(tmp_path))
    graphs = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments"
    graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment"}
    # A finalizer that this operator, being none, never removes.
    metadata = {"name": "left", "finalizers": ["example.com/hold"]}
    assert api.request("POST", graphs, {**graph, "metadata": metadata, "spec": {}}).ok
    operator.close()
    names = [
        crd["metadata"]["name"]
        for crd in api.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[0]
    ]
    assert not [name for name in names if name.endswith(".nvidia.com")]
    for path in (
        "/api/v1/namespaces/ops",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/op-role",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/op-binding",
    ):
        assert api.request("GET", path).code == 404


def test_nothing_of_others_is_overwritten(install: Install, api: Api, tmp_path: Path) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert api.request("POST", path, {**role, "metadata": {"name": "op-role"}}).ok
    try:
        with pytest.raises(
            UsageError, match=r"has ClusterRole op-role already.*will not overwrite"
        ):
            install(write_operator(tmp_path), run="1")
        assert api.request("GET", "/api/v1/namespaces/ops").code == 404
    finally:
        api.request("DELETE", f"{path}/op-role")


def test_leftovers_of_an_earlier_run_are_taken_over(
    install: Install, api: Api, tmp_path: Path
) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    metadata = {"name": "op-role", "labels": of_run("0")}
    assert api.request("POST", path, {**role, "metadata": metadata}).ok
    install(write_operator(tmp_path), run="1").close()
    assert api.request("GET", f"{path}/op-role").code == 404


def test_suite_stands_in_for_cert_manager(install: Install, api: Api, tmp_path: Path) -> None:
    profile = write_operator(
        tmp_path, namespace="ops", extra=[ignored_webhook()], certificate_secret="certs"
    )
    install(profile)
    secret = api.get("/api/v1/namespaces/ops/secrets/certs")
    assert sorted(secret["data"]) == ["ca.crt", "tls.crt", "tls.key"]
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks"
    client = api.get(hooks)["webhooks"][0]["clientConfig"]
    assert client["caBundle"] == secret["data"]["ca.crt"]


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for Helm on PATH; the file in which it notes its commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("fake_helm.py"), folder / "fake_helm.py")
    program = folder / "helm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {folder}/fake_helm.py "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder / "helm.log"


def test_chart_is_installed_adapted_and_removed(
    install: Install, api: Api, helm: Path, tmp_path: Path
) -> None:
    profile = write_operator(
        tmp_path,
        kind="helm",
        manifests=[],
        chart="chart",
        release="mine",
        values={"image": "{image}", "deep": [{"tag": "{image_tag}"}]},
    )
    write(tmp_path / "chart" / "templates" / "op.yaml", *rbac(), deployment())
    chart = {"apiVersion": "v2", "name": "op", "version": "0.1.0"}
    write(tmp_path / "chart" / "Chart.yaml", chart)
    options = OperatorOptions(image="registry.example/op:7", faults=("x",))
    operator = install(profile, options=options, run="1")
    stored = api.read(DEPLOYMENTS, "op", "ops")
    assert stored is not None
    container = stored["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example/op:7"
    assert container["args"] == ["--a", "--fault=x"]
    assert stored["metadata"]["labels"].items() >= LABELS.items()
    values = yaml.safe_load((tmp_path / "logs" / "tried-values.yaml").read_text())
    assert values == {"image": "registry.example/op:7", "deep": [{"tag": "7"}]}
    operator.close()
    assert api.request("GET", "/api/v1/namespaces/ops").code == 404
    commands = [line.split()[0] for line in helm.read_text().splitlines()]
    assert commands == ["template", "install", "get", "uninstall"]
