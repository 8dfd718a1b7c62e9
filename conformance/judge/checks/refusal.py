"""Refusal: each answer is as promised, by the case and by the operator's profile; a refused step says
what it refuses and moves nothing; every door says the same. What a refusal is stands in
model/answers.py; answers of other classes leave the step unknown."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from conformance.history.records import Expect, Step
from conformance.judge.case import Case
from conformance.judge.checks.parts.telling import of_step
from conformance.judge.checks.parts.unmoved import unmoved
from conformance.judge.findings import CheckResult
from conformance.judge.steps import answer_of, asked, owned_component, request_of, took
from conformance.judge.wording import join
from conformance.model.answers import RefusedBy, names_change
from conformance.model.profile import Profile
from conformance.model.promises import Promise
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.REFUSAL
_TOPOLOGY = frozenset(
    {ChangeKind.ADD_MULTINODE, ChangeKind.REMOVE_MULTINODE, ChangeKind.CHANGE_NODE_COUNT}
)
# Reasons of causes that only the structural schema gives: a CEL rule may be Invalid, Forbidden,
# Required or Duplicate, and may say any text (apiextensions `x-kubernetes-validations`).
_STRUCTURAL = frozenset(
    {"FieldValueNotSupported", "FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany"}
)
_STRUCTURAL_TEXT = re.compile(
    r"in body (should|must)|strict decoding error|field not declared in schema"
)


def check(case: Case) -> CheckResult:
    """Judge every answer, and what followed each refusal."""
    steps = [step for step in case.history.steps if asked(step)]
    findings = promise_findings(case)
    for step in steps:
        answer = answer_of(step)
        if answer.refused:
            findings += [*_unnamed(case, step), *unmoved(case, step)]
        elif not answer.accepted:
            said = f": {answer.message}" if answer.message else ""
            text = (
                f"{request_of(step)} got no verdict of the operator (HTTP {step.code}, "
                f"{answer.kind}{said}), so nothing is proven"
            )
            findings.append(of_step(_NAME, Verdict.UNKNOWN, step, text))
    findings += _doors(steps)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _unnamed(case: Case, step: Step) -> Iterator[Finding]:
    """A refusal whose message does not say what it refuses."""
    answer, words = answer_of(step), case.profile.refusal_words
    if not names_change(answer, kinds=step.kinds, services=step.services, words=words):
        yield of_step(
            _NAME, Verdict.VIOLATES, step,
            f"{request_of(step)} was refused by {answer.rule or answer.by} with a message that names "
            f"neither the field nor the service: {answer.message!r}",
            answer=dict(step.answer),
        )  # fmt: skip


def _doors(steps: list[Step]) -> Iterator[Finding]:
    """The same change of the same shape must get the same verdict whatever way it is sent. An edit of a
    graph's component is no door of the graph; an illegal request is judged by itself."""
    groups: dict[tuple[Any, ...], list[Step]] = defaultdict(list)
    for step in steps:
        if ChangeKind.ILLEGAL not in step.kinds and not owned_component(step):
            shapes = (g.fingerprint() if g else "" for g in (step.before, step.after))
            groups[(step.kinds, step.target_kind, *shapes)].append(step)
    for group in groups.values():
        refused = [step for step in group if answer_of(step).refused]
        accepted = [step for step in group if took(step)]
        if refused and accepted:
            first = refused[0]
            yield of_step(
                _NAME, Verdict.VIOLATES, first,
                f"{first.name} of {join(first.services, most=4) or first.target} was refused through "
                f"{_through(refused)} and accepted through {_through(accepted)}",
                last_at=max(step.answered_at for step in group),
                answers={f"{s.name} {s.door}": s.code for s in group},
            )  # fmt: skip


def _through(steps: list[Step]) -> str:
    return join(dict.fromkeys(step.door for step in steps), most=4)


def promise_findings(case: Case) -> list[Finding]:
    """Steps that were answered otherwise than the case or the profile says."""
    return [
        of_step(
            _NAME, verdict, step, f"{request_of(step)} was {text}",
            last_at=step.answered_at, answer=dict(step.answer), door=step.door,
        )
        for step in case.history.steps
        for verdict, text in _broken(case, step)
    ]  # fmt: skip


def _broken(case: Case, step: Step) -> Iterator[tuple[Verdict, str]]:
    """What breaks the promise for a step, if it is broken: at most one."""
    illegal = ChangeKind.ILLEGAL in step.kinds
    if not asked(step) or (step.expect is Expect.BLOCKED and not illegal):
        return
    answer = answer_of(step)
    earlier = (s for s in case.history.steps if s.sent_at < step.sent_at)
    wanted, why = _wanted(step, case.profile)
    if wanted is Promise.REFUSE and answer.accepted:
        if took(step):
            moved = f"generation {step.generation_before} → {step.generation_after}"
            yield Verdict.VIOLATES, f"accepted (HTTP {step.code}, {moved}), but {why}"
        elif illegal or not any(s.target == step.target and answer_of(s).refused for s in earlier):
            # The API server dropped the edit; or else an earlier refusal left the graph as it asks.
            text = (
                f"answered HTTP {step.code} with the old generation {step.generation_before}, so "
                f"nothing was asked of the operator, but {why}"
            )
            yield Verdict.UNKNOWN, text
    if wanted is Promise.RECONCILE and answer.refused:
        who = answer.rule or answer.by or "a rule"
        text = f"refused (HTTP {step.code}, by {who}: {answer.message}), but {why}"
        # Promises hold for values that the published schema allows.
        if answer.by is not RefusedBy.SCHEMA or not _outside_schema(step):
            yield Verdict.VIOLATES, text
        elif ChangeKind.DEPLOY in step.kinds:
            yield Verdict.UNKNOWN, f"{text}; the schema does not allow the graph"
        else:
            yield Verdict.CONFORMS, f"{text}; the schema does not allow the value"


def _wanted(step: Step, profile: Profile) -> tuple[Promise, str]:
    if ChangeKind.ILLEGAL in step.kinds:
        return Promise.REFUSE, "the request is illegal, so only a refusal is right"
    if step.expect is Expect.REFUSE:
        return Promise.REFUSE, "this case expects a refusal"
    if step.expect is Expect.RECONCILE:
        return Promise.RECONCILE, "this case expects it to be carried out"
    promises = {_promise(kind, step, profile) for kind in step.kinds}
    # In a mixed request a refused part refuses the whole.
    strongest = (one for one in (Promise.REFUSE, Promise.EITHER) if one in promises)
    promise = next(strongest, Promise.RECONCILE)
    what = f"{promise} {join(step.kinds, most=4)}"
    return promise, f"profile {profile.identity.name} promises to {what}"


def _promise(kind: ChangeKind, step: Step, profile: Profile) -> Promise:
    if step.component and kind in _TOPOLOGY:
        owned = owned_component(step)
        return profile.promises.component if owned else profile.promises.bare_component
    # Deploys, annotations, no-ops and deletes are no policy: a legal one is accepted.
    promise: Promise = getattr(profile.promises, kind.name.lower(), Promise.RECONCILE)
    return promise


def _outside_schema(step: Step) -> bool:
    """True if the published schema, and no rule of the operator's, does not allow the value."""
    causes = (step.answer.get("details") or {}).get("causes") or ()
    told = any(
        # A rule's own reason has words behind it; the schema's `Required value` has none.
        cause.get("reason") in _STRUCTURAL or cause.get("message") == "Required value"
        for cause in causes
    )
    return told or _STRUCTURAL_TEXT.search(str(step.answer.get("message") or "")) is not None
