"""The hooks of a run: loaded by the plugin once an operator is named."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from filelock import FileLock

from conformance.cluster.programs import ensure
from conformance.cluster.provider import ClusterKind
from conformance.model.errors import ConformanceError, UsageError, Violation
from conformance.plugin import collection, run_options, sharding, summary
from conformance.plugin.director import Director
from conformance.plugin.judging import run_case
from conformance.plugin.marks import mark_of
from conformance.plugin.scheduling import CaseScheduling
from conformance.plugin.trials import OPTIONS, TRIAL, WORKER, Worker, operator_name, trial
from conformance.report.model import CaseResult, ConformanceReport, NotRun

__all__ = ["operator_name", "trial"]

_Exit = pytest.ExitCode
EXIT_USAGE = 4
EXIT_INFRA = 3
_DIRECTOR = pytest.StashKey[Director]()
_EXPECTED = pytest.StashKey[list[CaseResult]]()
_PROGRESS = pytest.StashKey[summary.ProgressLines]()
_DESELECTED = pytest.StashKey[list[pytest.Item]]()
_REPORTS = pytest.StashKey[list[ConformanceReport]]()
_LOCK = pytest.StashKey[FileLock]()
_BROKEN_OFF = pytest.StashKey[str]()
_CASES_FILE = "cases.json"


def configure(config: pytest.Config) -> None:
    """Check the options at once; prepare the results directory in the controller alone."""
    try:
        run = config.stash[OPTIONS] = run_options.read(config)
        sharding.register(config)
        if not _is_worker(config) and not _only_looks(config):
            config.stash[_LOCK] = summary.prepare(run.results)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_DESELECTED] = []
    if not _is_worker(config):
        config.pluginmanager.register(_Counting(config), "dgd-conformance-counting")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> CaseScheduling:
    """Disruptive cases share one worker, and come last."""
    path = config.stash[OPTIONS].results / "live" / _CASES_FILE

    def groups() -> dict[str, str]:
        grouped: dict[str, str] = json.loads(path.read_text())["groups"]
        return grouped

    return CaseScheduling(config, log, groups=groups)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Open the first control plane while workers start and collect."""
    config = session.config
    if _only_looks(config):
        return
    run = config.stash[OPTIONS]
    config.stash[WORKER] = Worker(run)
    if _is_worker(config):
        return
    if run.cluster.kind is ClusterKind.EMBEDDED:
        _prepare_programs(config)
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None:
            reporter.write_line(line)

    config.stash[_DIRECTOR] = Director(run, say)
    if reporter is not None:
        config.stash[_PROGRESS] = summary.ProgressLines(run.results / "live", reporter)
        config.stash[_PROGRESS].start()
    if _is_distributed(config):
        config.stash[_DIRECTOR].start()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of each case for each operator."""
    collection.parametrize(metafunc, metafunc.config.stash[OPTIONS])


def pytest_deselected(items: list[pytest.Item]) -> None:
    """What `-k` and the like leave out stands in the report as such."""
    if items:
        items[0].config.stash[_DESELECTED].extend(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the cases."""
    given = getattr(config, "workerinput", {})
    collection.order(items, config.stash[OPTIONS], workers=int(given.get("workercount", 1)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which cases there are after all deselection: under xdist only workers collect."""
    config, run = session.config, session.config.stash[OPTIONS]
    if _only_looks(config) or (_is_distributed(config) and not _is_worker(config)):
        return
    cases = summary.expected(session.items, run)
    reported = bool(cases) or sharding.all_elsewhere(config)
    left_out = summary.left_out(config.stash[_DESELECTED], run) if reported else []
    groups = {
        item.nodeid: f"disruptive-{collection.operator_of(item)}"
        for item in session.items
        if (mark := mark_of(item)) is not None and mark.disruptive
    }
    if _is_worker(config):
        listed = [case.model_dump(mode="json") for case in (*cases, *left_out)]
        data = {"cases": listed, "groups": groups}
        path = run.results / "live" / _CASES_FILE
        part = path.with_suffix(f".{config.workerinput['workerid']}")  # type: ignore[attr-defined]  # set by pytest-xdist
        part.write_text(json.dumps(data))
        part.rename(path)
    else:
        _know(config, [*cases, *left_out], groups)


def _know(config: pytest.Config, cases: list[CaseResult], groups: Mapping[str, str]) -> None:
    """The controller learns which cases there are."""
    config.stash[_EXPECTED] = cases
    config.stash[_DIRECTOR].expect_cases(
        {
            case.node: (case.operator, case.node in groups)
            for case in cases
            if case.not_run is not NotRun.DESELECTED
        }
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Alone (without xdist) the cluster is opened just before the first case, if there is one."""
    config = session.config
    director = config.stash.get(_DIRECTOR, None)
    if director is not None and not _is_distributed(config) and config.stash.get(_EXPECTED, None):
        director.start()
        _open_or_exit(config, director)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """A worker has collected: its list is there, and the cluster must be, too."""
    config: pytest.Config = node.config
    director = config.stash.get(_DIRECTOR, None)
    path = config.stash[OPTIONS].results / "live" / _CASES_FILE
    if director is None or not path.exists():
        return
    data = json.loads(path.read_text())
    _know(config, [CaseResult.model_validate(case) for case in data["cases"]], data["groups"])
    if data["cases"]:
        _open_or_exit(config, director)


def _open_or_exit(config: pytest.Config, director: Director) -> None:
    try:
        director.wait_open()
    except UsageError as error:
        _break_off(config, error, EXIT_USAGE)
    except ConformanceError as error:
        _break_off(config, error, EXIT_INFRA)


def _break_off(config: pytest.Config, error: ConformanceError, code: int) -> NoReturn:
    """End the run. The report tells the whole of it; pytest repeats its first line."""
    config.stash[_BROKEN_OFF] = str(error)
    pytest.exit(str(error).splitlines()[0], returncode=code)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Judge the history right after the case's function, within its call phase."""
    made = pyfuncitem.stash.get(TRIAL, None)
    if made is None:
        return (yield)
    problem: BaseException | None = None
    try:
        yield
    except BaseException as error:
        problem = error

    def call() -> None:
        if problem is not None:
            raise problem

    log = pyfuncitem.config.stash[WORKER].log(made.environment)
    run_case(pyfuncitem, made, log, call)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A finding is told as it is: the suite's own stack says nothing about the operator."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, Violation | ConformanceError):
        report.longrepr = str(call.excinfo.value)
    return report


class _Counting:
    """Counts finished cases, so that clusters are closed when nobody needs them any more."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        director = self._config.stash.get(_DIRECTOR, None)
        if director is None:
            return
        if report.failed:
            director.failed = True
            director.look()
        # pytest-xdist reports a case whose worker died as "???", and nothing more of it.
        if report.when not in ("setup", "call"):
            director.finished(report.nodeid)
        if director.error is not None:
            _open_or_exit(self._config, director)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close what is open, and (in the controller) write the reports: what gates there gates here."""
    config = session.config
    worker, director = config.stash.get(WORKER, None), config.stash.get(_DIRECTOR, None)
    if worker is not None:
        worker.close()
    if config.stash.get(_PROGRESS, None) is not None:
        config.stash[_PROGRESS].stop()
    if director is not None:
        # Of a run that was broken off nobody knows what is still to go away.
        director.close(judge=session.exitstatus in (_Exit.OK, _Exit.TESTS_FAILED))
    if _is_worker(config) or _only_looks(config):
        return
    cases = config.stash.get(_EXPECTED, [])
    if not cases:
        return
    given = run_options.given(config)
    allure_results = getattr(config.option, "allure_report_dir", None)
    ended = director.ended if director is not None else set()
    reports = summary.write_reports(
        config.stash[OPTIONS], [*cases, *summary.of_run(ended)], given,
        opened=director.opened if director is not None else {},
        allure_results=Path(allure_results) if allure_results else None,
        broken_off=config.stash.get(_BROKEN_OFF, ""),
    )  # fmt: skip
    config.stash[_REPORTS] = reports
    if summary.gates(reports) and session.exitstatus == _Exit.OK:
        session.exitstatus = _Exit.TESTS_FAILED
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if session.exitstatus == EXIT_INFRA and reporter is not None:
        # The code is also pytest's own for an internal error, after which it shows no summary.
        reporter.ensure_newline()
        summary.show(reporter, config.stash[OPTIONS], reports)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Another run may write into the results directory."""
    lock = config.stash.get(_LOCK, None)
    if lock is not None:
        lock.release()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Operator, control plane and changed bounds, above the first case."""
    return summary.header(config.stash[OPTIONS])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """The verdict table."""
    config = terminalreporter.config
    reports = config.stash.get(_REPORTS, None)
    if reports is not None:
        # What a mistake of the user broke off is not to be repeated as it was.
        again = exitstatus != EXIT_USAGE
        summary.show(terminalreporter, config.stash[OPTIONS], reports, again=again)
    elif exitstatus == _Exit.NO_TESTS_COLLECTED and not _only_looks(config):
        # With workers, pytest says of a misspelt node id no more than "no tests ran".
        terminalreporter.write_line(summary.nothing_selected(config, config.stash[OPTIONS]))


def _prepare_programs(config: pytest.Config) -> None:
    """Find or make the control plane's programs, here where Ctrl-C is heard and progress is seen: on
    a fresh machine it takes minutes."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    shown = capture.global_and_fixture_disabled() if capture else contextlib.nullcontext()
    try:
        with shown:
            ensure()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    except ConformanceError as error:
        pytest.exit(str(error), returncode=EXIT_INFRA)


def _only_looks(config: pytest.Config) -> bool:
    """True if pytest was asked to show something and to run nothing."""
    names = (
        "collectonly",
        "showfixtures",
        "show_fixtures_per_test",
        "setupplan",
        "help",
        "version",
    )
    return any(getattr(config.option, name, False) for name in names)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _is_distributed(config: pytest.Config) -> bool:
    return bool(config.pluginmanager.hasplugin("dsession"))
