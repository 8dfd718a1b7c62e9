"""What a run shows in the terminal: the header, waits, and at the end the verdict tables."""

import threading
from pathlib import Path

import pytest

from conformance.plugin.run_options import RunOptions
from conformance.report import terminal
from conformance.report.model import ConformanceReport

_SECONDS = 5.0
_LOG_SECONDS = 30.0


def header(run: RunOptions) -> list[str]:
    """What is under test, above the first case."""
    names = ", ".join(loaded.name for loaded in run.operators)
    lines = [f"operator under test: {names}", f"cluster: {run.cluster}"]
    deviations = run.bounds.deviations()
    if deviations:
        changed = ", ".join(f"{name} {value:g}" for name, (value, _) in deviations.items())
        why = "a report of such a run does not claim conformance"
        lines.append(f"bounds changed: {changed} ({why})")
    return lines


def show(
    reporter: pytest.TerminalReporter,
    run: RunOptions,
    reports: list[ConformanceReport],
    *,
    again: bool = True,
) -> None:
    """The verdict table of each operator, what to run next (`again`), and where everything is."""
    for report in reports:
        reporter.section(f"conformance of {report.operator.name}", sep="=")
        text = terminal.summary(
            report, results=_short(run.results), width=reporter._tw.fullwidth,
            color=reporter.hasmarkup, again=again,
        )  # fmt: skip
        for line in text.splitlines():
            reporter.write_line(line)
    if reports:
        reporter.write_line(f"report, histories and logs: {_short(run.results)}")


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def nothing_selected(config: pytest.Config, run: RunOptions) -> str:
    """That no case was selected, by what, and how to list the cases."""
    keyword = config.getoption("keyword", "")
    chosen = [*config.args, *([f"-k {keyword!r}"] if keyword else [])]
    operator = run.operators[0].given
    return (
        f"no case was selected by {' '.join(chosen)}, so nothing was judged; to list the cases: "
        f"pytest {config.args[0].partition('::')[0]} --operator={operator} --collect-only -q"
    )


def show_waiting(live: Path, reporter: pytest.TerminalReporter) -> threading.Event:
    """Say every few seconds what the workers are waiting for, so that nobody looks at silence: often to
    a person, now and then into a log. Ends once the event that is returned is set."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(_SECONDS if reporter.isatty else _LOG_SECONDS):
            lines = sorted(filter(None, map(_text, live.glob("*.waiting"))))
            if lines:
                more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
                reporter.write_line(f"waiting: {lines[0]}{more}")

    threading.Thread(target=run, name="waiting-lines", daemon=True).start()
    return ended


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
