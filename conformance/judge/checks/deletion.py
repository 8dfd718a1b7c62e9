"""Deletion: once a graph is deleted everything of it goes, within the deletion deadline, and stays
gone. Retained objects may stay; what hangs on a retained object may not.

A pass that was on its way may create each child once more: reported only, if it is soon and the child
is gone again. Later, twice, or staying, it violates.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conformance.history.history import Life
from conformance.history.records import EventType, Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.checks.parts.telling import of_step, or_unproven
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.sentences import origin
from conformance.judge.wording import by, count, join, noun, nouns, seconds, subject
from conformance.model.kinds import EVIDENCE_KINDS, Actor, of_platform
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.DELETION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletion:
    """One accepted delete: the object, the first revision that shows it deleted or being deleted, and
    the checkpoint that judges it."""

    case: Case
    step: Step
    point: CasePoint
    root: Life
    revision: int

    @property
    def at(self) -> float:
        return self.step.answered_at

    @property
    def what(self) -> str:
        return noun(self.root.last)

    def finding(self, verdict: Verdict, obj: Obj, message: str, **more: Any) -> Finding:
        graph, step = self.step.target, self.step.name
        return finding(_NAME, verdict, obj, message, graph=graph, step=step, **more)


def check(case: Case) -> CheckResult:
    """Judge every accepted delete of a graph or component."""
    steps = [s for s in case.history.steps if ChangeKind.DELETE in s.kinds and s.accepted]
    findings = [one for step in steps for one in _judged(case, step)]
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _judged(case: Case, step: Step) -> list[Finding]:
    point = case.point_of(step)
    roots = [
        life
        for life in case.history.lives.values()
        if life.last.kind == step.target_kind
        and life.last.name == step.target
        and life.last.namespace == step.namespace
        and (life.deleted_at is None or life.deleted_at >= step.sent_at)
        and (life.created_at is None or life.created_at <= step.answered_at)
    ]
    if point is None or len(roots) != 1:
        why = "no checkpoint judges it" if point is None else "it was not recorded"
        what = f"{step.target_kind} {step.target}"
        text = f"The deletion of {what} cannot be judged: {why}"
        return [of_step(_NAME, Verdict.UNKNOWN, step, text)]
    ends = (e.revision for e in roots[0].events if e.type is EventType.DELETED or e.obj.deleting)
    revision = next(ends, case.history.revision_at(step.answered_at))
    deletion = _Deletion(case=case, step=step, point=point, root=roots[0], revision=revision)
    found = [*_left(deletion), *_made(deletion)]
    claim = f"nothing of {deletion.what} was left or made again"
    return or_unproven(found, _NAME, point, case.window(step.sent_at, point.at), claim=claim)


def _left(deletion: _Deletion) -> Iterator[Finding]:
    case, point, state = deletion.case, deletion.point, deletion.point.state
    ours = {deletion.root.uid, *case.lineage.belongings(deletion.root)} - case.foreign
    if not point.graphs:
        # Nothing else is served here, so whatever the operator made was made for this graph.
        own = (obj.uid for obj in state if obj.namespace == case.namespace)
        ours |= {uid for uid in own if case.creator(uid) is Actor.OPERATOR} - case.foreign
    left = {
        obj.uid: obj
        for obj in state
        if obj.uid in ours
        and obj.kind not in EVIDENCE_KINDS
        and not point.snapshot.needs_no_owner(obj)
    }
    bound, waited = case.bounds.deletion_deadline, point.at - deletion.at
    # Before the deadline it may yet go; but nobody saw it go, so nothing is proven either.
    late = waited >= bound
    taken = ", taking the deletion for done" if point.held else ""
    early = "" if late else f"; the wait ended before{taken}"
    for obj in left.values():
        if any(str(owner.get("uid", "")) in left for owner in obj.owners):
            continue
        below = [one for one in state.descendants(obj.uid) if one.uid in left]
        tree = f" with {count(len(below), 'object')} below it" if below else ""
        yield deletion.finding(
            point.still_wrong(blamed=late), obj,
            f"{noun(obj)}{tree} is still there {seconds(waited)} after {deletion.what} was deleted "
            f"({deletion.step.propagation or 'default'} propagation, {seconds(bound)} allowed); "
            f"{origin(case, state, [obj])}{_held(state, obj)}{early}",
            first_at=deletion.at, last_at=point.at, uid=obj.uid,
            **{"dead owners": dead_owners(state, obj), "below": [str(one) for one in below]},
        )  # fmt: skip


def _held(state: State, obj: Obj) -> str:
    """What keeps it: its finalizers, and for a foreground deletion the dependents it waits for."""
    if not obj.deleting:
        return " and nobody has deleted it"
    if not obj.finalizers:
        return ""
    text = f"; it is being deleted, held by {join(obj.finalizers, most=4)}"
    blocking = [
        child
        for child in state.children(obj.uid)
        for owner in child.owners
        if owner.get("uid") == obj.uid and owner.get("blockOwnerDeletion")
    ]
    waits = "foregroundDeletion" in obj.finalizers and blocking
    return f"{text}, which waits for {nouns(blocking)}" if waits else text


def _made(deletion: _Deletion) -> Iterator[Finding]:
    """What was created between the deletion and its checkpoint, but for the platform's own."""
    case, until = deletion.case, deletion.point.at
    found = (case.history.lives.get(uid) for uid in case.lineage.belongings(deletion.root))
    ours = sorted((life for life in found if life is not None), key=_born)
    before = [life.last for life in ours if _born(life) <= deletion.revision]
    known = {(obj.kind, obj.name) for obj in before}
    # An operator that works against the garbage collector makes the same object many times over:
    # one finding an object, which tells how often.
    rows: dict[tuple[str, Actor, bool, bool], list[Life]] = defaultdict(list)
    for life in ours:
        obj, at = life.first, life.created_at
        if at is None or at > until or _born(life) <= deletion.revision:
            continue
        if of_platform(obj) or obj.kind in EVIDENCE_KINDS:
            continue
        creator = case.creator(life.uid)
        if creator in (Actor.OPERATOR, Actor.UNKNOWN):
            again = (obj.kind, obj.name) in known
            gone = life.deleted_at is not None and life.deleted_at <= until
            rows[subject(obj), creator, again, gone].append(life)
    for (_, creator, again, gone), lives in rows.items():
        yield _creation(deletion, lives, creator, again=again, gone=gone)


def _born(life: Life) -> int:
    return life.created_revision or 0


def _creation(
    deletion: _Deletion, lives: list[Life], creator: Actor, *, again: bool, gone: bool
) -> Finding:
    """`lives` are creations of one object, oldest first."""
    lags = [max(0.0, life.created_at - deletion.at) for life in lives if life.created_at]
    on_its_way = deletion.case.after_turn(deletion.at, deletion.case.bounds.create_after_delete)
    first, last = lives[0], lives[-1]
    verdict = blame(creator)
    why = ", although it had been deleted with the graph" if again else ""
    why += "" if gone else ", and it is still there"
    if gone and len(lives) == 1 and deletion.at + lags[0] <= on_its_way:
        verdict = Verdict.CONFORMS
        why = "; it was on its way already and is gone, so it does not count"
    verb = "made again" if again else "created"
    times = count(len(lives) - 1, "time")
    more = f" and {times} more until {lags[-1]:.1f} s" if len(lives) > 1 else ""
    return deletion.finding(
        verdict, first.first,
        f"{noun(first.first)} was {verb} by {by(creator)} {lags[0]:.1f} s after {deletion.what} was "
        f"deleted{more}{why}",
        first_at=first.created_at, last_at=last.deleted_at,
        uids=[life.uid for life in lives], again=again,
    )  # fmt: skip
