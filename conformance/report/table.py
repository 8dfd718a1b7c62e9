"""The verdict table: a row for each feature, a column for each outcome, as cells of plain text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from conformance.model.verdict import Outcome, Verdict
from conformance.report.model import CaseResult, NotRun

NOT_RUN = "not run"
UNEXPECTED_PASS = "unexpected pass"
KNOWN = "known"
# Worst first.
_BAD = (str(Verdict.VIOLATES), str(Verdict.UNKNOWN), UNEXPECTED_PASS, KNOWN)


def word(case: CaseResult) -> str:
    """What tables say of one case: its verdict, `known`, `unexpected pass` or `not run`."""
    if case.not_run is not None:
        return NOT_RUN
    if case.known:
        return KNOWN
    return UNEXPECTED_PASS if case.unexpected_passes else str(case.verdict or Verdict.UNKNOWN)


def chosen(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Without the features that were deselected as a whole: a run of one case is about that one."""
    listed = list(cases)
    features = {case.feature for case in listed if case.not_run is not NotRun.DESELECTED}
    return [case for case in listed if case.feature in features]


def grid(cases: Sequence[CaseResult], *, narrow: bool = False) -> list[list[str]]:
    """The head, a row for each feature, and the row of totals; a cell may have several lines.

    Outcomes that no case has are left out. `narrow`: all outcomes share one column. Times are seconds
    from the start of a case to its judgement.
    """
    outcomes = [name for name in (*Outcome, NOT_RUN) if any(_ended(case) == name for case in cases)]
    features = dict.fromkeys(case.feature for case in cases)
    return [
        [
            "feature",
            "cases",
            *(["outcome"] if narrow else outcomes),
            "median",
            "slowest",
            "verdict",
        ],
        *(
            _row(name, [case for case in cases if case.feature == name], outcomes, narrow=narrow)
            for name in features
        ),
        _row("all", cases, outcomes, narrow=narrow),
    ]


def _row(
    name: str, cases: Sequence[CaseResult], outcomes: Sequence[str], *, narrow: bool
) -> list[str]:
    counts = {outcome: sum(_ended(case) == outcome for case in cases) for outcome in outcomes}
    if narrow:
        cells = ["\n".join(f"{number} {outcome}" for outcome, number in counts.items() if number)]
    else:
        cells = [str(number) if number else "" for number in counts.values()]
    return [name, str(len(cases)), *cells, *_times(cases), _verdict(cases)]


def _times(cases: Sequence[CaseResult]) -> tuple[str, str]:
    durations = [case.duration for case in cases if case.not_run is None]
    if not durations:
        return "", ""
    return f"{statistics.median(durations):.1f} s", f"{max(durations):.1f} s"


def _ended(case: CaseResult) -> str:
    return NOT_RUN if case.not_run is not None else str(case.outcome or "")


def _verdict(cases: Sequence[CaseResult]) -> str:
    """`conforms`, or how many cases are something else, a line each: `violates 2`."""
    words = [word(case) for case in cases]
    bad = [f"{name} {words.count(name)}" for name in _BAD if name in words]
    if bad:
        return "\n".join(bad)
    if Verdict.CONFORMS not in words:
        return NOT_RUN
    # A row must not promise more than the last line does.
    partial = any(case.not_run is not None and case.required for case in cases)
    return "partial" if partial else str(Verdict.CONFORMS)
