"""Which worker runs which case: any worker any, but the disruptive ones of an operator all on one.

pytest-xdist's own groups (`--dist=loadgroup`, 3.8) are told by node ids, which pytest 9.2 does not let
a plugin change; and they would be sorted by size, while disruptive cases must come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
