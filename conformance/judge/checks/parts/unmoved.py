"""Nothing moves after a refusal, from the request to the end of the hold: no object in the namespace
(but for its status), no event by the operator, no pod come or gone. Part of `refusal`.

A status write counts if it changes what the status claims and the graph had been at rest for a full
hold window before; else it is reported, since a status of earlier work may lag behind.
"""

from collections.abc import Iterator

from conformance.history.records import Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change, said_at
from conformance.judge.checks.parts.telling import of_step
from conformance.judge.doubts import doubts
from conformance.judge.findings import finding, or_doubts
from conformance.judge.state.status import claim
from conformance.judge.steps import changes_something, request_of
from conformance.judge.wording import by, count, join, noun, seconds
from conformance.judge.writers import of_graph
from conformance.model.bounds import FULL_HOLD
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import EVIDENCE_KINDS, Actor, of_platform
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.REFUSAL


def unmoved(case: Case, step: Step) -> list[Finding]:
    """What moved after a refused step, or why it cannot be told."""
    point = case.point_of(step)
    if point is None:
        text = "the history has no hold window after it in which to see that nothing moved"
        return [_unknown(step, text)]
    deletes = (s for s in point.steps if s.accepted and ChangeKind.DELETE in s.kinds)
    moving = [*deletes, *(s for s in point.steps if changes_something(s))]
    if any(other.sent_at < step.sent_at for other in moving):
        # What an accepted step set off goes on meanwhile; only the refusing itself can be judged.
        return []
    end = min((s.sent_at for s in moving if s.sent_at > step.sent_at), default=point.at)
    window = case.window(step.sent_at, end)
    base = max(window.after_revision, step.revision_before)

    def doubtful() -> Iterator[Finding]:
        target = case.history.at(base).named(step.target_kind, step.target, step.namespace)
        if target is None and ChangeKind.DEPLOY not in step.kinds:
            what = f"{step.target_kind} {step.target}"
            text = f"the record does not have {what}, so it cannot be told whether it moved"
            yield _unknown(step, text)
        hold, recorded = case.bounds.hold, end - step.answered_at
        if end == point.at and recorded < FULL_HOLD * hold:
            most = f"only {seconds(recorded)} were recorded after it"
            text = f"{most}, where {seconds(hold)} without a move are needed"
            yield _unknown(step, text, last_at=end)
        claim = f"nothing moved after {step.name} was refused"
        yield from doubts(case, _NAME, point, window, claim=claim)

    return or_doubts(_moves(step, point, base=base, end=end), doubtful)


def _unknown(step: Step, text: str, last_at: float | None = None) -> Finding:
    message = f"{request_of(step)} was refused, but {text}"
    return of_step(_NAME, Verdict.UNKNOWN, step, message, last_at=last_at)


def _moves(step: Step, point: CasePoint, *, base: int, end: float) -> Iterator[Finding]:
    case = point.case
    moved: list[tuple[Change, Actor]] = []
    # An operator that was started meanwhile tells of all that it finds, once.
    started = min(case.operator_starts(step.sent_at, end), default=end)
    for change in case.log.changes(step.sent_at, end):
        if change.event.revision <= base or change.obj.uid in case.foreign:
            continue
        writer = case.log.writer(change)
        if _counts(change, writer, since=step.sent_at, started=started):
            moved.append((change, writer))
        elif _claims(change) and writer in (Actor.OPERATOR, Actor.UNKNOWN):
            yield _status(step, point, change, writer)
    if not moved:
        return
    changes = sorted((change for change, _ in moved), key=lambda one: one.event.revision)
    blamed = any(writer is Actor.OPERATOR for _, writer in moved)
    first = changes[0]
    texts = join(dict.fromkeys(str(change) for change in changes))
    unclear = "" if blamed else "; no write of the operator is known among them"
    yield finding(
        _NAME, Verdict.VIOLATES if blamed else Verdict.UNKNOWN, first.obj,
        f"{request_of(step)} was refused (HTTP {step.code}), yet {count(len(changes), 'change')} "
        f"followed, the first {seconds(first.at - step.sent_at)} after the request: {texts}{unclear}",
        graph=step.target, step=step.name, first_at=first.at, last_at=changes[-1].at,
        changes=[f"{change} at {change.event.revision}" for change in changes],
    )  # fmt: skip


def _counts(change: Change, writer: Actor, *, since: float, started: float) -> bool:
    obj = change.obj
    if obj.kind == "Event":
        said = said_at(obj)
        # Its own time, in whole seconds, may say that what it tells is older.
        older = said is not None and said < int(since)
        return writer is Actor.OPERATOR and change.at <= started and not older
    if not change.weighs or obj.kind in EVIDENCE_KINDS or writer is Actor.SUITE:
        return False
    if writer is Actor.OPERATOR:
        return True
    if change.act is Act.CHANGED:
        # The platform keeps fields of its own in others' objects; that is no move.
        return writer is Actor.UNKNOWN and of_graph(obj)
    return of_graph(obj) or of_platform(obj)


def _claims(change: Change) -> bool:
    before, now = change.before, change.obj
    root = now.kind in (GRAPH_KIND, COMPONENT_KIND) and change.act is Act.CHANGED
    return root and before is not None and claim(before.status) != claim(now.status)


def _status(step: Step, point: CasePoint, change: Change, writer: Actor) -> Finding:
    case, before = point.case, point.case.before(point)
    rested = before is not None and before.checkpoint.hold >= case.bounds.hold
    note = "" if rested else "; it may be the end of earlier work, so it does not gate"
    blamed = rested and writer is Actor.OPERATOR
    return finding(
        _NAME, Verdict.VIOLATES if blamed else Verdict.CONFORMS, change.obj,
        f"{request_of(step)} was refused, and {seconds(change.at - step.sent_at)} after the request "
        f"the status of {noun(change.obj)} was changed by {by(writer)}{note}",
        graph=step.target, step=step.name, first_at=change.at,
    )  # fmt: skip
