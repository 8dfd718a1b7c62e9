"""After the case's function: judge the recorded history, store it, and say what it means to pytest."""

from __future__ import annotations

import pytest

from conformance.driver.checkpoints import CaseOver
from conformance.driver.trial import Trial
from conformance.evidence.explain import explain
from conformance.judge.case import Case
from conformance.model.errors import InfraError, Violation
from conformance.model.verdict import Verdict
from conformance.plugin.results import judge_and_store
from conformance.plugin.trials import CONFORMED
from conformance.plugin.worker import Worker
from conformance.record.run_record import case_conforms
from conformance.report import junit
from conformance.report.allure import KNOWN_MARK, allure_case
from conformance.report.files import history_path


def run_case(item: pytest.Item, trial: Trial, worker: Worker, ended: BaseException | None) -> None:
    """Judge what was recorded of a case, whose function `ended` with that exception.

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
    history = trial.finish(worker.operator_events(trial.environment, trial.namespace))
    environment = trial.environment
    judgement, result = judge_and_store(
        environment, history, began=trial.started_at, nodeid=item.nodeid,
        error=str(problem) if problem else "",
    )  # fmt: skip
    item.user_properties.extend(junit.properties(result))
    path = history_path(environment.results, trial.case, environment.operator)
    explanation = explain(history, judgement, history_path=str(path))
    allure_case(history, judgement, explanation)
    item.stash[CONFORMED] = judgement.verdict is Verdict.CONFORMS and not problem
    if item.stash[CONFORMED]:
        case_conforms(environment.recording, history, others=Case(history).others)
    if result.gates:
        if result.verdict is Verdict.VIOLATES and result.findings and not result.unexpected_passes:
            raise Violation(explanation.text)
        text = result.sentence if result.unexpected_passes else explanation.text
        raise problem or InfraError(text)
    if result.known:
        known = next(finding for finding in result.findings if finding.known_failure)
        pytest.xfail(f"{KNOWN_MARK}: {known.known_failure}: {known.message}")
