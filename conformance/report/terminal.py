"""What the terminal shows: the progress of a wait, and the table at the end of a run."""

from __future__ import annotations

import io
import shlex
import statistics as numbers
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.model.verdict import Outcome, Verdict
from conformance.report import concessions
from conformance.report.merge_run import is_of_run
from conformance.report.model import CaseResult, ConformanceReport, NotRun, Summary

_OUTCOMES = (
    Outcome.RECONCILED,
    Outcome.REFUSED,
    Outcome.BLOCKED,
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.NOT_APPLICABLE,
)
_STYLES = {
    "conforms": "green",
    "known": "yellow",
    "partial": "yellow",
    "unknown": "magenta",
    "violates": "bold red",
}
_NOT_RUN = "not run"
_OUTCOME = "outcome"
_REPEATABLE = ("fault",)
MOST_FAILURES = 20


def waiting(what: str, elapsed: float, bound: float) -> str:
    """`worker: LWS size 2→3, 1.2 s of 30 s`: what is waited for, and of which bound (seconds)."""
    return f"{what}, {elapsed:.1f} s of {bound:g} s"


def verdict_table(cases: Iterable[CaseResult], *, width: int = 100, color: bool = False) -> str:
    """Feature × outcome with counts, times and the verdict of each feature; a last line of totals.

    Features that were left out as a whole are not shown: a run of one case is about that one.
    Outcomes that nothing ended as are left out; where a column each is too wide, they share one.
    Times are seconds from the start of a case to its judgement. Without `color` the text holds no
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


Cell = str | Text


def grid(cases: Sequence[CaseResult], *, narrow: bool = False) -> list[list[Cell]]:
    """The verdict table's head, a row a feature, and the row of totals. `narrow`: outcomes share one
    column."""
    words = [str(o) for o in _OUTCOMES] + [_NOT_RUN]
    outcomes = [word for word in words if any(_ended(case) == word for case in cases)]

    def row(name: str, own: Sequence[CaseResult]) -> list[Cell]:
        counts = [sum(_ended(case) == word for case in own) for word in outcomes]
        cells = [_lines(counts, outcomes)] if narrow else [_count(count) for count in counts]
        return [name, str(len(own)), *cells, *_times(own), _verdict(own)]

    shown = [_OUTCOME] if narrow else outcomes
    features = dict.fromkeys(case.feature for case in cases)
    return [
        ["feature", "cases", *shown, "median", "slowest", "verdict"],
        *(row(name, [case for case in cases if case.feature == name]) for name in features),
        row("all", cases),
    ]


def chosen(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Those of features that were not left out as a whole: a run of one case is about that one."""
    listed = list(cases)
    features = {case.feature for case in listed if case.not_run is not NotRun.DESELECTED}
    return [case for case in listed if case.feature in features]


def _table(cases: Sequence[CaseResult], *, narrow: bool) -> Table:
    head, *rows, totals = grid(cases, narrow=narrow)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_footer=True)
    for name, total in zip(head, totals, strict=True):
        wraps = name in (_OUTCOME, "verdict")
        left = wraps or name == "feature"
        table.add_column(name, footer=total, justify="left" if left else "right", no_wrap=not wraps)
    for cells in rows:
        table.add_row(*cells)
    return table


def _ended(case: CaseResult) -> str:
    return _NOT_RUN if case.not_run is not None else str(case.outcome or "")


def _lines(counts: Sequence[int], words: Sequence[str]) -> str:
    return "\n".join(f"{n} {word}" for n, word in zip(counts, words, strict=True) if n)


def _count(number: int) -> str:
    return str(number) if number else ""


def _times(cases: Sequence[CaseResult]) -> tuple[str, str]:
    durations = [case.duration for case in cases if case.not_run is None]
    if not durations:
        return "", ""
    return f"{numbers.median(durations):.1f} s", f"{max(durations):.1f} s"


def _word(case: CaseResult) -> str:
    if case.not_run is not None:
        return _NOT_RUN
    if case.known:
        return "known"
    if case.unexpected_passes:
        return "unexpected pass"
    return str(case.verdict or Verdict.UNKNOWN)


def _verdict(cases: Sequence[CaseResult]) -> Text:
    """`conforms`, or how many cases are something else, a line each: `violates 2`."""
    words = [_word(case) for case in cases]
    order = ("violates", "unknown", "unexpected pass", "known")
    bad = [(word, words.count(word)) for word in order if word in words]
    if not bad:
        word = "conforms" if "conforms" in words else _NOT_RUN
        # A row must not promise more than the last line does.
        if word == "conforms" and any(case.not_run is not None and case.required for case in cases):
            word = "partial"
        return Text(word, style=_STYLES.get(word, ""))
    text = Text()
    for index, (word, count) in enumerate(bad):
        text.append("\n" if index else "")
        text.append(f"{word} {count}", style=_STYLES.get(word, "yellow"))
    return text


def gating(cases: Iterable[CaseResult]) -> list[tuple[str, str, str]]:
    """What gates: its verdict, which case it is, and its first sentence. Those with the same error
    together: what broke a run off is told once, and not for each case that did not come to run."""
    alike: dict[tuple[str, str], list[CaseResult]] = {}
    for case in cases:
        if case.gates:
            key = case.id if case.findings else case.sentence
            alike.setdefault((_word(case), key), []).append(case)
    return [
        (
            word,
            group[0].id if len(group) == 1 else f"{group[0].id} and {len(group) - 1} more",
            group[0].sentence,
        )
        for (word, _), group in alike.items()
    ]


def failures(cases: Iterable[CaseResult]) -> str:
    """Each gating case with its first sentence; empty if there is none."""
    listed = gating(cases)
    lines = []
    for word, who, sentence in listed[:MOST_FAILURES]:
        lines += [f"{word}  {who}", f"    {sentence}"]
    if len(listed) > MOST_FAILURES:
        lines.append(f"… and {len(listed) - MOST_FAILURES} more; all are in report.yaml")
    return "\n".join(lines)


def conclusion(report: ConformanceReport) -> str:
    """One line: the operator, the verdict, and why it is not better."""
    counts = report.statistics
    name = report.operator.name
    unsupported = f"{counts.unsupported} of {counts.cases} cases not supported by the profile"
    if report.verdict is Summary.CONFORMS:
        excused = f" ({unsupported})" if counts.unsupported else ""
        return f"{name} conforms: {counts.conforms} cases{excused}"
    tallies = {
        f"violate, of {counts.cases} cases": counts.violates,
        "could not be judged": counts.unknown,
        "known to fail, yet passed": counts.unexpected_passes,
        "known to fail": counts.known_failures,
    }
    reasons = [f"{number} {what}" for what, number in tallies.items() if number]
    if report.deviations:
        changed = ", ".join(f"{k} {d.value:g} s" for k, d in report.deviations.items())
        reasons.append(f"bounds changed: {changed}")
    if counts.unsupported:
        required = sum(
            case.not_run is NotRun.UNSUPPORTED and case.required for case in report.cases
        )
        reasons.append(unsupported + (f", {required} of them required" if required else ""))
    deselected = sum(case.not_run is NotRun.DESELECTED for case in report.cases)
    if deselected:
        reasons.append(f"{deselected} required but {NotRun.DESELECTED}")
    return f"{name}: {report.verdict} ({'; '.join(reasons) or 'nothing was judged'})"


def next_line(report: ConformanceReport, *, results: str) -> str:
    """The one command to run next: the first case that gates, with the options of this run, into
    another folder, so that the evidence of this one stays."""
    gating = [case for case in report.cases if case.gates]
    if not gating:
        return f"python -m conformance report verify {shlex.quote(results)}"
    given = {"operator": report.operator.name, **report.options, "results": f"{results}-again"}
    options = [
        shlex.quote(f"--{name}={value}" if value else f"--{name}")
        for name, values in given.items()
        for value in (values.split(",") if name in _REPEATABLE else [values])
    ]
    # What judges the whole run needs the whole run.
    again = [shlex.quote(case.node or case.id) for case in gating if not is_of_run(case)]
    return " ".join(["pytest", *options, *again[:1]])


def summary(
    report: ConformanceReport,
    *,
    results: str,
    width: int = 100,
    color: bool = False,
    again: bool = True,
) -> str:
    """All of it, as printed at the end of a run. There is no table if no case came to run, and nothing
    to run next if `again` is False: the command itself is to be corrected."""
    ran = any(case.history or case.findings or case.duration for case in report.cases)
    parts = [
        verdict_table(report.cases, width=width, color=color) if ran else "",
        failures(report.cases),
        conclusion(report),
        concessions.line(report) if ran else "",
        f"next: {next_line(report, results=results)}" if again else "",
    ]
    return (
        "\n\n".join(part for part in parts[:2] if part)
        + "\n\n"
        + "\n".join(filter(None, parts[2:]))
    )
