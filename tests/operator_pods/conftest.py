"""One real control plane for the tests that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedPlane
from conformance.cluster.programs import ensure
from conformance.kube import Api
from conformance.model.bounds import Bounds
from conformance.operator import profiles
from conformance.operator.inputs import Inputs
from conformance.operator.pods import PodOperator, install_in_pods

from .pods import FakePodPlane

Install = Callable[..., PodOperator]

BOUNDS = Bounds(install=30.0, deletion_deadline=5.0)


@pytest.fixture(scope="module")
def plane() -> Iterator[EmbeddedPlane]:
    with EmbeddedPlane(programs=ensure()) as running:
        yield running


@pytest.fixture(scope="module")
def api(plane: EmbeddedPlane) -> Iterator[Api]:
    with Api.from_kubeconfig(plane.kubeconfig) as client:
        yield client


@pytest.fixture
def pods(plane: EmbeddedPlane) -> FakePodPlane:
    """A cluster that is not thrown away, so that each test leaves it as it was."""
    return FakePodPlane(plane, throw_away=False)


@pytest.fixture
def install(pods: FakePodPlane, tmp_path: Path) -> Iterator[Install]:
    """Installs the profile of a file; what was installed is removed with the test."""
    yield from _installing(pods, tmp_path)


@pytest.fixture
def install_only(plane: EmbeddedPlane, tmp_path: Path) -> Iterator[Install]:
    """Installs the profile of a file on a cluster that is thrown away: nothing is removed."""
    yield from _installing(FakePodPlane(plane), tmp_path)


def _installing(pods: FakePodPlane, folder: Path) -> Iterator[Install]:
    made: list[PodOperator] = []

    def run(profile: Path, *, bounds: Bounds = BOUNDS, **options: Any) -> PodOperator:
        inputs = options.pop("inputs", Inputs())
        made.append(
            install_in_pods(
                pods,
                profiles.load(profile),
                inputs=inputs,
                bounds=bounds,
                log_directory=folder / "logs",
                **options,
            )
        )
        return made[-1]

    yield run
    for operator in made:
        operator.close()
