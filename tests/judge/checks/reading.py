"""Short ways to read a checker's result in a test."""

from conformance.judge.findings import CheckResult
from conformance.model.verdict import Finding, Verdict


def gating(result: CheckResult) -> list[Finding]:
    """The findings that gate."""
    return [finding for finding in result.findings if finding.gates]


def reported(result: CheckResult) -> list[Finding]:
    """The findings that only report."""
    return [finding for finding in result.findings if not finding.gates]


def only(result: CheckResult, verdict: Verdict) -> Finding:
    """The one gating finding, which must have that verdict."""
    found = gating(result)
    assert len(found) == 1, [finding.message for finding in found]
    assert found[0].verdict is verdict, found[0].message
    return found[0]
