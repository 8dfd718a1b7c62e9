"""Findings that several checkers make in the same way."""

from collections.abc import Iterable
from typing import Any

from conformance.history.records import Step
from conformance.judge.case import CasePoint, Window
from conformance.judge.doubts import doubts
from conformance.judge.findings import finding, or_doubts
from conformance.model.verdict import CheckerName, Finding, Verdict


def of_step(
    checker: CheckerName, verdict: Verdict, step: Step, message: str, **more: Any
) -> Finding:
    """A finding about the graph or component that a step was sent to, from its sending on."""
    return finding(
        checker, verdict, f"{step.target_kind}/{step.target}", message,
        **{"graph": step.target, "step": step.name, "first_at": step.sent_at, **more},
    )  # fmt: skip


def or_unproven(
    found: Iterable[Finding], checker: CheckerName, point: CasePoint, window: Window, *, claim: str
) -> list[Finding]:
    """The findings; and if none of them gates, why `claim` cannot be proven, if it cannot."""
    return or_doubts(found, lambda: doubts(point.case, checker, point, window, claim=claim))
