"""Size: groups, size, pods and gang minimum as the graph says, at each checkpoint."""

from __future__ import annotations

from conformance.history.history import History
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import check_mismatches
from conformance.model.verdict import CheckerName

NAME = CheckerName.SIZE


def check(history: History) -> CheckResult:
    """What `conformance.judge.state.size` finds at each checkpoint."""
    return check_mismatches(history, NAME)
