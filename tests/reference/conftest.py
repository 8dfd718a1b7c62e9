import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "operators", Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from reference_fakes import FakeApi, Operator, Start  # noqa: E402 - needs the path set above

from reference.objects import DEPLOYMENT, Kind  # noqa: E402 - so does this


@pytest.fixture
def fixtures() -> Path:
    return ROOT / "fixtures"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def start(api: FakeApi) -> Iterator[Start]:
    """Starts the operator's controllers on the fake API, with the faults given by name."""
    running: list[Operator] = []

    def begin(*faults: str, single_node: Kind = DEPLOYMENT) -> Operator:
        running.append(Operator(api, *faults, single_node=single_node))
        return running[-1]

    yield begin
    for operator in running:
        operator.stop()
