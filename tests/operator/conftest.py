"""What the tests of installation share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .fakes import FakeCluster, FakeServer


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    directory = tmp_path / "cluster"
    directory.mkdir()
    made = FakeCluster(directory)
    yield made
    made.stop()
