"""Selectors: each component Service selects its own ready routable pods, and nobody else's."""

from __future__ import annotations

from conformance.judge.case import Case
from conformance.judge.findings import CheckResult
from conformance.judge.sentences import check_mismatches
from conformance.model.verdict import CheckerName


def check(case: Case) -> CheckResult:
    """What `judge.state.selectors` finds at each checkpoint."""
    return check_mismatches(case, CheckerName.SELECTORS)
