"""A kind cluster with the reference operator in it, and whole runs of the suite against both.

The node image is the one that a run without further options would have."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance import paths
from conformance.cluster.kind import Docker, KindCluster, KindOptions, find_tools
from conformance.kube import Api
from conformance.model.bounds import Bounds
from conformance.operator import profiles
from conformance.operator.installed import OperatorEvents
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.pods.install import PodInstallation
from conformance.plugin.kind import kind_cluster_class, kind_options

SEED = [
    "test_add_multinode.py::test_worker_becomes_an_lws[reference-merge-patch-v1beta1]",
    "test_remove_multinode.py::test_worker_becomes_a_deployment[reference-merge-patch-v1beta1]",
    "test_node_count.py::test_groups_follow[reference-2-to-3]",
]
"""The three transitions of topology, each in its plainest form."""

Suite = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def docker(pytestconfig: pytest.Config) -> Docker:
    made = Docker(find_tools(kind_options(pytestconfig)).docker)
    made.check()
    return made


@pytest.fixture(scope="session")
def node_image(pytestconfig: pytest.Config) -> str:
    return kind_options(pytestconfig).node_image


@pytest.fixture(scope="session")
def suite() -> Suite:
    """Runs the seed's cases (or others) by the real command; `options` as on the command line."""

    def run(
        results: Path, *options: str, cases: list[str] | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        wanted = [str(paths.cases() / case) for case in (SEED if cases is None else cases)]
        return subprocess.run(
            [
                sys.executable, "-m", "pytest", *wanted, "--operator=reference", "-q", "-n", "3",
                f"--results={results}", "-p", "no:cacheprovider", *options,
            ],
            capture_output=True, text=True, timeout=900, cwd=paths.root(), check=False,
            env={**os.environ, **environ},
        )  # fmt: skip

    return run


class ByOthers(PodInstallation):
    """An installation without the suite's labels."""

    @property
    def labels(self) -> dict[str, str]:
        return {}


@pytest.fixture(scope="session")
def cluster(
    pytestconfig: pytest.Config, node_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KindCluster]:
    """A cluster whose operator somebody else installed, as far as a run can tell."""
    with KindCluster(
        options=KindOptions(image=node_image, name=f"dgd-in-kind-{os.getpid()}"),
        cluster_class=kind_cluster_class(pytestconfig),
    ) as cluster:
        operator = ByOthers(
            cluster=cluster,
            loaded=profiles.load("reference"),
            options=OperatorOptions(),
            bounds=Bounds(install=120.0),
            logs=tmp_path_factory.mktemp("operator"),
            event_log=OperatorEvents(),
            api=Api.from_kubeconfig(cluster.kubeconfig),
        ).run()
        yield cluster
        operator.close()
