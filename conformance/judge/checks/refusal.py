"""Refusal: a refused step says what it refuses and moves nothing; every door says the same.

A refusal is a 4xx by an admission webhook, a ValidatingAdmissionPolicy or the CRD's schema or CEL
rules (model/answers.py); answers of other classes leave the step unknown.

Nothing moved means, from the request to the end of the hold: no create, no delete, no change of
spec, labels, annotations, owners or finalizers in the namespace, no event by the operator, no pod
come or gone. A status write counts if it changes what the status claims (its times, messages and
observedGeneration aside) and the graph had been at rest for a full hold window before; else it is
reported, since a status of earlier work may lag behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from conformance.history.history import History
from conformance.history.records import Checkpoint, OperatorEventKind, Step
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.family import foreign_uids
from conformance.judge.checks.promises import (
    answer_of,
    asked,
    owned_component,
    promise_findings,
    took,
    what,
)
from conformance.judge.checks.windows import checkpoint_of, doubts, window
from conformance.judge.checks.words import by, listing, named, plural, seconds, subject
from conformance.judge.state.changes import EVIDENCE_KINDS, Act, Change, said_at
from conformance.judge.state.status import claim
from conformance.judge.state.writes import is_operators_kind, log_of
from conformance.model.answers import names_change
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

__all__ = ["check", "promise_findings"]

_NAME = CheckerName.REFUSAL


def check(history: History) -> CheckResult:
    """Judge every answer, and what followed each refusal."""
    steps = [step for step in history.steps if asked(step)]
    findings = promise_findings(history)
    for step in steps:
        answer = answer_of(step)
        if answer.refused:
            findings += _unnamed(history, step)
            findings += _unmoved(history, step)
        elif not answer.accepted:
            findings.append(_other(step))
    findings += _doors(steps)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _finding(step: Step, verdict: Verdict, message: str, **more: Any) -> Finding:
    values: dict[str, Any] = {
        "subject": f"{step.target_kind}/{step.target}",
        "first_at": step.sent_at,
        **more,
    }
    return Finding(
        checker=_NAME,
        verdict=verdict,
        message=message,
        graph=step.target,
        step=step.name,
        **values,
    )


def _other(step: Step) -> Finding:
    answer = answer_of(step)
    said = f": {answer.message}" if answer.message else ""
    return _finding(
        step,
        Verdict.UNKNOWN,
        f"{what(step)} got no verdict of the operator (HTTP {step.code}, {answer.kind}{said}), so "
        "nothing is proven.",
    )


def _unnamed(history: History, step: Step) -> list[Finding]:
    answer = answer_of(step)
    words = history.profile.refusal_words
    if names_change(answer, kinds=step.kinds, services=step.services, words=words):
        return []
    return [
        _finding(
            step,
            Verdict.VIOLATES,
            f"{what(step)} was refused by {answer.rule or answer.by} with a message that names "
            f"neither the field nor the service: {answer.message!r}.",
            evidence={"answer": dict(step.answer)},
        )
    ]


# Nothing moved ------------------------------------------------------------------------------------


def _unmoved(history: History, step: Step) -> list[Finding]:
    checkpoint = checkpoint_of(history, step)
    if checkpoint is None:
        return [
            _finding(
                step,
                Verdict.UNKNOWN,
                f"{what(step)} was refused, but the history has no hold window after it in which "
                "to see that nothing moved.",
            )
        ]
    steps = history.steps_of(checkpoint)
    moving = [s for s in steps if (took(s) and s.moves_generation) or _deletes(s)]
    if any(other.sent_at < step.sent_at for other in moving):
        # What an accepted step set off goes on meanwhile; only the refusing itself can be judged.
        return []
    end = min([s.sent_at for s in moving if s.sent_at > step.sent_at], default=checkpoint.at)
    within = window(history, step.sent_at, end)
    base = max(within.after_revision, step.revision_before)
    found = list(_moves(history, step, checkpoint, base=base, end=end))
    if not any(finding.gates for finding in found):
        found += _unseen(history, step, base)
        if end == checkpoint.at and end - step.answered_at < 0.9 * history.bounds.hold:
            found.append(_too_short(history, step, end))
        claim = f"nothing moved after {step.name} was refused"
        found += doubts(history, _NAME, checkpoint, within, claim=claim)
    return found


def _deletes(step: Step) -> bool:
    return step.accepted and ChangeKind.DELETE in step.kinds


def _unseen(history: History, step: Step, base: int) -> Iterator[Finding]:
    target = history.at(base).named(step.target_kind, step.target, step.namespace)
    if target is None and ChangeKind.DEPLOY not in step.kinds:
        yield _finding(
            step,
            Verdict.UNKNOWN,
            f"{what(step)} was refused, but the record does not have {step.target_kind} "
            f"{step.target}, so it cannot be told whether it moved.",
        )


def _too_short(history: History, step: Step, end: float) -> Finding:
    return _finding(
        step,
        Verdict.UNKNOWN,
        f"{what(step)} was refused, but only {seconds(end - step.answered_at)} were recorded after "
        f"it, where {seconds(history.bounds.hold)} without a move are needed.",
        last_at=end,
    )


def _moves(
    history: History, step: Step, checkpoint: Checkpoint, *, base: int, end: float
) -> Iterator[Finding]:
    log = log_of(history)
    strangers = foreign_uids(history)
    moved: dict[Actor, list[Change]] = defaultdict(list)
    starts = [e.at for e in history.operator_events if e.kind is OperatorEventKind.STARTED]
    started = min([at for at in starts if at > step.sent_at], default=None)
    for change in log.changes(step.sent_at, end):
        if change.event.revision <= base or change.obj.uid in strangers:
            continue
        writer = log.writer(change)
        if change.obj.kind == "Event":
            # An operator that was started meanwhile tells of all that it finds, once.
            if started is not None and change.at > started:
                continue
            if writer is Actor.OPERATOR and _said_after(change.obj, step.sent_at):
                moved[writer].append(change)
        elif _counts(change, writer):
            moved[writer].append(change)
        elif _claims(change) and writer in (Actor.OPERATOR, Actor.UNKNOWN):
            yield _status(history, step, checkpoint, change)
    if moved[Actor.OPERATOR]:
        everything = [change for changes in moved.values() for change in changes]
        yield _moved(step, sorted(everything, key=lambda c: c.event.revision), Verdict.VIOLATES)
    elif any(moved.values()):
        everything = [change for changes in moved.values() for change in changes]
        yield _moved(step, sorted(everything, key=lambda c: c.event.revision), Verdict.UNKNOWN)


def _counts(change: Change, writer: Actor) -> bool:
    obj = change.obj
    if not change.weighs or obj.kind in EVIDENCE_KINDS or writer is Actor.SUITE:
        return False
    if writer is Actor.OPERATOR:
        return True
    if change.act is Act.CHANGED:
        # The platform keeps fields of its own in others' objects; that is no move.
        return writer is Actor.UNKNOWN and is_operators_kind(obj)
    return is_operators_kind(obj) or obj.kind in PLATFORM_KINDS


def _moved(step: Step, changes: list[Change], verdict: Verdict) -> Finding:
    first = changes[0]
    texts = listing(dict.fromkeys(str(change) for change in changes), limit=3)
    late = seconds(first.at - step.sent_at)
    blame = "" if verdict is Verdict.VIOLATES else "; no write of the operator is known among them"
    return _finding(
        step,
        verdict,
        f"{what(step)} was refused (HTTP {step.code}), yet {plural(len(changes), 'change')} "
        f"followed, the first {late} after the request: {texts}{blame}.",
        subject=subject(first.obj),
        first_at=first.at,
        last_at=changes[-1].at,
        evidence={"changes": [f"{change} at {change.event.revision}" for change in changes]},
    )


def _said_after(event: Obj, at: float) -> bool:
    """True unless an Event's own time, in whole seconds, says that what it tells is older."""
    said = said_at(event)
    return said is None or said >= int(at)


def _claims(change: Change) -> bool:
    if change.obj.kind not in (GRAPH_KIND, COMPONENT_KIND) or change.before is None:
        return False
    return change.act is Act.CHANGED and claim(change.before.status) != claim(change.obj.status)


def _status(history: History, step: Step, checkpoint: Checkpoint, change: Change) -> Finding:
    before = history.checkpoint_before(checkpoint)
    rested = before is not None and before.hold >= history.bounds.hold
    note = "" if rested else "; it may be the end of earlier work, so it does not gate"
    writer = log_of(history).writer(change)
    return _finding(
        step,
        Verdict.VIOLATES if rested and writer is Actor.OPERATOR else Verdict.CONFORMS,
        f"{what(step)} was refused, and {seconds(change.at - step.sent_at)} after the request the "
        f"status of {named(change.obj)} was changed by {by(writer)}{note}.",
        subject=subject(change.obj),
        first_at=change.at,
    )


# Doors --------------------------------------------------------------------------------------------


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
            yield _finding(
                refused[0],
                Verdict.VIOLATES,
                f"{refused[0].name} of {listing(refused[0].services) or refused[0].target} was "
                f"refused through {listing(dict.fromkeys(s.door for s in refused))} and accepted "
                f"through {listing(dict.fromkeys(s.door for s in accepted))}.",
                last_at=max(step.answered_at for step in group),
                evidence={"answers": {f"{s.name} {s.door}": s.code for s in group}},
            )
