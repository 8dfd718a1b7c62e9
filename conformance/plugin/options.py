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
        "--fault", action="append", default=[], dest="dgd_faults", metavar="NAME",
        help="switch on a fault of the reference operator (see `python -m conformance faults`)",
    )  # fmt: skip
    group.addoption(
        "--cluster", default="auto", dest="dgd_cluster", metavar="KIND",
        help="auto, embedded, kind or kubeconfig (default: the cheapest that the profile allows)",
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
        "--results", default="results", dest="dgd_results", metavar="DIR",
        help="where histories, the report and logs go (default: results)",
    )  # fmt: skip
