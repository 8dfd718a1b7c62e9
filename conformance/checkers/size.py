"""Size: groups, size, pods and gang minimum as the graph says, at each verdict moment."""

from __future__ import annotations

from conformance.checkers.base import CheckResult
from conformance.checkers.common import check_mismatches
from conformance.history.history import History
from conformance.model.verdict import CheckerName

NAME = CheckerName.SIZE


def check(history: History) -> CheckResult:
    """What `conformance.rules.size` finds at each verdict moment."""
    return check_mismatches(history, NAME)
