"""Foreign: objects of others stay what they are; a graph that no step touches keeps its children.

Foreign objects are those that the case put there (same name, look-alike labels, finalizers). Their
status is not judged: whose it is depends on the kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.records import Foreign
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change, Part
from conformance.judge.checks.parts.siblings import sibling, siblings
from conformance.judge.doubts import doubts
from conformance.judge.findings import CheckResult, blame, finding, or_doubts
from conformance.judge.wording import by, count, join, noun
from conformance.model.kinds import Actor, ownerless
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FOREIGN
_INVALID = 422
_JUDGED = (Part.SPEC, Part.LABELS, Part.ANNOTATIONS, Part.OWNERS, Part.FINALIZERS)


def check(case: Case) -> CheckResult:
    """Judge every foreign object until the last checkpoint, and every untouched graph at each one."""
    found, graphs = list(_basics(case)), siblings(case)
    if not case.history.foreign and not graphs:
        return CheckResult(checker=_NAME, findings=tuple(found))
    if not case.points:
        text = "The history has no checkpoint up to which foreign objects could be judged"
        unjudged = finding(_NAME, Verdict.UNKNOWN, case.history.header.case, text)
        return CheckResult(checker=_NAME, findings=(unjudged,))
    last = case.points[-1]
    for foreign in case.history.foreign:
        found += _foreign(case, foreign, last)
    for row in graphs:
        found += sibling(case, row)
    start = min((foreign.at for foreign in case.history.foreign), default=_start(case))
    findings = or_doubts(
        found,
        lambda: doubts(
            case, _NAME, last, case.window(start, last.at), claim="others' objects stayed untouched"
        ),
    )
    looked_at = len(case.history.foreign) + len(graphs)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _basics(case: Case) -> Iterator[Finding]:
    """What Kubernetes puts into each namespace is not the operator's to delete; it comes back, and
    whoever read it meanwhile failed."""
    last = case.points[-1].at if case.points else 0.0
    for change in case.log.changes(0.0, last):
        obj = change.obj
        basic = obj.kind in ("ConfigMap", "ServiceAccount") and ownerless(obj.kind, obj.name)
        if basic and change.act is Act.DELETED and case.log.writer(change) is Actor.OPERATOR:
            yield _touched(case, change, Actor.OPERATOR)


def _start(case: Case) -> float:
    steps = [step for point in case.judged for step in point.steps]
    return min((step.sent_at for step in steps), default=case.history.header.started_at)


def _foreign(case: Case, foreign: Foreign, last: CasePoint) -> Iterator[Finding]:
    life = case.history.lives.get(foreign.uid)
    if life is None:
        yield finding(
            _NAME, Verdict.UNKNOWN, f"{foreign.kind}/{foreign.name}",
            f"Foreign {foreign.kind} {foreign.name} was never recorded, so it cannot be told whether "
            "it was touched",
            first_at=foreign.at,
        )  # fmt: skip
        return
    below = case.lineage.below(foreign.uid)
    for change in case.log.changes(foreign.at, last.at):
        writer = case.log.writer(change)
        if change.obj.uid == foreign.uid and _harms(change) and writer is not Actor.SUITE:
            yield _touched(case, change, writer)
            continue
        wrote = change.act is Act.CREATED or _harms(change)
        if wrote and change.obj.uid in below and writer is Actor.OPERATOR:
            yield _below(change, foreign)
    yield from _tried(case, life.first, foreign, last)


def _below(change: Change, foreign: Foreign) -> Finding:
    """What the operator did to an object below a foreign one: it is others', too, and nothing of the
    operator's own has a place there."""
    return finding(
        _NAME, Verdict.VIOLATES, change.obj,
        f"The operator wrote {change}, which is below {foreign.kind} {foreign.name} of somebody else",
        first_at=change.at, change=str(change), uid=change.obj.uid,
    )  # fmt: skip


def _tried(case: Case, obj: Obj, foreign: Foreign, last: CasePoint) -> Iterator[Finding]:
    """Writes that only the API's validation kept from changing the object, such as those of a
    Deployment's selector. A conflict (409) is none of them: to ask and be told is a way to learn
    whose it is (server-side apply)."""
    tries = [w for w in case.log.tries(obj, foreign.at, last.at) if w.code == _INVALID]
    if not tries:
        return
    times = f" {count(len(tries), 'time')}" if len(tries) > 1 else ""
    yield finding(
        _NAME, Verdict.VIOLATES, obj,
        f"The operator tried to {tries[0].verb} {noun(obj)}{times}, which belongs to somebody else "
        "and was there before; nothing but the API's validation (HTTP 422) kept it as it was",
        first_at=tries[0].at, last_at=tries[-1].at, requests=len(tries), uid=obj.uid,
    )  # fmt: skip


def _harms(change: Change) -> bool:
    if change.act is Act.DELETED:
        return True
    return change.act is Act.CHANGED and any(part in _JUDGED for part in change.parts)


def _touched(case: Case, change: Change, writer: Actor) -> Finding:
    obj = change.obj
    parts = [part for part in change.parts if part in _JUDGED]
    deleted = change.act is Act.DELETED
    verb = "deleted" if deleted else f"changed the {join(parts, most=5)} of"
    return finding(
        _NAME, _verdict(case, change, writer), obj,
        f"{by(writer).capitalize()} {verb} {noun(obj)}, which belongs to somebody else and was there "
        "before",
        first_at=change.at, change=str(change), uid=obj.uid,
    )  # fmt: skip


def _verdict(case: Case, change: Change, writer: Actor) -> Verdict:
    """The platform keeps its own fields of any object (a Deployment's revision, say). It also does
    what somebody else caused, such as the collection of an object that was given an owner."""
    if writer not in (Actor.PLATFORM, Actor.LWS_CONTROLLER):
        return blame(writer)
    if change.act is not Act.DELETED:
        return Verdict.CONFORMS
    return Verdict.VIOLATES if _disowned(case, change) else Verdict.UNKNOWN


def _disowned(case: Case, deletion: Change) -> bool:
    """True if the object was given an owner before the platform collected it."""
    events = case.history.lives[deletion.obj.uid].events
    before = [event for event in events if event.at <= deletion.at]
    return bool(before) and before[0].obj.owners != before[-1].obj.owners
