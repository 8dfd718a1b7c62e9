"""Which run takes which case (`--shard=i/n`), and which worker: any worker any, but the disruptive
ones of an operator all on one.

pytest-xdist's own groups (`--dist=loadgroup`, 3.8) are told by node ids, which pytest 9.2 does not let
a plugin change; and they would be sorted by size, while disruptive cases must come last.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from conformance.model.shard import Shard
from conformance.plugin.marks import case_id, mark_of
from conformance.plugin.options import option
from conformance.report import files


class Sharding:
    """Deselects cases of other shares, after `-k` and the like have had their say."""

    def __init__(self, text: str) -> None:
        """Raises UsageError if the text is no share."""
        self._shard = Shard.parse(text)
        self.all_elsewhere = False
        """There are cases to run, and all of them are of other shares: that is no mistake of the user,
        as an empty collection otherwise is, and such a share is needed to complete the others."""

    # Last: what `-k` leaves out is left out of every share, and a share is empty only if the others
    # have all cases that were chosen.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the cases of this share. What is no case runs in each."""
        other = [i for i in items if mark_of(i) and not self._shard.owns(case_id(i))]
        if other:
            gone = set(other)
            items[:] = [item for item in items if item not in gone]
            self.all_elsewhere = not items
            config.hook.pytest_deselected(items=other)

    # Last: plugins that are told of pytest's code put it back (syrupy does).
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A share without cases is a success if its report was written, which says that the others have
        them. Where nothing at all was chosen there is none."""
        results = Path(option(session.config, "results"))
        empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if empty and any(results.glob(f"{files.STEM}*.json")):
            session.exitstatus = pytest.ExitCode.OK


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
        self._groups = functools.cache(groups)

    def _split_scope(self, nodeid: str) -> str:
        return self._groups().get(nodeid, nodeid)

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone. The case that it ran, if it crashed, is told and not run again: the base
        class would give it to one new worker after another."""
        workload = self.assigned_work[node]
        for scope, unit in list(workload.items()):
            if all(unit.values()):
                # The base class would hand it out once more, and a worker without work waits for ever.
                del workload[scope]
        left = (
            (unit, item) for unit in workload.values() for item, done in unit.items() if not done
        )
        unit, crashed = next(left, (None, None))
        if unit is not None:
            unit[crashed] = True
        super().remove_node(node)
        return crashed
