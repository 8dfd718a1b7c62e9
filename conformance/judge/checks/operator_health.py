"""Operator health: it runs, and it ends only when the suite ends it. Without any sign that it was
started there is nothing to judge."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.judge.case import Case
from conformance.judge.doubts import unknown
from conformance.judge.findings import CheckResult, finding
from conformance.judge.wording import seconds
from conformance.model.crash import is_crash
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.OPERATOR_HEALTH
_SIGNS = {OperatorEventKind.STARTED, OperatorEventKind.READY}
_BY_SUITE = {OperatorEventKind.STOPPED, OperatorEventKind.KILLED}
_BEGINS_OR_ENDS = {*_BY_SUITE, OperatorEventKind.EXITED, OperatorEventKind.STARTED}


def check(case: Case) -> CheckResult:
    """Judge what happened to the operator's process during the case."""
    events = case.history.operator_events
    if any(event.kind in _SIGNS for event in events):
        findings = (*_crashes(case), *_restarts(case), *_absent(case))
        return CheckResult(checker=_NAME, findings=findings, looked_at=len(events))
    hidden = any(mark.kind == "Pod" for mark in case.history.unseen)
    why = "The suite may not see pods, and the history has" if hidden else "The history has"
    sign = f"{why} no sign that the operator was started or became ready"
    about = f"operator/{case.history.header.operator}"
    unseen = unknown(_NAME, about, f"{sign}, so its health cannot be judged")
    return CheckResult(checker=_NAME, findings=(unseen, *_crashes(case)))


def _finding(case: Case, event: OperatorEvent, message: str, verdict: Verdict) -> Finding:
    about = f"operator/{case.history.header.operator}"
    return finding(_NAME, verdict, about, message, first_at=event.at, log=event.text)


def _where(case: Case, event: OperatorEvent) -> str:
    """During which step of the case it happened."""
    before = [step for step in case.history.steps if step.sent_at <= event.at]
    late = f", {seconds(event.at - before[-1].sent_at)} after {before[-1].name}" if before else ""
    return f"in case {case.history.header.case}{late}"


def _crashes(case: Case) -> Iterator[Finding]:
    for event in case.history.operator_events:
        text = event.text.strip()
        crashed = event.kind is OperatorEventKind.LOG and is_crash(event.text)
        if event.kind is OperatorEventKind.EXITED:
            said = f" ({text})" if text else ""
            message = f"The operator exited by itself {_where(case, event)}{said}"
        elif event.kind is OperatorEventKind.PANIC or crashed:
            message = f"The operator panicked {_where(case, event)}: {text}"
        else:
            continue
        yield _finding(case, event, message, Verdict.VIOLATES)


def _restarts(case: Case) -> Iterator[Finding]:
    """A start while it already ran: something else than the suite started it again."""
    events = [event for event in case.history.operator_events if event.kind in _BEGINS_OR_ENDS]
    for before, event in pairwise(events):
        if before.kind is event.kind is OperatorEventKind.STARTED:
            again = f"The operator was started again {_where(case, event)}"
            message = f"{again}, although the suite had not ended it"
            yield _finding(case, event, message, Verdict.VIOLATES)


def _absent(case: Case) -> Iterator[Finding]:
    """An operator that the suite ended and did not start again says nothing at a later checkpoint."""
    events = [e for e in case.history.operator_events if e.kind in _BY_SUITE | _SIGNS]
    last = case.judged[-1] if case.judged else None
    if not last or not events or events[-1].kind in _SIGNS or last.at <= events[-1].at:
        return
    message = (
        f"The operator was not running at {last.name}: the suite ended it "
        f"{seconds(last.at - events[-1].at)} before and did not start it again"
    )
    yield _finding(case, events[-1], message, Verdict.UNKNOWN)
