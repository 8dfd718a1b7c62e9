"""The command line options. Light, since every pytest in the environment loads it."""

from __future__ import annotations

import pytest


def add_options(parser: pytest.Parser) -> None:
    """Declare the suite's options. `dest` has a prefix: pytest cannot resolve clashes of names."""
    group = parser.getgroup("dgd-conformance", "conformance of DynamoGraphDeployment operators")
    group.addoption(
        "--operator", action="append", default=[], dest="dgd_operators", metavar="NAME|PATH",
        help="operator to put under test: a shipped profile or the path of one; repeatable",
    )  # fmt: skip
    group.addoption(
        "--operator-binary", dest="dgd_binary", metavar="PATH",
        help="the operator's program, for profiles that are run from one",
    )  # fmt: skip
    group.addoption(
        "--operator-crds", dest="dgd_crds", metavar="DIR",
        help="directory (or file) with the operator's CRDs",
    )  # fmt: skip
    group.addoption(
        "--operator-image", dest="dgd_image", metavar="REFERENCE",
        help="the operator's image, for clusters in which it runs as pods",
    )  # fmt: skip
    group.addoption(
        "--operator-chart", dest="dgd_chart", metavar="PATH|REFERENCE",
        help="the operator's Helm chart: a directory, an archive or an oci:// reference",
    )  # fmt: skip
    group.addoption(
        "--fault", action="append", default=[], dest="dgd_faults", metavar="NAME",
        help="switch on a fault of the reference operator (see `python -m conformance faults`)",
    )  # fmt: skip
    group.addoption(
        "--cluster", default="auto", dest="dgd_cluster", metavar="KIND",
        help="auto, embedded, kind or kubeconfig (default: the cheapest that the profile allows)",
    )  # fmt: skip
    group.addoption(
        "--kubernetes-version", dest="dgd_kubernetes", metavar="MINOR",
        help="Kubernetes of a kind cluster, such as 1.36; --kind-image names any other",
    )  # fmt: skip
    group.addoption(
        "--kube-context", dest="dgd_context", metavar="NAME",
        help="the context to use with --cluster=kubeconfig; the current one is never taken by itself",
    )  # fmt: skip
    group.addoption(
        "--i-own-this-cluster", action="store_true", dest="dgd_own",
        help="with --cluster=kubeconfig: run on a cluster that does not look disposable",
    )  # fmt: skip
    group.addoption(
        "--install-operator", action="store_true", dest="dgd_install",
        help="with --cluster=kubeconfig: install the operator too, and remove it at the end",
    )  # fmt: skip
    group.addoption(
        "--hold", type=float, dest="dgd_hold", metavar="SECONDS",
        help="hold window; another value than the default marks the report as not conformant",
    )  # fmt: skip
    group.addoption(
        "--timeout-factor", type=float, default=1.0, dest="dgd_factor", metavar="FACTOR",
        help="multiply the time limits, for a slow machine; marks the report, too",
    )  # fmt: skip
    group.addoption(
        "--shard", dest="dgd_shard", metavar="I/N",
        help="run only the I-th of N shares of the cases; `python -m conformance report merge` joins "
        "the results of all N",
    )  # fmt: skip
    group.addoption(
        "--results", default="results", dest="dgd_results", metavar="DIR",
        help="where histories, the report and logs go (default: results)",
    )  # fmt: skip
