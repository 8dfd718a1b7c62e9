"""The `trial` fixture: a namespace and a recording for one case."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from conformance.driver.case_journal import CaseJournal
from conformance.driver.environment import CaseEnvironment
from conformance.driver.fresh import FreshStates
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.trial import Trial
from conformance.driver.wait_line import WaitLine
from conformance.kube import Api
from conformance.model.errors import UsageError
from conformance.plugin import collection
from conformance.plugin.marks import CaseMark, case_id, mark_of, title_of
from conformance.plugin.run_options import RunOptions
from conformance.plugin.worker import WORKER
from conformance.record.run_record import case_begins
from conformance.record.tail import Tail

OPTIONS = pytest.StashKey[RunOptions]()
TRIAL = pytest.StashKey[Trial]()
CONFORMED = pytest.StashKey[bool]()


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
    api = worker.api(environment)
    made = _make(item, mark=mark, environment=environment, api=api, options=options)
    item.stash[TRIAL] = made
    worker.operator_events(environment, made.namespace)  # what was logged so far is of other cases
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
    header = environment.header(
        case=name, feature=mark.feature, title=title_of(item), namespace=namespace, race=mark.race,
        started_at=time.time(),
    )  # fmt: skip
    # Only xdist workers have a number; alone, the one process writes the one line.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    line = WaitLine(path=options.live / f"{worker}.waiting", case=name)
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
