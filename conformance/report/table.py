"""The verdict table: a row for each feature, a column for each outcome; as plain cells, and drawn."""

import io
import statistics
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.model.verdict import Outcome, Verdict
from conformance.report.model import CaseResult, NotRun

_NOT_RUN = "not run"
_UNEXPECTED_PASS = "unexpected pass"
_KNOWN = "known"
# Worst first.
_BAD = (str(Verdict.VIOLATES), str(Verdict.UNKNOWN), _UNEXPECTED_PASS, _KNOWN)
# The first word of a line in the column of verdicts → its style.
_STYLES = {
    "conforms": "green",
    **dict.fromkeys(("known", "partial", "unexpected"), "yellow"),
    "unknown": "magenta",
    "violates": "bold red",
}


def word(case: CaseResult) -> str:
    """What tables say of one case: its verdict, `known`, `unexpected pass` or `not run`."""
    if case.not_run is not None:
        return _NOT_RUN
    if case.known:
        return _KNOWN
    return _UNEXPECTED_PASS if case.unexpected_passes else str(case.verdict or Verdict.UNKNOWN)


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
    outcomes = [
        name for name in (*Outcome, _NOT_RUN) if any(_ended(case) == name for case in cases)
    ]
    features = dict.fromkeys(case.feature for case in cases)
    columns = ["outcome"] if narrow else outcomes
    rows = [(name, [case for case in cases if case.feature == name]) for name in features]
    return [
        ["feature", "cases", *columns, "median", "slowest", "verdict"],
        *(_row(name, own, outcomes, narrow=narrow) for name, own in (*rows, ("all", cases))),
    ]


def _row(
    name: str, cases: Sequence[CaseResult], outcomes: Sequence[str], *, narrow: bool
) -> list[str]:
    counts = {outcome: sum(_ended(case) == outcome for case in cases) for outcome in outcomes}
    if narrow:
        cells = ["\n".join(f"{number} {outcome}" for outcome, number in counts.items() if number)]
    else:
        cells = [str(number) if number else "" for number in counts.values()]
    durations = [case.duration for case in cases if case.not_run is None]
    times = [f"{of(durations):.1f} s" if durations else "" for of in (statistics.median, max)]
    return [name, str(len(cases)), *cells, *times, _verdict(cases)]


def _ended(case: CaseResult) -> str:
    return _NOT_RUN if case.not_run is not None else str(case.outcome or "")


def _verdict(cases: Sequence[CaseResult]) -> str:
    """`conforms`, or how many cases are something else, a line each: `violates 2`."""
    words = [word(case) for case in cases]
    if bad := [f"{name} {words.count(name)}" for name in _BAD if name in words]:
        return "\n".join(bad)
    if Verdict.CONFORMS not in words:
        return _NOT_RUN
    # A row must not promise more than the last line does.
    partial = any(case.not_run is not None and case.required for case in cases)
    return "partial" if partial else str(Verdict.CONFORMS)


def verdict_table(cases: Iterable[CaseResult], *, width: int = 100, color: bool = False) -> str:
    """The table as text, without escape sequences if there is no `color`. Where a column for each
    outcome is too wide, outcomes share one."""
    listed = chosen(cases)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    table = _drawn(listed, narrow=False)
    if console.measure(table, options=console.options.update(width=10_000)).maximum > width:
        table = _drawn(listed, narrow=True)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines())


def _drawn(cases: Sequence[CaseResult], *, narrow: bool) -> Table:
    head, *rows, totals = grid(cases, narrow=narrow)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_footer=True)
    for name, total in zip(head[:-1], totals[:-1], strict=True):
        wraps = name == "outcome"
        left = wraps or name == "feature"
        table.add_column(name, footer=total, justify="left" if left else "right", no_wrap=not wraps)
    table.add_column(head[-1], footer=_styled(totals[-1]))
    for cells in rows:
        table.add_row(*cells[:-1], _styled(cells[-1]))
    return table


def _styled(verdicts: str) -> Text:
    lines = verdicts.splitlines()
    return Text("\n").join(Text(line, style=_STYLES.get(line.split()[0], "")) for line in lines)
