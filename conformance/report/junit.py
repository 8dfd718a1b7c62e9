"""What pytest's own JUnit XML lacks: verdict, outcome and findings as properties of each case."""

from __future__ import annotations

from collections.abc import Callable

from conformance.report.model import CaseResult


def properties(case: CaseResult) -> list[tuple[str, str]]:
    """Names and values for `<property>` elements, in a fixed order; empty values are left out."""
    found = [
        ("dgd.case", case.id),
        ("dgd.feature", case.feature),
        ("dgd.operator", case.operator),
        ("dgd.verdict", str(case.verdict or "")),
        ("dgd.outcome", str(case.outcome or "")),
        ("dgd.known", "true" if case.known else ""),
        ("dgd.history", case.history.path if case.history else ""),
    ]
    for finding in case.findings:
        text = f"{finding.verdict} {finding.subject}: {finding.message}"
        found.append((f"dgd.finding.{finding.checker}", text))
    return [(name, value) for name, value in found if value]


def record(record_property: Callable[[str, object], None], case: CaseResult) -> None:
    """Hand them to pytest's `record_property` fixture; under xdist they reach the controller."""
    for name, value in properties(case):
        record_property(name, value)
