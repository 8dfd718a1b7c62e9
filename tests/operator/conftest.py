"""What the tests of installation share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cluster.supervise import Supervisor

from .fakes import FakePlane, FakeServer, supervised


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    yield from supervised(tmp_path / "reaped")


@pytest.fixture
def plane(tmp_path: Path, supervisor: Supervisor) -> FakePlane:
    directory = tmp_path / "plane"
    directory.mkdir()
    return FakePlane(directory, supervisor)
