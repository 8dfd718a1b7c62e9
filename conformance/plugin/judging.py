"""After the case's function: judge the recorded history, store it, and say what it means to pytest."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from conformance.driver.checkpoints import CaseOver
from conformance.driver.trial import Trial
from conformance.evidence.explain import explain
from conformance.history import store
from conformance.judge.case import Case
from conformance.judge.verdict import judge
from conformance.model.errors import InfraError, Violation
from conformance.model.verdict import Verdict
from conformance.plugin.trials import CONFORMED, operator_events
from conformance.record.endings import case_conforms
from conformance.record.oplog import OperatorLog
from conformance.report import junit
from conformance.report.allure import KNOWN_MARK, allure_case
from conformance.report.build import case_result, history_file
from conformance.report.collect import history_path, write_case
from conformance.report.model import CaseResult


def run_case(
    item: pytest.Item, trial: Trial, log: OperatorLog | None, call: Callable[[], object]
) -> None:
    """Run the case's function, then judge whatever was recorded.

    Raises Violation if the operator is wrong, InfraError if it could not be told. A function that
    fails by itself is a bug of the suite and is raised as it is, unjudged.
    """
    problem: InfraError | None = None
    try:
        call()
        trial.compare_with_fresh()
    except CaseOver:
        pass
    except InfraError as error:
        problem = error
    history = trial.finish(operator_events(trial, log))
    judgement = judge(history)
    results = trial.environment.results
    path = history_path(results, trial.case, trial.environment.operator)
    store.write(path, history)
    result = case_result(
        history, judgement, duration=time.time() - trial.started_at, node=item.nodeid,
        history_file=history_file(path, results=results), error=str(problem) if problem else "",
    )  # fmt: skip
    write_case(results, result)
    item.user_properties.extend(junit.properties(result))
    explanation = explain(history, judgement, history_path=str(path))
    allure_case(history, judgement, explanation)
    item.stash[CONFORMED] = judgement.verdict is Verdict.CONFORMS and not problem
    if item.stash[CONFORMED]:
        case_conforms(trial.environment.recording, history, others=Case(history).others)
    if result.gates:
        if result.verdict is Verdict.VIOLATES and result.findings and not result.unexpected_passes:
            raise Violation(explanation.text)
        raise problem or InfraError(_unknown(result, explanation.text))
    if result.known:
        known = next(finding for finding in result.findings if finding.known)
        pytest.xfail(f"{KNOWN_MARK}: {known.known}: {known.message}")


def _unknown(result: CaseResult, text: str) -> str:
    return result.sentence if result.unexpected_passes else text
