"""Operator health: it runs, and it ends only when the suite ends it.

An exit, a panic or a restart that nobody asked for is a finding that names the case. Without any
sign that the operator was started there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.history import History
from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.words import seconds
from conformance.model.crash import is_crash
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.OPERATOR_HEALTH
_SIGNS = {OperatorEventKind.STARTED, OperatorEventKind.READY}
_ENDED = {OperatorEventKind.STOPPED, OperatorEventKind.KILLED, OperatorEventKind.EXITED}


def check(history: History) -> CheckResult:
    """Judge what happened to the operator's process during the case."""
    events = history.operator_events
    if not any(event.kind in _SIGNS for event in events):
        hidden = any(mark.kind == "Pod" for mark in history.unseen)
        why = "The suite may not see pods, and the history has" if hidden else "The history has"
        finding = _finding(
            history,
            Verdict.UNKNOWN,
            f"{why} no sign that the operator was started or became ready, so its health cannot be "
            "judged.",
        )
        return CheckResult(checker=_NAME, findings=(finding, *_crashes(history)))
    findings = [*_crashes(history), *_restarts(history), *_absent(history)]
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(events))


def _finding(
    history: History, verdict: Verdict, message: str, event: OperatorEvent | None = None
) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=verdict,
        subject=f"operator/{history.header.operator}",
        message=message,
        first_at=event.at if event else None,
        evidence={"log": event.text} if event else {},
    )


def _where(history: History, event: OperatorEvent) -> str:
    """During which step of the case it happened."""
    before = [step for step in history.steps if step.sent_at <= event.at]
    if not before:
        return f"in case {history.header.case}"
    late = seconds(event.at - before[-1].sent_at)
    return f"in case {history.header.case}, {late} after {before[-1].name}"


def _crashes(history: History) -> Iterator[Finding]:
    for event in history.operator_events:
        text = event.text.strip()
        if event.kind is OperatorEventKind.EXITED:
            said = f" ({text})" if text else ""
            message = f"The operator exited by itself {_where(history, event)}{said}."
        elif event.kind is OperatorEventKind.PANIC or _crashed(event):
            message = f"The operator panicked {_where(history, event)}: {text}"
        else:
            continue
        yield _finding(history, Verdict.VIOLATES, message, event)


def _crashed(event: OperatorEvent) -> bool:
    return event.kind is OperatorEventKind.LOG and is_crash(event.text)


def _restarts(history: History) -> Iterator[Finding]:
    """A start while it already ran: something else than the suite started it again."""
    running = False
    for event in history.operator_events:
        if event.kind is OperatorEventKind.STARTED:
            if running:
                yield _finding(
                    history,
                    Verdict.VIOLATES,
                    f"The operator was started again {_where(history, event)}, although the suite "
                    "had not ended it.",
                    event,
                )
            running = True
        elif event.kind in _ENDED:
            running = False


def _absent(history: History) -> Iterator[Finding]:
    """An operator that the suite ended and did not start again says nothing at a later checkpoint."""
    ended: OperatorEvent | None = None
    for event in history.operator_events:
        if event.kind in (OperatorEventKind.STOPPED, OperatorEventKind.KILLED):
            ended = event
        elif event.kind in _SIGNS:
            ended = None
    judged = [checkpoint for checkpoint in history.checkpoints if checkpoint.judged]
    if ended is not None and judged and judged[-1].at > ended.at:
        yield _finding(
            history,
            Verdict.UNKNOWN,
            f"The operator was not running at {judged[-1].name}: the suite ended it "
            f"{seconds(judged[-1].at - ended.at)} before and did not start it again.",
            ended,
        )
