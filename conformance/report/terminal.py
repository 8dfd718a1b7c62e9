"""What the terminal shows at the end of a run."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.report import concessions
from conformance.report.conclusion import conclusion, failures, next_command
from conformance.report.model import CaseResult, ConformanceReport
from conformance.report.table import chosen, grid

# The first word of a line in the column of verdicts → its style.
_STYLES = {
    "conforms": "green",
    "known": "yellow",
    "partial": "yellow",
    "unexpected": "yellow",
    "unknown": "magenta",
    "violates": "bold red",
}


def verdict_table(cases: Iterable[CaseResult], *, width: int = 100, color: bool = False) -> str:
    """Feature × outcome with counts, times and the verdict of each feature; a last line of totals.

    Where a column for each outcome is too wide, outcomes share one. Without `color` the text holds no
    escape sequence.
    """
    listed = chosen(cases)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    table = _table(listed, narrow=False)
    if console.measure(table, options=console.options.update(width=10_000)).maximum > width:
        table = _table(listed, narrow=True)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines())


def _table(cases: Sequence[CaseResult], *, narrow: bool) -> Table:
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


def summary(
    report: ConformanceReport,
    *,
    results: str,
    width: int = 100,
    color: bool = False,
    again: bool = True,
) -> str:
    """All that is printed at the end of a run.

    There is no table if no case came to run, and nothing to run next if `again` is False: then the
    command itself has to be corrected.
    """
    ran = any(case.history or case.findings or case.duration for case in report.cases)
    listed, more = failures(report.cases)
    failing = [line for word, who, why in listed for line in (f"{word}  {who}", f"    {why}")]
    ending = [
        conclusion(report),
        concessions.line(report) if ran else "",
        f"next: {next_command(report, results=results)}" if again else "",
    ]
    parts = [
        verdict_table(report.cases, width=width, color=color) if ran else "",
        "\n".join(filter(None, [*failing, more])),
        "\n".join(filter(None, ending)),
    ]
    return "\n\n".join(filter(None, parts))
