"""Everything that a case needs, under one flat name: `from conformance.suite import ...`."""

import pytest

from conformance.driver import graphs
from conformance.driver.trial import Trial
from conformance.history.records import Expect
from conformance.model.children import Gang
from conformance.model.doors import Door, Method
from conformance.model.features import Feature
from conformance.model.graph import ApiVersion, Graph, Service
from conformance.model.transition import (
    ChangeKind,
    Transition,
    add_multinode,
    add_service,
    annotate,
    change_node_count,
    no_op,
    remove_multinode,
    remove_service,
    rename_service,
    scale,
    set_image,
    together,
)
from conformance.plugin.marks import case

DOORS: tuple[Door, ...] = tuple(
    Door(method=method, version=version) for version in ApiVersion for method in Method
)
"""Every way into the graph API that the suite knows."""


def every_door() -> pytest.MarkDecorator:
    """Run a case once through each door; doors of versions that are not served are skipped."""
    return pytest.mark.parametrize("door", DOORS, ids=str)


def every_version() -> pytest.MarkDecorator:
    """Run a case once in each API version."""
    return pytest.mark.parametrize("version", tuple(ApiVersion), ids=str)


__all__ = [
    "DOORS", "ApiVersion", "ChangeKind", "Door", "Expect", "Feature", "Gang", "Graph", "Method",
    "Service", "Transition", "Trial", "add_multinode", "add_service", "annotate", "case",
    "change_node_count", "every_door", "every_version", "graphs", "no_op", "remove_multinode",
    "remove_service", "rename_service", "scale", "set_image", "together",
]  # fmt: skip
