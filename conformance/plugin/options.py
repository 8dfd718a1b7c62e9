"""The command line options. Light, since every pytest in the environment loads it."""

from typing import Any

import pytest

OPTIONS: dict[str, dict[str, Any]] = {
    "operator": {
        "action": "append", "default": [], "metavar": "NAME|PATH",
        "help": "operator under test: the name of a shipped profile, or the path of your own; "
        "repeatable",
    },
    "operator-binary": {
        "metavar": "PATH", "help": "program of the operator, for profiles whose command starts one",
    },
    "operator-crds": {"metavar": "DIR", "help": "directory (or file) with the operator's CRDs"},
    "operator-image": {
        "metavar": "REFERENCE", "help": "image of the operator, for clusters that run it in pods",
    },
    "operator-chart": {
        "metavar": "PATH|REFERENCE",
        "help": "Helm chart of the operator: a directory, an archive or an oci:// reference",
    },
    "fault": {
        "action": "append", "default": [], "metavar": "NAME",
        "help": "switch on a fault of the reference operator (list them with `python -m conformance "
        "faults`); repeatable",
    },
    "cluster": {
        "default": "auto", "metavar": "KIND",
        "help": "auto, embedded, kind or kubeconfig (default: the cheapest that the profile allows)",
    },
    "kubernetes-version": {
        "metavar": "MINOR",
        "help": "Kubernetes version of a kind cluster, such as 1.36; for other images use "
        "--kind-image",
    },
    "kube-context": {
        "metavar": "NAME",
        "help": "context for --cluster=kubeconfig; the current context is never used by default",
    },
    "i-own-this-cluster": {
        "action": "store_true",
        "help": "with --cluster=kubeconfig: run on a cluster that does not look disposable",
    },
    "install-operator": {
        "action": "store_true",
        "help": "with --cluster=kubeconfig: install the operator, and remove it at the end",
    },
    "hold": {
        "type": float, "metavar": "SECONDS",
        "help": "hold window; any other than the default makes the report partial",
    },
    "timeout-factor": {
        "type": float, "default": 1.0, "metavar": "FACTOR",
        "help": "multiply all time limits, for a slow machine; makes the report partial",
    },
    "shard": {
        "metavar": "I/N",
        "help": "run the I-th of N shares of the cases; `python -m conformance report merge` joins "
        "the results of all N",
    },
    "results": {
        "default": "results", "metavar": "DIR",
        "help": "directory for histories, report and logs (default: results)",
    },
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the suite's options."""
    group = parser.getgroup("dgd-conformance", "conformance of DynamoGraphDeployment operators")
    for name, settings in OPTIONS.items():
        group.addoption(f"--{name}", dest=_dest(name), **settings)


def option(config: pytest.Config, name: str) -> Any:
    """The value of one of the suite's options."""
    return config.getoption(_dest(name))


def _dest(name: str) -> str:
    # pytest cannot resolve clashes of these names, so they have a prefix.
    return f"dgd_{name.replace('-', '_')}"
