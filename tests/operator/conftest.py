"""What the tests of installation share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .fakes import FakePlane, FakeServer


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[FakePlane]:
    directory = tmp_path / "plane"
    directory.mkdir()
    made = FakePlane(directory)
    yield made
    made.stop()
