"""`--shard=i/n`: cases of other shares are deselected, after `-k` and the like have had their say."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.model.shard import Shard
from conformance.plugin.marks import case_id, mark_of
from conformance.plugin.options import option
from conformance.report import files

_ELSEWHERE = pytest.StashKey[bool]()


def read(config: pytest.Config) -> Shard | None:
    """The share of this run; None if it takes all cases. Raises UsageError."""
    text = option(config, "shard")
    return None if text is None else Shard.parse(text)


def register(config: pytest.Config) -> None:
    """Check the option at once, and take part in the collection if it is given. Raises UsageError."""
    shard = read(config)
    if shard is not None:
        config.pluginmanager.register(_Sharding(shard), "dgd-conformance-sharding")


def all_elsewhere(config: pytest.Config) -> bool:
    """True if there are cases to run, and all of them are of other shares: that is no mistake of the
    user, as an empty collection otherwise is, and such a share is needed to complete the others."""
    return config.stash.get(_ELSEWHERE, False)


class _Sharding:
    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    # Last: what `-k` leaves out is left out of every share, and a share is empty only if the others
    # have all cases that were chosen.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the cases of this share. What is no case runs in each."""
        other = [
            item for item in items
            if mark_of(item) is not None and not self._shard.owns(case_id(item))
        ]  # fmt: skip
        if other:
            gone = set(other)
            items[:] = [item for item in items if item not in gone]
            config.stash[_ELSEWHERE] = not items
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
