"""Selectors: each component Service selects its own ready routable pods, and nobody else's."""

from __future__ import annotations

from conformance.history.history import History
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import check_mismatches
from conformance.model.verdict import CheckerName

NAME = CheckerName.SELECTORS


def check(history: History) -> CheckResult:
    """What `conformance.judge.state.selectors` finds at each checkpoint."""
    return check_mismatches(history, NAME)
