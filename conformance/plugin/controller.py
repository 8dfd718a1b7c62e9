"""What only pytest's main process does: open clusters in time, and report at the end."""

import contextlib
import threading
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from conformance.cluster import ClusterKind
from conformance.cluster.programs.prepare import ensure
from conformance.model.errors import ConformanceError, Exit, InfraError, UsageError
from conformance.plugin import results, run_options, summary
from conformance.plugin.collection import Collected
from conformance.plugin.director import Director
from conformance.plugin.run_options import RunOptions
from conformance.plugin.scheduling import CaseScheduling
from conformance.plugin.second_look import too_slow, was_set_aside
from conformance.report.model import CaseResult, ConformanceReport, NotRun


class Controller:
    """A plugin of one run. With pytest-xdist its workers run the cases, else this very process."""

    def __init__(self, config: pytest.Config, options: RunOptions, lock: FileLock) -> None:
        self._config = config
        self._options = options
        self._lock = lock
        self._director = Director(options, self._say)
        self._waiting: threading.Event | None = None
        self._expected: list[CaseResult] = []
        self._reports: list[ConformanceReport] = []
        self._broken_off = ""

    @property
    def _reporter(self) -> pytest.TerminalReporter | None:
        return self._config.pluginmanager.get_plugin("terminalreporter")

    @property
    def _distributed(self) -> bool:
        return self._config.pluginmanager.hasplugin("dsession")

    def _say(self, line: str) -> None:
        if self._reporter is not None:
            self._reporter.write_line(line)

    def expect(self, collected: Collected) -> None:
        """Learn which cases there are. May be called again with the same."""
        self._expected = collected.cases
        self._director.expect_cases(
            {
                case.nodeid: (case.operator, case.nodeid in collected.groups)
                for case in collected.cases
                if case.not_run is not NotRun.DESELECTED
            }
        )

    def pytest_sessionstart(self) -> None:
        """Open the first cluster while workers start and collect."""
        if self._options.cluster.kind is ClusterKind.EMBEDDED:
            self._prepare_programs()
        if self._reporter is not None:
            self._waiting = summary.show_waiting(self._options.live, self._reporter)
        if self._distributed:
            self._director.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> CaseScheduling:
        """Disruptive cases share one worker, and come last."""
        return CaseScheduling(
            config, log, groups=lambda: (Collected.published(self._options) or Collected()).groups
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """A worker has collected: now the cluster must be open."""
        collected = Collected.published(self._options)
        if collected is not None:
            self.expect(collected)
            if collected.cases:
                self._open_or_exit()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Without pytest-xdist the cluster is opened just before the first case, if there is one."""
        if not self._distributed and self._expected:
            self._director.start()
            self._open_or_exit()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count finished cases, so that clusters are closed when nobody needs them any more."""
        if report.failed:
            self._director.failed = True
            self._director.look()
        # pytest-xdist reports a case whose worker died as "???", and nothing more of it.
        if report.when not in ("setup", "call"):
            self._director.finished(report.nodeid)
        if self._director.error is not None:
            self._open_or_exit()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A case that was set aside has ended without a report."""
        why = was_set_aside(self._options, nodeid)
        if why:
            self._say(f"set aside, to be run alone: {nodeid.rpartition('::')[2]}: {why}")
            self._director.set_aside(nodeid)
        slow = too_slow(self._options)
        if slow:
            self._break_off(InfraError(slow))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close what is open, and write the reports: what gates there gates here."""
        if self._waiting is not None:
            self._waiting.set()
        # If the run was broken off, nobody knows what is still to go away.
        ok, failed = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED
        self._director.close(judge=session.exitstatus in (ok, failed))
        if not self._expected:
            return
        allure_results = getattr(self._config.option, "allure_report_dir", None)
        self._reports = results.write_reports(
            self._options, [*self._expected, *results.of_run(self._director.ended)],
            run_options.given(self._config), opened=self._director.opened,
            allure_results=Path(allure_results) if allure_results else None,
            broken_off=self._broken_off,
        )  # fmt: skip
        gates = any(case.gates for report in self._reports for case in report.cases)
        if session.exitstatus == ok and gates:
            session.exitstatus = failed
        if session.exitstatus == Exit.UNKNOWN and self._reporter is not None:
            # The code is also pytest's own for an internal error, after which it shows no summary.
            self._reporter.ensure_newline()
            summary.show(self._reporter, self._options, self._reports)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """The verdict table."""
        # What a mistake of the user broke off is not to be repeated as it was.
        again = exitstatus != Exit.USAGE
        summary.show(terminalreporter, self._options, self._reports, again=again)

    def pytest_unconfigure(self) -> None:
        """Another run may write into the results directory."""
        self._lock.release()

    def _open_or_exit(self) -> None:
        try:
            self._director.wait_open()
        except ConformanceError as error:
            self._break_off(error)

    def _break_off(self, error: ConformanceError) -> NoReturn:
        """End the run. The report has the whole message; pytest repeats its first line."""
        self._broken_off = str(error)
        code = Exit.USAGE if isinstance(error, UsageError) else Exit.UNKNOWN
        pytest.exit(self._broken_off.splitlines()[0], returncode=code)

    def _prepare_programs(self) -> None:
        """Find or make the control plane's programs, here where Ctrl-C is heard and progress is seen:
        on a fresh machine it takes minutes."""
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        shown = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
        try:
            with shown:
                ensure()
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        except ConformanceError as error:
            pytest.exit(str(error), returncode=Exit.UNKNOWN)
