"""The hooks of every process of a run: loaded by the plugin once an operator is named."""

from collections.abc import Generator

import pytest

from conformance.model.errors import ConformanceError, UsageError, Violation
from conformance.plugin import collection, results, run_options, summary
from conformance.plugin.collection import Collected
from conformance.plugin.controller import Controller
from conformance.plugin.options import option
from conformance.plugin.scheduling import Sharding
from conformance.plugin.second_look import SecondLooks
from conformance.plugin.trials import OPTIONS, TRIAL, operator_name, run_case, trial
from conformance.plugin.worker import WORKER, Worker

__all__ = ["operator_name", "trial"]

_CONTROLLER = "dgd-conformance-controller"
_SHARDING = "dgd-conformance-sharding"
_LOOKS = pytest.StashKey[SecondLooks]()
_DESELECTED = pytest.StashKey[list[pytest.Item]]()
# Options of pytest's that show something and run nothing.
_ONLY_SHOW = (
    "collectonly", "showfixtures", "show_fixtures_per_test", "setupplan", "help", "version",
)  # fmt: skip


def configure(config: pytest.Config) -> None:
    """Check the options at once; in the controller, prepare the results directory."""
    config.stash[_DESELECTED] = []
    shard = option(config, "shard")
    try:
        options = config.stash[OPTIONS] = run_options.read(config)
        if shard is not None:
            config.pluginmanager.register(Sharding(shard), _SHARDING)
        if _only_shows(config) or _is_worker(config):
            return
        lock = results.prepare(options.results)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Controller(config, options, lock), _CONTROLLER)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Operator, cluster and changed bounds, above the first case."""
    return summary.header(config.stash[OPTIONS])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Be ready to run cases."""
    if not _only_shows(session.config):
        options = session.config.stash[OPTIONS]
        session.config.stash[WORKER] = Worker(options)
        looks = session.config.stash[_LOOKS] = SecondLooks(options)
        session.config.pluginmanager.register(looks, "dgd-conformance-second-looks")


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """After all other cases come those that were set aside."""
    result = yield
    if _LOOKS in session.config.stash:
        session.config.stash[_LOOKS].run(session)
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of each case for each operator; ids start with the operator's name."""
    if collection.OPERATOR_ARGUMENT in metafunc.fixturenames:
        names = [loaded.name for loaded in metafunc.config.stash[OPTIONS].operators]
        metafunc.parametrize(collection.OPERATOR_ARGUMENT, names, ids=names, scope="session")


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
    """Tell the controller which cases there are after all deselection: it may be another process."""
    config, options = session.config, session.config.stash[OPTIONS]
    plugins = config.pluginmanager
    # The controller of pytest-xdist collects nothing.
    if _only_shows(config) or plugins.hasplugin("dsession"):
        return
    collected = Collected.of(session.items, config.stash[_DESELECTED], options)
    sharding: Sharding | None = plugins.get_plugin(_SHARDING)
    if not collected.any_selected and not (sharding and sharding.all_elsewhere):
        collected = Collected()
    if _is_worker(config):
        collected.publish(options)
    else:
        controller = plugins.get_plugin(_CONTROLLER)
        assert isinstance(controller, Controller)
        controller.expect(collected)


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
    run_case(pyfuncitem, made, pyfuncitem.config.stash[WORKER], problem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a finding as it is: the suite's own stack says nothing about the operator."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, Violation | ConformanceError):
        report.longrepr = str(call.excinfo.value)
    return report


# Registered after the controller, so called before it closes what the cases share.
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close what this process opened for its cases."""
    worker = session.config.stash.get(WORKER, None)
    if worker is not None:
        worker.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """With workers, pytest says of a misspelt node id no more than "no tests ran"."""
    config = terminalreporter.config
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not _only_shows(config):
        terminalreporter.write_line(summary.nothing_selected(config, config.stash[OPTIONS]))


def _only_shows(config: pytest.Config) -> bool:
    return any(getattr(config.option, name, False) for name in _ONLY_SHOW)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
