"""A pretended machine, and pytest-kind's class as the plugin hands it out."""

from pathlib import Path

import pytest

from conformance.cluster.kind.pytest_kind import KindClusterClass
from conformance.plugin.kind import kind_cluster_class
from tests.kind.fakes import Machine, machine_at


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return machine_at(tmp_path / "machine")


@pytest.fixture
def cluster_class(pytestconfig: pytest.Config) -> KindClusterClass:
    return kind_cluster_class(pytestconfig)
