"""The extra `kind`, seen from pytest."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.cluster.kind.options import KindOptions
from conformance.model.errors import UsageError
from conformance.plugin.kind import kind_cluster_class, kind_options

ROOT = Path(__file__).parents[2]


class Config:
    """What is asked of pytest's configuration."""

    def __init__(self, options: dict[str, Any] | None = None, **plugins: Any) -> None:
        self.pluginmanager = SimpleNamespace(get_plugin=plugins.get)
        self._options = options or {}

    def getoption(self, name: str, default: Any = None) -> Any:
        return self._options.get(name, default)


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    def distribution(name: str) -> str:
        if name in names:
            return name
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)


@pytest.mark.parametrize("name", ["pytest-kind-ng", "pytest-kind"])
def test_either_distribution_brings_the_class(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    installed(monkeypatch, name)
    config: Any = Config(**{name: SimpleNamespace(KindCluster=str)})
    assert kind_cluster_class(config) is str


def test_without_the_extra_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    config: Any = Config()
    with pytest.raises(UsageError, match=r"pip install 'dgd-conformance\[kind\]'"):
        kind_cluster_class(config)


def test_a_plugin_that_is_switched_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "pytest-kind-ng")
    config: Any = Config()
    with pytest.raises(UsageError, match="switched off by `-p no:`"):
        kind_cluster_class(config)


def test_both_distributions_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "pytest-kind-ng", "pytest-kind")
    config: Any = Config(**{"pytest-kind": SimpleNamespace(KindCluster=str)})
    with pytest.raises(UsageError, match="pip uninstall pytest-kind-ng pytest-kind"):
        kind_cluster_class(config)


def test_the_installed_extra_is_found(pytestconfig: pytest.Config) -> None:
    assert kind_cluster_class(pytestconfig).__name__ == "KindCluster"  # type: ignore[attr-defined]


def test_the_suite_does_not_import_the_extra() -> None:
    code = (
        "import sys, conformance.cluster.kind, conformance.plugin.kind; "
        "print([name for name in sys.modules if name.split('.')[0] in ('pytest_kind', 'pykube')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"
    for file in (ROOT / "conformance").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "import pytest_kind" not in text
        assert "from pytest_kind" not in text


def options(given: dict[str, Any], **environ: str) -> KindOptions:
    config: Any = Config(given)
    return kind_options(config, environ=environ)


def test_the_options_of_the_plugin_are_understood() -> None:
    found = options(
        {
            "cluster_name": "mine",
            "keep_cluster": True,
            "kind_image": "kindest/node:offline",
            "kind_bin": "/opt/kind",
            "kind_kubectl_bin": "/opt/kubectl",
        }
    )
    assert found == KindOptions(
        name="mine",
        keep=True,
        image="kindest/node:offline",
        kind=Path("/opt/kind"),
        kubectl=Path("/opt/kubectl"),
    )


def test_the_default_name_of_the_plugin_is_no_choice() -> None:
    assert options({"cluster_name": "pytest-kind"}) == KindOptions()


def test_its_kubeconfig_would_be_overwritten_and_is_refused() -> None:
    with pytest.raises(UsageError, match="--cluster=kubeconfig --kube-context"):
        options({"kubeconfig": "/home/me/.kube/config"})


@pytest.mark.parametrize(
    ("given", "kubernetes", "image"),
    [({}, "", "mine:1"), ({"kind_image": "other:2"}, "", "other:2"), ({}, "1.36", "")],
)
def test_the_environments_image_is_for_who_does_not_choose(
    given: dict[str, Any], kubernetes: str, image: str
) -> None:
    environ = {"DGD_CONFORMANCE_KIND_IMAGE": "mine:1"}
    config: Any = Config(given)
    assert kind_options(config, kubernetes=kubernetes, environ=environ).image == image


def test_gates_and_mirrors_come_from_the_environment() -> None:
    found = options(
        {},
        DGD_CONFORMANCE_KIND_FEATURE_GATES="A=true,B=False",
        DGD_CONFORMANCE_KIND_MIRRORS="docker.io=https://m:5000",
    )
    assert found.feature_gates == {"A": True, "B": False}
    assert found.mirrors == {"docker.io": "https://m:5000"}


@pytest.mark.parametrize("value", ["A", "A=", "=true", "A=perhaps"])
def test_a_gate_that_cannot_be_read_is_told(value: str) -> None:
    with pytest.raises(UsageError, match="DGD_CONFORMANCE_KIND_FEATURE_GATES"):
        options({}, DGD_CONFORMANCE_KIND_FEATURE_GATES=value)


def test_a_kubernetes_version_chooses_the_image() -> None:
    config: Any = Config()
    assert kind_options(config, kubernetes="1.35", environ={}).node_image.startswith(
        "kindest/node:v1.35."
    )
