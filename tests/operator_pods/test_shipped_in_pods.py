"""The operators that come with the suite, as they run in pods."""

import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from conformance import paths
from conformance.model.installs import ClusterInstall, Packaging
from conformance.operator import faults, profiles
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.pods.adapt import Adaptation, own_container
from conformance.operator.pods.packages import Package, read_package
from conformance.operator.webhooks import services

POLICIES = {
    "reference": "reconcile",
    "reference-refusing": "refuse",
    "reference-statefulset": "reconcile",
}
ERAS = ("dynamo-2025-11", "dynamo-2025-12", "dynamo-2026-01", "dynamo-2026-08")


def shipped(name: str, folder: Path) -> Package:
    if name != "reference" and shutil.which("kubectl") is None:
        pytest.skip("kubectl renders this operator's kustomization, and is not on PATH")
    return read_package(
        profiles.load(name),
        OperatorOptions(),
        kubeconfig=folder / "none",
        scratch=folder,
        kube_version="v1.37.0",
    )


@pytest.mark.parametrize("name", POLICIES)
def test_faults_of_a_reference_are_those_of_its_policy(name: str) -> None:
    own = tuple(faults.of_reference()[name])
    assert own
    assert profiles.load(name).faults == own


@pytest.mark.parametrize("name", POLICIES)
def test_reference_runs_with_its_policy_and_a_certificate_for_its_service(
    name: str, tmp_path: Path
) -> None:
    parts, settings = shipped(name, tmp_path), profiles.load(name).profile.pods
    container = own_container(parts.manifests, Adaptation(settings=settings), where=name)
    assert container["args"][0] == f"--policy={POLICIES[name]}"
    assert container["image"] == settings.image
    assert {ref.host for ref in services(parts.everything)} == {
        "dgd-reference-webhook.dgd-reference.svc"
    }
    secrets = [
        volume["secret"]["secretName"]
        for manifest in parts.manifests
        if manifest["kind"] == "Deployment"
        for volume in manifest["spec"]["template"]["spec"]["volumes"]
    ]
    assert secrets == [settings.certificate_secret]


@pytest.mark.parametrize("name", POLICIES)
def test_both_references_install_alike_in_a_process_and_in_pods(name: str) -> None:
    profile = profiles.load(name).profile
    assert profile.process.crds == profile.pods.crds
    assert profile.process.namespace == profile.pods.namespace
    assert profile.process.fault_argument == profile.pods.fault_argument


def test_reference_asks_for_no_right_on_everything(tmp_path: Path) -> None:
    role = next(m for m in shipped("reference", tmp_path).manifests if m["kind"] == "ClusterRole")
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]


def test_reference_in_a_pod_imports_only_what_its_requirements_name() -> None:
    folder = paths.operators() / "reference"
    text = (folder / "requirements.txt").read_text(encoding="utf-8")
    wanted = {line.strip() for line in text.splitlines() if line and not line.startswith("#")}
    imported = {
        match.group(1)
        for file in folder.glob("*.py")
        # At the top level: what is imported in a function is needed there only.
        for match in re.finditer(r"^(?:import|from) (\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert imported - set(sys.stdlib_module_names) == wanted


@pytest.mark.parametrize("name", ERAS)
def test_released_builds_come_by_their_public_chart(name: str) -> None:
    settings = profiles.load(name).profile.pods
    assert settings.kind is Packaging.HELM
    assert settings.takes_image
    # In December 2025 no chart was published.
    assert settings.needs_chart is settings.needs_image is (name == "dynamo-2025-12")
    if not settings.needs_chart:
        assert settings.image.endswith(f":{settings.chart_version}")


def test_template_shows_an_installation_in_pods_that_is_one() -> None:
    text = (paths.operators() / "_template" / "profile.yaml").read_text(encoding="utf-8")
    start = text.index("# in_cluster:")
    block = text[start:].split("\n\n")[0]
    shown = yaml.safe_load("\n".join(line.removeprefix("# ") for line in block.splitlines()))
    settings = ClusterInstall.model_validate(shown["in_cluster"])
    assert settings.needs_crds
    assert settings.certificate_secret
