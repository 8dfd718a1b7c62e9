"""Selectors: each component Service selects its own ready routable pods, and nobody else's."""

from __future__ import annotations

from conformance.checkers.base import CheckResult
from conformance.checkers.common import check_mismatches
from conformance.history.history import History
from conformance.model.verdict import CheckerName

NAME = CheckerName.SELECTORS


def check(history: History) -> CheckResult:
    """What `conformance.rules.selectors` finds at each verdict moment."""
    return check_mismatches(history, NAME)
