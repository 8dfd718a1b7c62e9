"""One real control plane for the tests that need one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.programs.prepare import ensure
from conformance.kube import Api
from conformance.model.bounds import Bounds
from conformance.operator import install as installing
from conformance.operator import profiles
from conformance.operator.installed import InstalledOperator
from conformance.operator.operator_options import OperatorOptions

from .pods import FakePodCluster

Install = Callable[..., InstalledOperator]

BOUNDS = Bounds(install=30.0, deletion_deadline=5.0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(programs=ensure()) as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: EmbeddedCluster) -> Iterator[Api]:
    with Api.from_kubeconfig(cluster.kubeconfig) as client:
        yield client


@pytest.fixture
def pods(cluster: EmbeddedCluster) -> FakePodCluster:
    """A cluster that is not thrown away, so that each test leaves it as it was."""
    return FakePodCluster(cluster, throw_away=False)


@pytest.fixture
def install(pods: FakePodCluster, tmp_path: Path) -> Iterator[Install]:
    """Installs the profile of a file; what was installed is removed with the test."""
    yield from _installing(pods, tmp_path)


@pytest.fixture
def install_only(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[Install]:
    """Installs the profile of a file on a cluster that is thrown away: nothing is removed."""
    yield from _installing(FakePodCluster(cluster), tmp_path)


def _installing(pods: FakePodCluster, folder: Path) -> Iterator[Install]:
    made: list[InstalledOperator] = []

    def run(
        profile: Path,
        *,
        bounds: Bounds = BOUNDS,
        options: OperatorOptions | None = None,
        **cluster: Any,
    ) -> InstalledOperator:
        """`cluster` changes what the cluster answers."""
        made.append(
            installing.install(
                replace(pods, **cluster),
                profiles.load(profile),
                options=options,
                bounds=bounds,
                logs=folder / "logs",
            )
        )
        return made[-1]

    yield run
    for operator in made:
        operator.close()
