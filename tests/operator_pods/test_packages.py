"""What is shipped is read, rendered and checked before anything is written."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cluster.nodes import RealNodes
from conformance.model.errors import InfraError, UsageError
from conformance.model.installs import ClusterInstall, Placement
from conformance.operator import profiles
from conformance.operator.operator_options import OperatorOptions, check_options
from conformance.operator.pods.adapt import Adaptation
from conformance.operator.pods.commands import run
from conformance.operator.pods.packages import Helm, Package, check_hooks, read_package

from .pods import write_operator


def shipped(folder: Path, options: OperatorOptions | None = None, **in_cluster: Any) -> Package:
    loaded = profiles.load(write_operator(folder, **in_cluster))
    return read_package(
        loaded,
        options or OperatorOptions(),
        kubeconfig=folder / "kubeconfig",
        scratch=folder / "scratch",
        kube_version="v1.37.0",
    )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """helm and kubectl that print a ConfigMap with the arguments and environment they got."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("helm", "kubectl"):
        program = folder / name
        program.write_text(
            "#!/bin/sh\n"
            'printf "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: said}\\ndata:\\n"\n'
            "echo \"  arguments: '$*'\"\n"
            "echo \"  context: '$HELM_KUBECONTEXT$KUBECONFIG'\"\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_manifests_are_read_without_their_kustomization(tmp_path: Path) -> None:
    (tmp_path / "op").mkdir()
    (tmp_path / "op" / "kustomization.yaml").write_text("resources: [op.yaml]\n")
    kinds = [manifest["kind"] for manifest in shipped(tmp_path).manifests]
    assert kinds == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment"]
    assert [crd["kind"] for crd in shipped(tmp_path).crds] == ["CustomResourceDefinition"] * 2


def test_kustomization_is_rendered_by_kubectl(tmp_path: Path, programs: Path) -> None:
    found = shipped(tmp_path, kind="kustomize", manifests=["op"])
    assert found.manifests[0]["data"]["arguments"] == f"kustomize {tmp_path / 'op'}"


def test_chart_is_rendered_with_its_values_and_for_no_other_cluster(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELM_KUBECONTEXT", "production")
    monkeypatch.setenv("KUBECONFIG", "/production")
    found = shipped(
        tmp_path,
        OperatorOptions(image="r.example:5000/op:2"),
        kind="helm",
        manifests=[],
        chart="op",
        chart_version="1.2.3",
        repository="https://charts.example",
        release="mine",
        values={"a": "{namespace}", "b": {"c": ["{image_repository}", 1, True]}},
    )
    said = found.manifests[0]["data"]
    assert said["arguments"] == (
        f"template mine op --namespace ops --version 1.2.3 --repo https://charts.example --values "
        f"{tmp_path / 'scratch' / 'tried-values.yaml'} --include-crds --kube-version v1.37.0 "
        f"--kubeconfig {tmp_path / 'kubeconfig'}"
    )
    assert said["context"] == ""
    values = yaml.safe_load((tmp_path / "scratch" / "tried-values.yaml").read_text())
    assert values == {"a": "ops", "b": {"c": ["r.example:5000/op", 1, True]}}


def test_given_chart_replaces_the_public_one(tmp_path: Path, programs: Path) -> None:
    found = shipped(
        tmp_path,
        OperatorOptions(chart="/my/chart"),
        kind="helm",
        manifests=[],
        chart="op",
        chart_version="1",
        repository="https://charts.example",
    )
    arguments = found.manifests[0]["data"]["arguments"]
    assert arguments.startswith("template tried /my/chart --namespace ops --values ")


@pytest.mark.parametrize(
    ("in_cluster", "sentence"),
    [
        (
            {"kind": "helm", "manifests": [], "chart": "op"},
            "/op as tried needs `helm`, which is not on PATH: install Helm 3.13 or newer",
        ),
        (
            {"kind": "kustomize", "manifests": ["op"]},
            "rendering the kustomization of the operator tried needs `kubectl`, which is not on PATH",
        ),
        ({"manifests": []}, "`in_cluster.manifests` is empty, so there is nothing to install"),
    ],
)
def test_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_cluster: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError) as caught:
        shipped(tmp_path, **in_cluster)
    assert sentence in str(caught.value)


def test_programs_last_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="trying failed: first; second"):
        run("sh", "-c", "echo first >&2; echo second >&2; exit 3", doing="trying", within=10)


def test_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="trying did not finish within 0 s"):
        run("sleep", "60", doing="trying", within=0.2)


def hook(kind: str, when: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "h", "annotations": {"helm.sh/hook": when}}
    return {
        "apiVersion": "batch/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"template": {"spec": {"containers": [], **spec}}},
    }


def test_hook_on_simulated_nodes_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"runs Job h as a hook, .* a toleration for .*real-node"):
        check_hooks([hook("Job", "pre-install,pre-upgrade", {})], RealNodes(), where="p.yaml")


def test_hooks_that_are_placed_or_not_run_or_on_real_nodes_are_fine() -> None:
    nodes = RealNodes()
    settings = ClusterInstall(namespace="ops", deployment="op")
    placed = Adaptation(settings=settings, nodes=nodes).apply(hook("Job", "post-install", {}))
    check_hooks([placed, hook("Job", "test", {})], nodes, where="p.yaml")
    check_hooks([hook("Job", "post-install", {})], None, where="p.yaml")


def test_uninstall_ignores_a_release_that_is_not_there(tmp_path: Path, programs: Path) -> None:
    log = tmp_path / "log"
    (programs / "helm").write_text(f'#!/bin/sh\necho "$*" > {log}\n', encoding="utf-8")
    Helm(
        chart="op",
        release="mine",
        namespace="ops",
        kubeconfig=tmp_path / "k",
        options=(),
    ).uninstall(within=30)
    assert "uninstall mine --namespace ops --ignore-not-found" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("in_cluster", "sentence"),
    [
        ({"kind": "helm", "chart": "op"}, "`manifests` has no effect for kind helm"),
        ({"kind": "helm", "manifests": []}, "needs `chart`"),
        ({"values": {"a": 1}}, "`values` has no effect for kind manifests, only for helm"),
        ({"kind": "kustomize", "manifests": ["op", "crds"]}, "must be one directory"),
        ({"dockerfile": "op", "image": ""}, "`dockerfile` needs `image`"),
        ({"dockerfile": "Dockerfile"}, "there is no file or directory"),
        ({"fault_argument": "--x={fautl}"}, "unknown placeholder {fautl}"),
        (
            {"kind": "helm", "manifests": [], "chart": "op", "values": {"a": [{"b": "{img}"}]}},
            "`in_cluster.values.a.0.b`: unknown placeholder {img}",
        ),
    ],
)
def test_mistake_in_a_profile_costs_no_cluster(
    tmp_path: Path, in_cluster: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        profiles.load(write_operator(tmp_path, **in_cluster))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"faults": ("hot-lop",)},
            "--fault=hot-lop is no fault of the operator tried; did you mean hot-loop?",
        ),
        (
            {"faults": ("zzz",)},
            "--fault=zzz is no fault of the operator tried; known are hot-loop, lost",
        ),
        ({"chart": "x"}, "--operator-chart: the operator tried has no use for it"),
        ({"binary": Path("x")}, "--operator-binary: the operator tried has no use for it"),
    ],
)
def test_inputs_are_checked_for_pods_too(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    path = write_operator(tmp_path)
    profile = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**profile, "faults": ["hot-loop", "lost"]}), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        check_options(profiles.load(path), OperatorOptions(**options), placement=Placement.PODS)
    assert str(caught.value).startswith(sentence)
