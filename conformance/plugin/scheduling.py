"""Which worker runs which case: any worker any, but the disruptive ones of an operator all on one.

pytest-xdist's own groups (`--dist=loadgroup`, 3.8) are told by node ids, which pytest 9.2 does not let
a plugin change; and they would be sorted by size, while disruptive cases must come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling


class CaseScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships without types
    """Cases in their order, each a unit of its own, but for those that `groups` puts together."""

    def __init__(
        self,
        config: pytest.Config,
        log: Producer | None,
        *,
        groups: Callable[[], Mapping[str, str]],
    ) -> None:
        """`groups` is asked once cases are collected: node id → name of its group."""
        # Read by the base class when it schedules; our order is the order.
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._groups = groups
        self._known: Mapping[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._known is None:
            self._known = self._groups()
        return self._known.get(nodeid, nodeid)

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone. The case that it ran, if it crashed, is told and not run again: the base
        class would give it to one new worker after another."""
        workload = self.assigned_work[node]
        for scope, unit in list(workload.items()):
            if all(unit.values()):
                # The base class would hand it out once more, and a worker without work waits for ever.
                del workload[scope]
        left = [
            (unit, item) for unit in workload.values() for item, done in unit.items() if not done
        ]
        if not left:
            super().remove_node(node)
            return None
        unit, crashed = left[0]
        unit[crashed] = True
        super().remove_node(node)
        return str(crashed)
