"""The judgement of a history: every checker's result, each step's outcome, and the worst verdict.
It says what was seen; known failures are the report's affair."""

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from conformance.history.history import History
from conformance.history.records import Scope, Step
from conformance.judge.case import Case, CasePoint, Check
from conformance.judge.doubts import blinded, unknown
from conformance.judge.findings import CheckResult
from conformance.judge.run import leftovers, soak, storms
from conformance.judge.sentences import finding_of
from conformance.judge.state.match import mismatches
from conformance.judge.steps import answer_of
from conformance.model.answers import names_change
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Outcome, Verdict, worst


def _check_of(name: CheckerName) -> Check:
    check: Check = importlib.import_module(f"conformance.judge.checks.{name.module}").check
    return check


CHECKERS: dict[CheckerName, Check] = {name: _check_of(name) for name in CheckerName}
"""Each is the module of its name in `checks/`. In the order in which a person wants to read them,
which is that of the names."""

_RUN_CHECKERS: dict[Scope, dict[CheckerName, Check]] = {
    Scope.SOAK: {
        **{name: partial(soak.check_state, name=name) for name in soak.STATE_CHECKERS},
        CheckerName.QUIESCENCE: soak.check_writes,
    },
    Scope.RUN: {CheckerName.ORPHANS: leftovers.check, CheckerName.QUIESCENCE: storms.check},
}
"""For histories of a whole run, by what of it they are of."""

# Their object changes in ways that are not a spec edit: deletion itself moves the generation.
_MAY_MOVE = frozenset({ChangeKind.DELETE, ChangeKind.OPERATOR})


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
        return {result.checker: result for result in self.results}[checker]


def judge(history: History) -> Judgement:
    """Judge a history with every checker. Pure: the same history gives the same judgement."""
    case = Case(history)
    checkers = _RUN_CHECKERS.get(history.header.scope, CHECKERS)
    results = {name: _checked(name, check, case) for name, check in checkers.items()}
    ended: Mapping[str, Outcome] = {}
    if history.header.scope is Scope.CASE:
        ended = outcomes(case)
        results = blinded(case, results)
        if any(result.blind for result in results.values()):
            ended = dict.fromkeys(ended, Outcome.INCONCLUSIVE)
        else:
            for one in _left_over(case, results, ended):
                result = results[one.checker]
                findings = (*result.findings, one)
                results[one.checker] = dataclasses.replace(result, findings=findings)
    verdicts = [result.verdict for result in results.values() if result.verdict is not None]
    return Judgement(verdict=worst(verdicts), results=tuple(results.values()), outcomes=ended)


def outcomes(case: Case) -> dict[str, Outcome]:
    """Name of each step → its outcome."""
    return {step.name: _outcome(step, case) for step in case.history.steps}


def _superseded(step: Step, case: Case) -> bool:
    """True if an earlier refusal left the target as this step asks, so that it asks for nothing."""
    asks_nothing = step.moves_generation and step.before is not None and step.before == step.after
    if step.component or not asks_nothing or ChangeKind.ILLEGAL in step.kinds or step.moved:
        return False
    return any(
        earlier.target == step.target and answer_of(earlier).refused
        for earlier in case.history.steps
        if earlier.sent_at < step.sent_at
    )


def _outcome(step: Step, case: Case) -> Outcome:
    if _superseded(step, case):
        return Outcome.NOT_APPLICABLE
    answered = _by_answer(step, case)
    if answered is not None:
        return answered
    point = case.point_of(step)
    if point is None or point.interrupted:
        return Outcome.INCONCLUSIVE
    if point.late:
        return Outcome.INCONCLUSIVE
    if point.missed or any(not row.soft for row in point.mismatches):
        return Outcome.FAILED
    if point.checkpoint.blocked and mismatches(point.snapshot):
        return Outcome.BLOCKED
    return Outcome.RECONCILED


def _by_answer(step: Step, case: Case) -> Outcome | None:
    """What the API's answer alone decides; None if the checkpoint must tell."""
    if not step.request and not step.code:
        # The operator was stopped or started, or nothing was done on purpose: there is no answer. A
        # step that was meant to be sent and has neither is not understood.
        sends = step.moves_generation and ChangeKind.OPERATOR not in step.kinds
        return Outcome.INCONCLUSIVE if sends else None
    answer = answer_of(step)
    if answer.refused:
        words = case.profile.refusal_words
        named = names_change(answer, kinds=step.kinds, services=step.services, words=words)
        return Outcome.REFUSED if named else Outcome.FAILED
    if not answer.accepted:
        return Outcome.INCONCLUSIVE
    if step.moves_generation and not step.moved and step.before is not None:
        return Outcome.INCONCLUSIVE
    if not step.moves_generation and step.moved and not set(step.kinds) & _MAY_MOVE:
        return Outcome.FAILED
    return None


def _checked(name: CheckerName, check: Check, case: Case) -> CheckResult:
    """The checker's result; its own crash becomes an UNKNOWN finding, never a pass."""
    try:
        return check(case)
    except Exception as error:  # a crash proves nothing about the operator, so it must not pass
        text = (
            f"checker {name} crashed on this history: {type(error).__name__}: {error}; "
            "keep the history and report it as a bug of the suite"
        )
        return CheckResult(checker=name, findings=(unknown(name, f"checker/{name}", text),))


def _left_over(
    case: Case, results: Mapping[CheckerName, CheckResult], ended: Mapping[str, Outcome]
) -> list[Finding]:
    """Findings for what no checker took up, so that it cannot pass: all `unknown`."""
    gating = [f for result in results.values() for f in result.findings if f.gates]
    steps_told = {finding.step for finding in gating if finding.step}
    found: list[Finding] = []
    for point in case.seen:
        if not steps_told & set(point.checkpoint.steps) and not _told_at(point, gating):
            rows = _unexplained(point)
            found += rows
            if any(row.step in point.checkpoint.steps for row in rows):
                steps_told |= set(point.checkpoint.steps)
    judged = [step for step in case.history.steps if step.judged]
    for step in judged:
        outcome, its_point = ended[step.name], case.point_of(step)
        told = {step.name, *(its_point.checkpoint.steps if its_point else ())}
        if outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE) and not told & steps_told:
            text = (
                f"step {step.name} on {step.target} ended {outcome} (HTTP {step.code}, generation "
                f"{step.generation_before} to {step.generation_after}), so it proves nothing"
            )
            found.append(unknown(CheckerName.VALIDITY, f"step/{step.name}", text))
    if judged and all(ended[step.name] is Outcome.NOT_APPLICABLE for step in judged):
        text = "every judged step of this case was superseded by an earlier refusal"
        found.append(unknown(CheckerName.VALIDITY, "history", text))
    return found


def _told_at(point: CasePoint, gating: list[Finding]) -> bool:
    return any(
        not f.step and f.last_at is not None and point.begins <= f.last_at <= point.at
        for f in gating
    )


def _unexplained(point: CasePoint) -> list[Finding]:
    """What did not match although the checker in charge has nothing to say of it."""
    rows = [
        dataclasses.replace(finding_of(point, row), verdict=Verdict.UNKNOWN)
        for row in point.mismatches
        # What an arrangement does not wait for is judged at the checkpoints that do.
        if point.checkpoint.judged or not row.soft
    ]
    if rows or point.held:
        return rows
    text = (
        f"{point.name} came at the deadline of {point.checkpoint.deadline:g} s without a hold "
        "window, and no checker can say why"
    )
    return [unknown(CheckerName.VALIDITY, point.name, text, point)]
