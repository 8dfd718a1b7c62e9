"""The extra `kind`: pytest-kind's class and options, by way of pytest's plugin manager.

Its package is GPL and optional; the suite never imports it, and takes from it what it registered."""

import importlib.metadata
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.kind import KindOptions
from conformance.cluster.kind.options import DEFAULT_KUBERNETES, NODE_IMAGE_VARIABLE
from conformance.cluster.kind.pytest_kind import KindClusterClass
from conformance.model.errors import UsageError

# The names of the entry points; one of the two packages is enough, and both clash.
_PLUGINS = ("pytest-kind-ng", "pytest-kind")
# pytest-kind's default of --cluster-name: the user gave none.
_DEFAULT_NAME = "pytest-kind"
GATES_VARIABLE = "DGD_CONFORMANCE_KIND_FEATURE_GATES"
"""Feature gates of Kubernetes: `Name=true,Other=false`."""
MIRRORS_VARIABLE = "DGD_CONFORMANCE_KIND_MIRRORS"
"""Mirrors of image registries: `docker.io=https://mirror.example.com,...`."""


def kind_cluster_class(config: pytest.Config) -> KindClusterClass:
    """`KindCluster` of pytest-kind. Raises UsageError, saying what to install, if there is none, or
    both of its distributions are there."""
    installed = [name for name in _PLUGINS if _installed(name)]
    if len(installed) > 1:
        raise UsageError(
            f"{' and '.join(installed)} are both installed and hold the same files: run "
            f"`pip uninstall {' '.join(installed)}`, then `pip install 'dgd-conformance[kind]'`"
        )
    for name in _PLUGINS:
        plugin = config.pluginmanager.get_plugin(name)
        factory: KindClusterClass | None = getattr(plugin, "KindCluster", None)
        if factory is not None:
            return factory
    blocked = f" ({installed[0]} is installed, but switched off by `-p no:`)" if installed else ""
    raise UsageError(
        "--cluster=kind needs the extra `kind`, which brings pytest-kind-ng"
        f"{blocked}: pip install 'dgd-conformance[kind]'"
    )


def kind_options(
    config: pytest.Config, *, kubernetes: str = "", environ: Mapping[str, str] | None = None
) -> KindOptions:
    """pytest-kind's own options, as the suite understands them, and environment variables; options
    win. Raises UsageError."""
    environ = os.environ if environ is None else environ
    if config.getoption("kubeconfig", None):
        raise UsageError(
            "--kubeconfig with --cluster=kind would have that file's cluster overwritten: leave it "
            "out; to test on a cluster of your own, say --cluster=kubeconfig --kube-context=NAME"
        )
    gates = _pairs(environ, GATES_VARIABLE)
    for gate, value in gates.items():
        if value.lower() not in ("true", "false"):
            raise UsageError(f"{GATES_VARIABLE}: {gate}={value}; expected true or false")
    name = config.getoption("cluster_name", None) or ""
    image = config.getoption("kind_image", None) or ""
    if not image and not kubernetes:
        image = environ.get(NODE_IMAGE_VARIABLE, "")
    return KindOptions(
        image=image, kubernetes=kubernetes or DEFAULT_KUBERNETES,
        name="" if name == _DEFAULT_NAME else name,
        keep=bool(config.getoption("keep_cluster", False)),
        kind=_path(config.getoption("kind_bin", None)),
        kubectl=_path(config.getoption("kind_kubectl_bin", None)),
        feature_gates={gate: value.lower() == "true" for gate, value in gates.items()},
        mirrors=_pairs(environ, MIRRORS_VARIABLE),
    )  # fmt: skip


def _installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _path(value: Any) -> Path | None:
    return Path(str(value)) if value else None


def _pairs(environ: Mapping[str, str], variable: str) -> dict[str, str]:
    pairs = {}
    for item in filter(None, environ.get(variable, "").split(",")):
        name, equals, value = item.strip().partition("=")
        if not name or not equals or not value:
            raise UsageError(f"{variable}: {item!r} is no NAME=VALUE")
        pairs[name] = value
    return pairs
