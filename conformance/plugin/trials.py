"""The `trial` fixture: a namespace and a recording for one case."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import __version__
from conformance.driver.case_journal import CaseJournal
from conformance.driver.environment import CaseEnvironment
from conformance.driver.fresh import FreshStates
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.trial import Trial
from conformance.driver.wait_line import WaitLine
from conformance.history.records import Header, OperatorEvent, OperatorEventKind
from conformance.kube import Api
from conformance.model.errors import UsageError
from conformance.operator.pods.control import attach
from conformance.plugin import collection, director, environments
from conformance.plugin.marks import CaseMark, case_id, mark_of, title_of
from conformance.plugin.run_options import RunOptions
from conformance.record.endings import case_begins
from conformance.record.oplog import OperatorLog, noted
from conformance.record.tail import Tail

OPTIONS = pytest.StashKey[RunOptions]()
TRIAL = pytest.StashKey[Trial]()
CONFORMED = pytest.StashKey[bool]()
WORKER = pytest.StashKey["Worker"]()


class Worker:
    """What one test process keeps between cases: clients, and an environment of its own if it needs
    one."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._shared: dict[tuple[str, bool], CaseEnvironment] = {}
        self._own: tuple[str, environments.TestEnvironment] | None = None
        self._apis: dict[Path, Api] = {}
        self._logs: dict[Path, OperatorLog] = {}

    def environment(self, operator: str, *, disruptive: bool) -> CaseEnvironment:
        """What a case runs in; opens or awaits it the first time."""
        if disruptive and not self._options.cluster.one_cluster:
            if self._own is not None and self._own[0] != operator:
                self._own[1].close()
                self._own = None
            if self._own is None:
                self._own = (operator, director.open_own(self._options, operator))
            return self._own[1].for_cases(control=True)
        key = (operator, disruptive)
        if key not in self._shared:
            shared = director.await_shared(self._options, operator, quiet=disruptive)
            if disruptive and shared.attachable:
                control = attach(shared.attachable, shared.kubeconfig, shared.profile)
                shared = shared.model_copy(update={"control": control})
            self._shared[key] = shared
        return self._shared[key]

    def api(self, kubeconfig: Path) -> Api:
        """A client that is kept for the cluster of that kubeconfig."""
        if kubeconfig not in self._apis:
            self._apis[kubeconfig] = Api.from_kubeconfig(kubeconfig)
        return self._apis[kubeconfig]

    def log(self, environment: CaseEnvironment) -> OperatorLog | None:
        """The operator's log, read on from where the last case left it."""
        path = environment.operator_log
        if path is None:
            return None
        return self._logs.setdefault(path, OperatorLog(path))

    def close(self) -> None:
        """Close the own environment and the clients."""
        for api in self._apis.values():
            api.close()
        if self._own is not None:
            self._own[1].close()
            self._own = None


@pytest.fixture(scope="session")
def operator_name(request: pytest.FixtureRequest) -> str:
    """The operator under test; parametrised from --operator."""
    if not hasattr(request, "param"):
        raise UsageError("a case needs an operator: give --operator=NAME or a profile's path")
    return str(request.param)


@pytest.fixture
def trial(request: pytest.FixtureRequest, operator_name: str) -> Iterator[Trial]:
    """The case's handle: deploy graphs, change them, expect a checkpoint."""
    config, item = request.config, request.node
    mark = mark_of(item)
    if mark is None:
        raise UsageError(f"{item.nodeid} uses `trial` but is no case; decorate it with @case(...)")
    options = config.stash[OPTIONS]
    loaded = options.operator(operator_name)
    reason = collection.unsupported(item, mark, loaded.profile)
    if reason:
        pytest.skip(reason)
    worker = config.stash[WORKER]
    environment = worker.environment(operator_name, disruptive=mark.disruptive)
    api = worker.api(environment.kubeconfig)
    made = _make(item, mark=mark, environment=environment, api=api, options=options)
    item.stash[TRIAL] = made
    log = worker.log(environment)
    if log is not None:
        log.read()
    yield made
    # What conforms is at rest and costs nothing; deleting it amid other cases would cost a quarter of
    # the run's writes. What does not may keep the operator busy.
    try:
        if environment.delete_namespaces or not item.stash.get(CONFORMED, False):
            made.clean_up()
    finally:
        made.close()


def _make(
    item: pytest.Item,
    *,
    mark: CaseMark,
    environment: CaseEnvironment,
    api: Api,
    options: RunOptions,
) -> Trial:
    name = case_id(item)
    namespace = namespace_name(name)
    case_begins(environment.recording, namespace)
    tail = Tail(
        environment.recording, namespace, other_namespaces=True, lag=options.bounds.recorder_lag
    )
    open_namespace(api, namespace, bounds=options.bounds, run=environment.run)
    header = Header(
        case=name, feature=mark.feature, title=title_of(item), operator=environment.operator,
        namespace=namespace, profile=environment.profile.model_dump(mode="json"),
        bounds=environment.bounds.to_json(), versions={"suite": __version__, **environment.versions},
        race=mark.race, users=environment.users, audited=environment.audited, started_at=time.time(),
    )  # fmt: skip
    # Only xdist workers have a number; alone, the one process writes the one line.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    line = WaitLine(path=options.results / "live" / f"{worker}.waiting", case=name)
    return Trial(
        environment=environment, api=api, tail=tail, header=header, wait_line=line,
        journal=CaseJournal(
            environment.recording / "journal" / f"{namespace}.jsonl", namespace=namespace
        ),
        fresh=FreshStates(
            # Shared by all clusters of the operator: where a graph was deployed makes no difference.
            environment=environment, api=api, wait_line=line,
            directory=environment.results / "live" / f"fresh-{environment.operator}",
        ),
    )  # fmt: skip


def operator_events(trial: Trial, log: OperatorLog | None) -> list[OperatorEvent]:
    """What happened to the operator since its cluster was opened, and its log about this namespace."""
    events = noted(trial.environment.operator_events)
    if log is not None:
        lines = (event for event in log.read() if event.kind is OperatorEventKind.LOG)
        events += [event for event in lines if trial.namespace in event.text]
    return events
