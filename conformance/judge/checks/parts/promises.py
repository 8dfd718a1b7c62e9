"""Promises: what an answer must have been, by the case and by the operator's profile. Part of
`refusal`.

This is the only place where an answer is held against a promise; it reports under `refusal`.
"""

from __future__ import annotations

import re

from conformance.history.records import Expect, Step
from conformance.judge.case import Case
from conformance.judge.findings import finding
from conformance.judge.steps import answer_of, asked, owned_component, request_of, took
from conformance.judge.wording import join
from conformance.model.answers import Answer, RefusedBy
from conformance.model.profile import Profile
from conformance.model.promises import Promise
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

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


def promise_findings(case: Case) -> list[Finding]:
    """Steps that ended otherwise than the case or the profile says."""
    found = (_contradiction(case, step) for step in case.history.steps if asked(step))
    return [one for one in found if one is not None]


def _contradiction(case: Case, step: Step) -> Finding | None:
    answer = answer_of(step)
    if step.expect is Expect.BLOCKED and ChangeKind.ILLEGAL not in step.kinds:
        return None
    wanted, why = _wanted(step, case.profile)
    if wanted is Promise.REFUSE and answer.accepted:
        return _accepted(step, why) if took(step) else _nothing_happened(case, step, why)
    if wanted is Promise.RECONCILE and answer.refused:
        return _refused(step, answer, why)
    return None


def _wanted(step: Step, profile: Profile) -> tuple[Promise, str]:
    if ChangeKind.ILLEGAL in step.kinds:
        return Promise.REFUSE, "the request is illegal, so only a refusal is right"
    if step.expect is Expect.REFUSE:
        return Promise.REFUSE, "this case expects a refusal"
    if step.expect is Expect.RECONCILE:
        return Promise.RECONCILE, "this case expects it to be carried out"
    promise = _promise_for(step, profile)
    kinds = join(step.kinds, most=4)
    return promise, f"profile {profile.identity.name} promises to {promise} {kinds}"


def _promise_for(step: Step, profile: Profile) -> Promise:
    """What the profile promises for a step. In a mixed request a refused part refuses the whole."""
    promises = {_promise(kind, step, profile) for kind in step.kinds}
    for strongest in (Promise.REFUSE, Promise.EITHER):
        if strongest in promises:
            return strongest
    return Promise.RECONCILE


def _promise(kind: ChangeKind, step: Step, profile: Profile) -> Promise:
    if step.component and kind in _TOPOLOGY:
        owned = owned_component(step)
        return profile.promises.component if owned else profile.promises.bare_component
    # Deploys, annotations, no-ops and deletes are no policy: a legal one is accepted.
    promise: Promise = getattr(profile.promises, kind.name.lower(), Promise.RECONCILE)
    return promise


def _accepted(step: Step, why: str) -> Finding:
    return _finding(
        step, Verdict.VIOLATES,
        f"{request_of(step)} was accepted (HTTP {step.code}, generation {step.generation_before} → "
        f"{step.generation_after}), but {why}",
    )  # fmt: skip


def _nothing_happened(case: Case, step: Step, why: str) -> Finding | None:
    """2xx with the old generation: the API server dropped the edit, or it was pointless because an
    earlier refusal left the graph as it asks."""
    earlier = (
        s for s in case.history.steps if s.sent_at < step.sent_at and s.target == step.target
    )
    if ChangeKind.ILLEGAL not in step.kinds and any(answer_of(s).refused for s in earlier):
        return None
    return _finding(
        step, Verdict.UNKNOWN,
        f"{request_of(step)} was answered HTTP {step.code} with the old generation "
        f"{step.generation_before}, so nothing was asked of the operator, but {why}",
    )  # fmt: skip


def _refused(step: Step, answer: Answer, why: str) -> Finding:
    who = answer.rule or answer.by or "a rule"
    text = (
        f"{request_of(step)} was refused (HTTP {step.code}, by {who}: {answer.message}), but {why}"
    )
    if answer.by is RefusedBy.SCHEMA and _outside_schema(step):
        # Promises hold for values that the published schema allows; this one it does not.
        if ChangeKind.DEPLOY in step.kinds:
            return _finding(step, Verdict.UNKNOWN, f"{text}; the schema does not allow the graph")
        return _finding(step, Verdict.CONFORMS, f"{text}; the schema does not allow the value")
    return _finding(step, Verdict.VIOLATES, text)


def _outside_schema(step: Step) -> bool:
    """True if the published schema, and no rule of the operator's, does not allow the value."""
    answer = step.answer
    causes = (answer.get("details") or {}).get("causes") or ()
    told = any(
        # A rule's own reason has words behind it; the schema's `Required value` has none.
        cause.get("reason") in _STRUCTURAL or cause.get("message") == "Required value"
        for cause in causes
    )
    return told or _STRUCTURAL_TEXT.search(str(answer.get("message") or "")) is not None


def _finding(step: Step, verdict: Verdict, message: str) -> Finding:
    return finding(
        CheckerName.REFUSAL, verdict, f"{step.target_kind}/{step.target}", message,
        graph=step.target, step=step.name, first_at=step.sent_at, last_at=step.answered_at,
        answer=dict(step.answer), door=step.door,
    )  # fmt: skip
