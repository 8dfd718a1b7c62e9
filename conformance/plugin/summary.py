"""Around the run: the header, progress while waiting, and at the end the report and its table."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from conformance import __version__
from conformance.cluster.pins import PINS
from conformance.driver.environment import CaseEnvironment
from conformance.model.errors import UsageError
from conformance.model.installs import Placement
from conformance.model.run_cases import FEATURE, RunCase
from conformance.plugin import collection
from conformance.plugin.marks import case_id, mark_of, title_of
from conformance.plugin.run_options import RunOptions
from conformance.report import allure, collect, terminal
from conformance.report.build import RunFacts
from conformance.report.concessions import environment
from conformance.report.model import CaseResult, ConformanceReport, NotRun

REPORTS = pytest.StashKey[list[ConformanceReport]]()
_PROGRESS_SECONDS = 5.0
_LOG_SECONDS = 30.0


def prepare(results: Path) -> FileLock:
    """Empty what an earlier run left there, and nothing else. Workers of pytest-xdist share it, so
    allure's own --clean-alluredir (which every worker obeys) must not be used.

    The lock is held as long as the run lasts. Raises UsageError if another run holds it.
    """
    lock = FileLock(results / ".lock")
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(
            f"another run is writing into {results}; wait for its end, or give --results=DIR"
        ) from None
    except OSError as error:
        raise UsageError(
            f"--results={results} cannot be used ({error.strerror}); expected a directory that can "
            "be written to"
        ) from None
    collect.begin(results)
    for part in ("live", "logs", "allure-results"):
        shutil.rmtree(results / part, ignore_errors=True)
    (results / "live").mkdir()
    return lock


def header(run: RunOptions) -> list[str]:
    """What is under test, above the first case."""
    names = ", ".join(loaded.name for loaded in run.operators)
    lines = [f"operator under test: {names}", f"cluster: {_cluster(run)}"]
    deviations = run.bounds.deviations()
    if deviations:
        changed = ", ".join(f"{name} {value:g}" for name, (value, _) in deviations.items())
        lines.append(
            f"bounds changed: {changed} (a report of such a run does not claim conformance)"
        )
    return lines


def _cluster(run: RunOptions) -> str:
    request = run.cluster
    if request.kind_options is not None:
        return f"kind ({request.kind_options.node_image})"
    if request.kubeconfig_options is not None:
        return f"kubeconfig (context {request.kubeconfig_options.context or 'not named'})"
    versions = ", ".join(f"{program} {pin.version}" for program, pin in PINS.items())
    return f"embedded ({versions})"


def expected(items: list[pytest.Item], run: RunOptions) -> list[CaseResult]:
    """A place in the report for each collected case, so that a lost one is not forgotten."""
    found = []
    for item in items:
        mark = mark_of(item)
        if mark is None:
            continue
        operator = collection.operator_of(item)
        profile = run.operator(operator).profile
        reason = collection.unsupported(item, mark, profile)
        missing = collection.undeclared(item, mark, profile)
        found.append(
            CaseResult(
                id=case_id(item), feature=mark.feature, title=title_of(item), operator=operator,
                node=item.nodeid, not_run=NotRun.UNSUPPORTED if reason else None,
                reason=reason or "", required=collection.required(missing, profile),
            )
        )  # fmt: skip
    return found


def of_run(operators: Iterable[str]) -> list[CaseResult]:
    """Places for the judgements of whole runs, for the operators whose run came to its end."""
    return [
        CaseResult(id=case, feature=FEATURE, title=case.meaning, operator=operator)
        for operator in sorted(operators)
        for case in RunCase
    ]


def left_out(items: list[pytest.Item], run: RunOptions) -> list[CaseResult]:
    """The places of cases that the person who runs the suite deselected: such a run is partial."""
    return [
        case.model_copy(update={"not_run": NotRun.DESELECTED, "reason": "deselected"})
        for case in expected(items, run)
        if case.not_run is None
    ]


def write_reports(
    run: RunOptions,
    cases: list[CaseResult],
    options: dict[str, str],
    *,
    opened: Mapping[str, CaseEnvironment],
    allure_results: Path | None,
    broken_off: str,
) -> list[ConformanceReport]:
    """Merge the cases' results into the reports, and complete the Allure results. `broken_off` says
    why the run ended before its time, if it did."""
    for case in cases:
        if case.not_run is not None:
            collect.write_case(run.results, case)
    versions = {"suite": __version__, "python": sys.version.split()[0]}
    facts = {
        loaded.name: RunFacts(
            profile=loaded.profile,
            bounds=run.bounds,
            cluster=run.cluster.kind.value,
            versions={
                **versions,
                **(opened[loaded.name].versions if loaded.name in opened else {}),
            },
            options={"operator": loaded.given, **options},
            admin=run.cluster.placement is Placement.PROCESS
            and loaded.profile.process.cluster_admin,
            profile_sha256=loaded.sha256,
        )
        for loaded in run.operators
    }
    reports = collect.collect(run.results, facts, expected=cases, broken_off=broken_off)
    if all(case.history or case.not_run for report in reports for case in report.cases):
        # All that was live is in the histories by now; else it is what a dead worker left to look at.
        shutil.rmtree(run.results / "live", ignore_errors=True)
    if allure_results is not None:
        names = ", ".join(facts)
        excused = {
            (f"{one.operator.name}.{name}" if len(reports) > 1 else name): text
            for one in reports
            for name, text in environment(one).items()
        }
        allure.write_run_files(
            allure_results, environment={"operator": names, **versions, **excused}
        )
    return reports


def show(
    reporter: pytest.TerminalReporter,
    run: RunOptions,
    reports: list[ConformanceReport],
    *,
    again: bool = True,
) -> None:
    """The verdict table of each operator, what to run next (`again`), and where everything is."""
    color = reporter.hasmarkup
    for report in reports:
        reporter.section(f"conformance of {report.operator.name}", sep="=")
        text = terminal.summary(
            report,
            results=_short(run.results),
            width=reporter._tw.fullwidth,
            color=color,
            again=again,
        )
        for line in text.splitlines():
            reporter.write_line(line)
    if reports:
        reporter.write_line(f"report, histories and logs: {_short(run.results)}")


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def nothing_selected(config: pytest.Config, run: RunOptions) -> str:
    """That no case was selected, by what, and how to see which there are."""
    keyword = config.getoption("keyword", "")
    chosen = [*config.args, *([f"-k {keyword!r}"] if keyword else [])]
    operator = run.operators[0].given
    return (
        f"no case was selected by {' '.join(chosen)}, so nothing was judged; those that there are: "
        f"pytest {config.args[0].partition('::')[0]} --operator={operator} --collect-only -q"
    )


def gates(reports: list[ConformanceReport]) -> bool:
    """True if the run must not pass: something required violates, or could not be told."""
    return any(case.gates for report in reports for case in report.cases)


class ProgressLines(threading.Thread):
    """Every few seconds says what the workers are waiting for, so that nobody looks at silence."""

    def __init__(self, live: Path, reporter: pytest.TerminalReporter) -> None:
        super().__init__(name="progress", daemon=True)
        self._live = live
        self._reporter = reporter
        self._ended = threading.Event()

    def run(self) -> None:
        """Show what a worker waits for: often to a person, now and then into a log."""
        seconds = _PROGRESS_SECONDS if self._reporter.isatty else _LOG_SECONDS
        while not self._ended.wait(seconds):
            lines = sorted(
                text for path in self._live.glob("*.waiting") if (text := _text(path).strip())
            )
            if lines:
                more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
                self._reporter.write_line(f"waiting: {lines[0]}{more}")

    def stop(self) -> None:
        """No more lines."""
        self._ended.set()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
