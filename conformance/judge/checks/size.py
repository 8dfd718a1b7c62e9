"""Size: groups, size, pods and gang minimum as the graph says, at each checkpoint."""

from __future__ import annotations

from conformance.judge.case import Case
from conformance.judge.findings import CheckResult
from conformance.judge.sentences import check_mismatches
from conformance.model.verdict import CheckerName


def check(case: Case) -> CheckResult:
    """What `judge.state.size` finds at each checkpoint."""
    return check_mismatches(case, CheckerName.SIZE)
