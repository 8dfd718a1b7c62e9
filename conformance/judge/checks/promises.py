"""Promises: what an answer must have been, by the case and by the operator's profile.

This is the only place where an answer is held against a promise; it reports under `refusal`, and
`refusal.check` includes it. Nothing else needs to compare outcomes with promises.
"""

from __future__ import annotations

import re

from conformance.history.history import History
from conformance.history.records import Expect, Step
from conformance.judge.checks.words import listing
from conformance.model.answers import Answer, RefusedBy, understand
from conformance.model.profile import Profile, Promise
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_TOPOLOGY = {
    ChangeKind.ADD_MULTINODE,
    ChangeKind.REMOVE_MULTINODE,
    ChangeKind.CHANGE_NODE_COUNT,
}
_BY_KIND = {
    ChangeKind.ADD_MULTINODE: "add_multinode",
    ChangeKind.REMOVE_MULTINODE: "remove_multinode",
    ChangeKind.CHANGE_NODE_COUNT: "change_node_count",
    ChangeKind.REPLICAS: "replicas",
    ChangeKind.IMAGE: "image",
    ChangeKind.SERVICE_ADDED: "service_added",
    ChangeKind.SERVICE_REMOVED: "service_removed",
    ChangeKind.SERVICE_RENAMED: "service_renamed",
}
# Reasons of causes that only the structural schema gives: a CEL rule may be Invalid, Forbidden,
# Required or Duplicate, and may say any text (apiextensions `x-kubernetes-validations`).
_STRUCTURAL = frozenset(
    {"FieldValueNotSupported", "FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany"}
)
_STRUCTURAL_TEXT = re.compile(
    r"in body (should|must)|strict decoding error|field not declared in schema"
)


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


def asked(step: Step) -> bool:
    """True if the step sent a request. Operator steps, idling and moot steps send none."""
    return bool(step.request)


def answer_of(step: Step) -> Answer:
    """The API's answer to a step, understood."""
    return understand(step.code, step.answer)


def took(step: Step) -> bool:
    """True if the step was accepted and, where it should, moved the generation. An accepted edit
    that moved nothing (a pruned field) was no acceptance of the change."""
    return step.accepted and (step.moved or not step.moves_generation or step.before is None)


def owned_component(step: Step) -> bool:
    """True for an edit of a component that belongs to a graph: what is wanted does not change."""
    return step.component and step.before is not None and step.before == step.after


def promise_for(step: Step, profile: Profile) -> Promise:
    """What the profile promises for a step. In a mixed request a refused part refuses the whole."""
    if ChangeKind.ILLEGAL in step.kinds:
        return Promise.REFUSE
    promises = {_promise(kind, step, profile) for kind in step.kinds}
    for strongest in (Promise.REFUSE, Promise.EITHER):
        if strongest in promises:
            return strongest
    return Promise.RECONCILE


def _promise(kind: ChangeKind, step: Step, profile: Profile) -> Promise:
    if step.component and kind in _TOPOLOGY:
        owned = owned_component(step)
        return profile.promises.component if owned else profile.promises.bare_component
    field = _BY_KIND.get(kind)
    # Deploys, annotations, no-ops and deletes are no policy: a legal one is accepted.
    return getattr(profile.promises, field) if field else Promise.RECONCILE


def promise_findings(history: History) -> list[Finding]:
    """Steps that ended otherwise than the case or the profile says (checker `refusal`)."""
    found = []
    for step in history.steps:
        if asked(step):
            finding = _contradiction(history, step)
            if finding is not None:
                found.append(finding)
    return found


def _contradiction(history: History, step: Step) -> Finding | None:
    answer = answer_of(step)
    if step.expect is Expect.BLOCKED and ChangeKind.ILLEGAL not in step.kinds:
        return None
    wanted, why = _wanted(step, history.profile)
    if wanted is Promise.REFUSE and answer.accepted:
        return _accepted(step, why) if took(step) else _nothing_happened(history, step, why)
    if wanted is Promise.RECONCILE and answer.refused:
        return _refused(step, answer, why)
    return None


def _wanted(step: Step, profile: Profile) -> tuple[Promise, str]:
    kinds = listing(step.kinds)
    if ChangeKind.ILLEGAL in step.kinds:
        return Promise.REFUSE, "the request is illegal, so only a refusal is right"
    if step.expect is Expect.REFUSE:
        return Promise.REFUSE, "this case expects a refusal"
    if step.expect is Expect.RECONCILE:
        return Promise.RECONCILE, "this case expects it to be carried out"
    promise = promise_for(step, profile)
    return promise, f"profile {profile.identity.name} promises to {promise} {kinds}"


def _accepted(step: Step, why: str) -> Finding:
    return _finding(
        step,
        Verdict.VIOLATES,
        f"{what(step)} was accepted (HTTP {step.code}, generation {step.generation_before} → "
        f"{step.generation_after}), but {why}.",
    )


def _nothing_happened(history: History, step: Step, why: str) -> Finding | None:
    """2xx with the old generation: the API server dropped the edit, or it was pointless because an
    earlier refusal left the graph as it asks."""
    earlier = [s for s in history.steps if s.sent_at < step.sent_at and s.target == step.target]
    if ChangeKind.ILLEGAL not in step.kinds and any(answer_of(s).refused for s in earlier):
        return None
    return _finding(
        step,
        Verdict.UNKNOWN,
        f"{what(step)} was answered HTTP {step.code} with the old generation "
        f"{step.generation_before}, so nothing was asked of the operator, but {why}.",
    )


def _refused(step: Step, answer: Answer, why: str) -> Finding:
    who = answer.rule or answer.by or "a rule"
    text = f"{what(step)} was refused (HTTP {step.code}, by {who}: {answer.message}), but {why}"
    if answer.by is RefusedBy.SCHEMA and _outside_schema(step):
        # Promises hold for values that the published schema allows; this one it does not.
        if ChangeKind.DEPLOY in step.kinds:
            return _finding(step, Verdict.UNKNOWN, f"{text}; the schema does not allow the graph.")
        return _finding(step, Verdict.CONFORMS, f"{text}; the schema does not allow the value.")
    return _finding(step, Verdict.VIOLATES, f"{text}.")


def what(step: Step) -> str:
    """`add-multinode-2 of service Worker of graph agg through replace-v1beta1`."""
    services = f" of service {listing(step.services)}" if step.services else ""
    kind = "component" if step.component else "graph"
    door = f" through {step.door}" if step.door else ""
    return f"{step.name}{services} of {kind} {step.target}{door}"


def _finding(step: Step, verdict: Verdict, message: str) -> Finding:
    return Finding(
        checker=CheckerName.REFUSAL,
        verdict=verdict,
        subject=f"{step.target_kind}/{step.target}",
        message=message,
        graph=step.target,
        step=step.name,
        first_at=step.sent_at,
        last_at=step.answered_at,
        evidence={"answer": dict(step.answer), "door": step.door},
    )
