"""The `trial` fixture, a namespace and a recording for one case; and the judgement of what was
recorded, right after the case's function."""

import os
import time
from collections.abc import Iterator

import pytest

from conformance.driver.case_run import CaseOver
from conformance.driver.environment import CaseEnvironment
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.trial import Trial
from conformance.evidence.explain import explain
from conformance.judge.case import Case
from conformance.kube import Api
from conformance.model.errors import InfraError, UsageError, Violation
from conformance.model.verdict import Verdict
from conformance.plugin.collection import unsupported
from conformance.plugin.marks import CaseMark, case_id, mark_of, title_of
from conformance.plugin.results import as_attempt, judge_and_store
from conformance.plugin.run_options import RunOptions
from conformance.plugin.second_look import (
    ATTEMPTS,
    may_look_again,
    set_aside,
    undecided,
    undecided_again,
)
from conformance.plugin.worker import WORKER, Worker
from conformance.record.run_record import case_begins, case_conforms
from conformance.record.tail import Tail
from conformance.report import junit
from conformance.report.allure import KNOWN_MARK, allure_case
from conformance.report.files import history_path

OPTIONS = pytest.StashKey[RunOptions]()
TRIAL = pytest.StashKey[Trial]()
_CONFORMED = pytest.StashKey[bool]()


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
    reason = unsupported(item, mark, config.stash[OPTIONS].operator(operator_name).profile)
    if reason:
        pytest.skip(reason)
    worker = config.stash[WORKER]
    environment = worker.environment(operator_name, disruptive=mark.disruptive)
    made = _make(item, mark=mark, environment=environment, api=worker.api(environment))
    item.stash[TRIAL] = made
    worker.operator_events(environment, made.namespace)  # what was logged so far is of other cases
    yield made
    # What conforms is at rest and costs nothing; deleting it amid other cases would cost a quarter of
    # the run's writes. What does not may keep the operator busy.
    try:
        if environment.delete_namespaces or not item.stash.get(_CONFORMED, False):
            made.clean_up()
    finally:
        made.close()


def _make(item: pytest.Item, *, mark: CaseMark, environment: CaseEnvironment, api: Api) -> Trial:
    name, bounds = case_id(item), environment.bounds
    namespace = namespace_name(name)
    case_begins(environment.recording, namespace)
    tail = Tail(
        environment.recording, namespace, other_namespaces=True, lag=bounds.recorder_lag,
        alone=ATTEMPTS in item.stash,
    )  # fmt: skip
    open_namespace(api, namespace, bounds=bounds, run=environment.run)
    header = environment.header(
        case=name, feature=mark.feature, title=title_of(item), namespace=namespace, race=mark.race,
        started_at=time.time(),
    )  # fmt: skip
    # Only xdist workers have a number.
    process = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return Trial(environment=environment, api=api, tail=tail, header=header, process=process)


def run_case(item: pytest.Item, trial: Trial, worker: Worker, ended: BaseException | None) -> None:
    """Judge what was recorded of a case, whose function `ended` with that exception; store it, and
    say what it means to pytest.

    Raises Violation if the operator is wrong, InfraError if it could not be told. A function that
    fails by itself is a bug of the suite: its exception is raised as it is, and nothing is judged.
    """
    problem: InfraError | None = None
    try:
        if ended is not None:
            raise ended
        trial.compare_with_fresh()
    except CaseOver:
        pass
    except InfraError as error:
        problem = error
    environment = trial.environment
    history = trial.finish(worker.operator_events(environment, trial.namespace))
    judgement, result = judge_and_store(
        environment, history, began=trial.started_at, nodeid=item.nodeid,
        error=str(problem) if problem else "", attempts=item.stash.get(ATTEMPTS, ()),
    )  # fmt: skip
    item.user_properties.extend(junit.properties(result))
    path = history_path(environment.results, trial.case, environment.operator)
    explanation = explain(history, judgement, history_path=str(path))
    allure_case(history, judgement, explanation, second_look=ATTEMPTS in item.stash)
    why = undecided(history, judgement.verdict, str(problem or ""))
    if why and may_look_again(item):
        set_aside(item, as_attempt(environment.results, result, why=why))
    elif why and ATTEMPTS in item.stash:
        undecided_again(item.config.stash[OPTIONS], why)
    item.stash[_CONFORMED] = judgement.verdict is Verdict.CONFORMS and not problem
    if item.stash[_CONFORMED]:
        case_conforms(environment.recording, history, others=Case(history).others)
    if result.gates:
        if result.verdict is Verdict.VIOLATES and result.findings and not result.unexpected_passes:
            raise Violation(explanation.text)
        text = result.sentence if result.unexpected_passes else explanation.text
        raise problem or InfraError(text)
    if result.known:
        known = next(finding for finding in result.findings if finding.known_failure)
        pytest.xfail(f"{KNOWN_MARK}: {known.known_failure}: {known.message}")
