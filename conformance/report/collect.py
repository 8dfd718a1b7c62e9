"""At the end of a session: what the workers wrote becomes the reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from conformance.model.verdict import Verdict
from conformance.report import files
from conformance.report.build import RunFacts, report
from conformance.report.model import CaseResult, ConformanceReport

_END_LOST = "the run ended, but the judgement of its end was lost; run it again"
_LOST = (
    "left no result: its worker process died, or the run was stopped before it; run the case again "
    "alone"
)


def lost(
    expected: Iterable[CaseResult], found: Iterable[CaseResult], *, broken_off: str = ""
) -> list[CaseResult]:
    """Cases that were to be run and left no result (their worker died): unknown, never forgotten.

    `expected` need hold no more than id, feature, title, operator and nodeid. `broken_off` says why
    the whole run ended before its time, if it did.
    """
    there = {(case.operator, case.id) for case in found}
    why = f"left no result, since the run was broken off: {broken_off}" if broken_off else _LOST
    return [
        case.model_copy(
            update={"verdict": Verdict.UNKNOWN, "error": _END_LOST if case.of_run else why}
        )
        for case in expected
        if (case.operator, case.id) not in there
    ]


def collect(
    results: Path,
    facts: Mapping[str, RunFacts],
    *,
    expected: Iterable[CaseResult] = (),
    broken_off: str = "",
) -> list[ConformanceReport]:
    """Write a report for each operator (`facts` is by its name) from the files of its cases. Raises
    OSError, InfraError."""
    cases = files.read_cases(results)
    cases += lost(expected, cases, broken_off=broken_off)
    reports = {
        name: report([case for case in cases if case.operator == name], fact)
        for name, fact in facts.items()
    }
    files.write(reports, results)
    return list(reports.values())
