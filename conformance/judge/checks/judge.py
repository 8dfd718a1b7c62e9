"""The judgement of a history: every checker's result, each step's outcome, and the worst verdict.

Known failures are not applied here: a judgement says what was seen, and the report what the profile
admits of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.history.history import History
from conformance.history.records import Scope
from conformance.judge.checks.base import CheckResult, run_checked
from conformance.judge.checks.common import finding_of, unknown
from conformance.judge.checks.looks import Look, looks
from conformance.judge.checks.outcome import outcomes
from conformance.judge.checks.registry import CHECKERS, RUN_CHECKERS
from conformance.judge.checks.sight import blinded
from conformance.model.verdict import CheckerName, Finding, Outcome, Verdict, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was concluded of one case. `results` has every checker, in reading order; `outcomes`
    maps the name of each step to how it ended."""

    verdict: Verdict
    results: tuple[CheckResult, ...]
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of the results."""
        return tuple(finding for result in self.results for finding in result.findings)

    def result(self, checker: CheckerName) -> CheckResult:
        """The result of one checker. Raises KeyError if it was not run."""
        for result in self.results:
            if result.checker is checker:
                return result
        raise KeyError(f"checker {checker} is not in this judgement")


def judge(history: History) -> Judgement:
    """Judge a history with every checker. Pure: the same history gives the same judgement."""
    if history.header.scope is not Scope.CASE:
        checkers = RUN_CHECKERS[history.header.scope]
        ran = tuple(run_checked(name, check, history) for name, check in checkers.items())
        return Judgement(verdict=worst(r.verdict for r in ran if r.verdict), results=ran)
    results = {name: run_checked(name, check, history) for name, check in CHECKERS.items()}
    ended = outcomes(history)
    results = blinded(history, results)
    blind = any(result.blind for result in results.values())
    if blind:
        ended = dict.fromkeys(ended, Outcome.INCONCLUSIVE)
    for finding in () if blind else _left_over(history, results, ended):
        result = results[finding.checker]
        results[finding.checker] = dataclasses.replace(result, findings=(*result.findings, finding))
    verdicts = [result.verdict for result in results.values() if result.verdict is not None]
    return Judgement(verdict=worst(verdicts), results=tuple(results.values()), outcomes=ended)


def _left_over(
    history: History, results: Mapping[CheckerName, CheckResult], ended: Mapping[str, Outcome]
) -> list[Finding]:
    """Findings for what no checker took up, so that it cannot pass: all `unknown`."""
    gating = [f for result in results.values() for f in result.findings if f.gates]
    steps_told = {finding.step for finding in gating if finding.step}
    found: list[Finding] = []
    for look in looks(history):
        if not steps_told & set(look.checkpoint.steps) and not _told_at(look, gating):
            found += _unexplained(look)
    steps_told |= {name for look in looks(history) for f in found
                   if f.step in look.checkpoint.steps for name in look.checkpoint.steps}  # fmt: skip
    judged = [step for step in history.steps if step.judged]
    for step in judged:
        outcome = ended[step.name]
        if outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE) and step.name not in steps_told:
            if _checkpoint_told(step.name, history, steps_told):
                continue
            text = (
                f"step {step.name} on {step.target} ended {outcome} (HTTP {step.code}, generation "
                f"{step.generation_before} to {step.generation_after}), so it proves nothing"
            )
            found.append(unknown(CheckerName.VALIDITY, f"step/{step.name}", text))
    if judged and all(ended[step.name] is Outcome.NOT_APPLICABLE for step in judged):
        text = "every judged step of this case was made moot by an earlier refusal"
        found.append(unknown(CheckerName.VALIDITY, "history", text))
    return found


def _told_at(look: Look, gating: list[Finding]) -> bool:
    """True if a finding without a step is about the time of this checkpoint."""
    return any(
        not f.step and f.last_at is not None and look.begins <= f.last_at <= look.checkpoint.at
        for f in gating
    )


def _checkpoint_told(step: str, history: History, told: set[str]) -> bool:
    return any(
        step in checkpoint.steps and told & set(checkpoint.steps)
        for checkpoint in history.checkpoints
    )


def _unexplained(look: Look) -> list[Finding]:
    """What did not match although the checker in charge has nothing to say of it."""
    rows = [
        dataclasses.replace(finding_of(look, row), verdict=Verdict.UNKNOWN)
        for row in look.mismatches
        # What an arrangement does not wait for is judged at the checkpoints that do.
        if look.checkpoint.judged or not row.soft
    ]
    if rows or look.held:
        return rows
    text = (
        f"{look.checkpoint.name} came at the deadline of {look.checkpoint.deadline:g} s without a hold "
        "window, and no checker can say why"
    )
    return [unknown(CheckerName.VALIDITY, look.checkpoint.name, text, look.checkpoint)]
