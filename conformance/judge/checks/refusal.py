"""Refusal: a refused step says what it refuses and moves nothing; every door says the same.

A refusal is a 4xx by an admission webhook, a ValidatingAdmissionPolicy or the CRD's schema or CEL
rules (model/answers.py); answers of other classes leave the step unknown. That nothing moved is
judged in `unmoved`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from conformance.history.records import Step
from conformance.judge.case import Case
from conformance.judge.checks.parts.promises import promise_findings
from conformance.judge.checks.parts.unmoved import unmoved
from conformance.judge.findings import CheckResult, finding
from conformance.judge.steps import answer_of, asked, owned_component, request_of, took
from conformance.judge.wording import join
from conformance.model.answers import names_change
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.REFUSAL


def check(case: Case) -> CheckResult:
    """Judge every answer, and what followed each refusal."""
    steps = [step for step in case.history.steps if asked(step)]
    findings = promise_findings(case)
    for step in steps:
        answer = answer_of(step)
        if answer.refused:
            findings += _unnamed(case, step)
            findings += unmoved(case, step)
        elif not answer.accepted:
            findings.append(_other(step))
    findings += _doors(steps)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _finding(step: Step, verdict: Verdict, message: str, **more: Any) -> Finding:
    about = f"{step.target_kind}/{step.target}"
    return finding(
        _NAME, verdict, about, message,
        graph=step.target, step=step.name, first_at=step.sent_at, **more,
    )  # fmt: skip


def _other(step: Step) -> Finding:
    answer = answer_of(step)
    said = f": {answer.message}" if answer.message else ""
    return _finding(
        step, Verdict.UNKNOWN,
        f"{request_of(step)} got no verdict of the operator (HTTP {step.code}, {answer.kind}{said}), "
        "so nothing is proven",
    )  # fmt: skip


def _unnamed(case: Case, step: Step) -> list[Finding]:
    """A refusal whose message does not say what it refuses."""
    answer = answer_of(step)
    words = case.profile.refusal_words
    if names_change(answer, kinds=step.kinds, services=step.services, words=words):
        return []
    return [
        _finding(
            step, Verdict.VIOLATES,
            f"{request_of(step)} was refused by {answer.rule or answer.by} with a message that names "
            f"neither the field nor the service: {answer.message!r}",
            answer=dict(step.answer),
        )
    ]  # fmt: skip


def _doors(steps: list[Step]) -> Iterator[Finding]:
    """The same change of the same shape must get the same verdict whatever way it is sent.

    An edit of a graph's component is no door of the graph; an illegal request is judged by itself.
    """
    groups: dict[tuple[Any, ...], list[Step]] = defaultdict(list)
    for step in steps:
        if ChangeKind.ILLEGAL in step.kinds or owned_component(step):
            continue
        shapes = (g.fingerprint() if g else "" for g in (step.before, step.after))
        groups[(step.kinds, step.target_kind, *shapes)].append(step)
    for group in groups.values():
        refused = [step for step in group if answer_of(step).refused]
        accepted = [step for step in group if took(step)]
        if refused and accepted:
            first = refused[0]
            yield _finding(
                first, Verdict.VIOLATES,
                f"{first.name} of {join(first.services, most=4) or first.target} was refused through "
                f"{_through(refused)} and accepted through {_through(accepted)}",
                last_at=max(step.answered_at for step in group),
                answers={f"{s.name} {s.door}": s.code for s in group},
            )  # fmt: skip


def _through(steps: list[Step]) -> str:
    return join(dict.fromkeys(step.door for step in steps), most=4)
