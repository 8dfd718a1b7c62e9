"""Deletion: once a graph is deleted everything of it goes, within the deletion deadline, and stays
gone. Retained objects may stay; what hangs on a retained object may not.

A pass that was on its way when the graph was deleted may create each child once more: reported only,
if it is soon and the child is gone again. Later, twice, or staying, it violates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.history.history import Life
from conformance.history.records import EventType, Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import doubts
from conformance.judge.findings import CheckResult, blame, finding, or_doubts
from conformance.judge.sentences import origin
from conformance.judge.wording import by, count, join, noun, nouns, seconds, subject
from conformance.model.kinds import EVIDENCE_KINDS, Actor, of_platform, ownerless
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.DELETION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletion:
    """One accepted delete: the object, when it was deleted, and when that is judged."""

    case: Case
    step: Step
    root: Life
    point: CasePoint
    revision: int
    """That of the first event that shows the object deleted or being deleted."""

    @property
    def at(self) -> float:
        return self.step.answered_at

    @property
    def what(self) -> str:
        return noun(self.root.last)


def check(case: Case) -> CheckResult:
    """Judge every accepted delete of a graph or component."""
    steps = [s for s in case.history.steps if ChangeKind.DELETE in s.kinds and s.accepted]
    findings: list[Finding] = []
    for step in steps:
        deletion = _deletion(case, step)
        findings += [deletion] if isinstance(deletion, Finding) else _judged(deletion)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _judged(deletion: _Deletion) -> list[Finding]:
    case, point = deletion.case, deletion.point
    window = case.window(deletion.step.sent_at, point.at)
    claim = f"nothing of {deletion.what} was left or made again"
    return or_doubts(
        [*_left(deletion), *_made(deletion)],
        lambda: doubts(case, _NAME, point, window, claim=claim),
    )


def _deletion(case: Case, step: Step) -> _Deletion | Finding:
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
        return finding(
            _NAME, Verdict.UNKNOWN, f"{step.target_kind}/{step.target}",
            f"The deletion of {step.target_kind} {step.target} cannot be judged: {why}",
            graph=step.target, step=step.name, first_at=step.sent_at,
        )  # fmt: skip
    root = roots[0]
    ending = (e for e in root.events if e.type is EventType.DELETED or e.obj.deleting)
    first = next(ending, None)
    revision = first.revision if first else case.history.revision_at(step.answered_at)
    return _Deletion(case=case, step=step, root=root, point=point, revision=revision)


# What is left ---------------------------------------------------------------------------------


def _left(deletion: _Deletion) -> Iterator[Finding]:
    case, point, state = deletion.case, deletion.point, deletion.point.state
    ours = {deletion.root.uid, *case.lineage.belongings(deletion.root)}
    if not point.graphs:
        # Nothing else is served here, so whatever the operator made was made for this graph.
        own = (obj.uid for obj in state if obj.namespace == case.namespace)
        ours |= {uid for uid in own if case.creator(uid) is Actor.OPERATOR}
    left = {
        obj.uid: obj
        for obj in state
        if obj.uid in ours and obj.uid not in case.foreign and not _may_stay(case, obj)
    }
    for obj in left.values():
        if not any(str(owner.get("uid", "")) in left for owner in obj.owners):
            below = [one for one in state.descendants(obj.uid) if one.uid in left]
            yield _still_there(deletion, obj, below)


def _still_there(deletion: _Deletion, obj: Obj, below: list[Obj]) -> Finding:
    case, state, step = deletion.case, deletion.point.state, deletion.step
    bound = case.bounds.deletion_deadline
    waited = deletion.point.at - deletion.at
    # Before the deadline it may yet go; but nobody saw it go, so nothing is proven either.
    late = waited >= bound
    tree = f" with {count(len(below), 'object')} below it" if below else ""
    return finding(
        _NAME, Verdict.VIOLATES if late else Verdict.UNKNOWN, obj,
        f"{noun(obj)}{tree} is still there {seconds(waited)} after {deletion.what} was deleted "
        f"({step.propagation or 'default'} propagation, {seconds(bound)} allowed); "
        f"{origin(case, state, [obj])}{_held(state, obj)}{'' if late else _early(deletion.point)}",
        graph=step.target, step=step.name, first_at=deletion.at, last_at=deletion.point.at,
        uid=obj.uid,
        **{"dead owners": dead_owners(state, obj), "below": [str(one) for one in below]},
    )  # fmt: skip


def _may_stay(case: Case, obj: Obj) -> bool:
    excused = obj.kind in EVIDENCE_KINDS or ownerless(obj.kind, obj.name) is not None
    return excused or case.profile.retains(obj.kind, obj.name)


def _held(state: State, obj: Obj) -> str:
    """What keeps it: its finalizers, and for a foreground deletion the dependents it waits for."""
    if not obj.deleting:
        return " and nobody has deleted it"
    if not obj.finalizers:
        return ""
    text = f"; it is being deleted, held by {join(obj.finalizers, most=4)}"
    if "foregroundDeletion" in obj.finalizers:
        blocking = [
            child
            for child in state.children(obj.uid)
            for owner in child.owners
            if owner.get("uid") == obj.uid and owner.get("blockOwnerDeletion")
        ]
        text += f", which waits for {nouns(blocking)}" if blocking else ""
    return text


def _early(point: CasePoint) -> str:
    taken = ", taking the deletion for done" if point.held else ""
    return f"; the wait ended before{taken}"


# What is made after ---------------------------------------------------------------------------


def _made(deletion: _Deletion) -> Iterator[Finding]:
    case = deletion.case
    ours = case.lineage.belongings(deletion.root)
    known = {
        (life.last.kind, life.last.name)
        for uid in ours
        if (life := case.history.lives.get(uid)) and _born(life) <= deletion.revision
    }
    # An operator that works against the garbage collector makes the same object many times over:
    # one finding an object, which tells how often.
    rows: dict[tuple[str, Actor, bool, bool], list[Life]] = defaultdict(list)
    for life in sorted(_created_since(deletion, ours), key=_born):
        creator = case.creator(life.uid)
        if creator in (Actor.OPERATOR, Actor.UNKNOWN):
            again = (life.first.kind, life.first.name) in known
            rows[subject(life.first), creator, again, _gone(deletion, life)].append(life)
    for (_, creator, again, gone), lives in rows.items():
        yield _creation(deletion, lives, creator, again=again, gone=gone)


def _gone(deletion: _Deletion, life: Life) -> bool:
    return life.deleted_at is not None and life.deleted_at <= deletion.point.at


def _created_since(deletion: _Deletion, ours: frozenset[str]) -> Iterator[Life]:
    """What was created between the deletion and its checkpoint, but for the platform's own."""
    for uid in ours:
        life = deletion.case.history.lives.get(uid)
        if life is None or life.created_at is None or _born(life) <= deletion.revision:
            continue
        if of_platform(life.first) or life.first.kind in EVIDENCE_KINDS:
            continue
        if life.created_at <= deletion.point.at:
            yield life


def _born(life: Life) -> int:
    return life.created_revision or 0


def _creation(
    deletion: _Deletion, lives: list[Life], creator: Actor, *, again: bool, gone: bool
) -> Finding:
    """What one object's creations after the deletion mean; `lives` are of one name, oldest first."""
    lags = [max(0.0, life.created_at - deletion.at) for life in lives if life.created_at]
    first, last, step = lives[0], lives[-1], deletion.step
    soon = max(lags) <= deletion.case.bounds.create_after_delete
    if soon and gone and len(lives) == 1:
        verdict = Verdict.CONFORMS
        why = "; it was on its way already and is gone, so it does not count"
    else:
        verdict = blame(creator)
        why = ", although it had been deleted with the graph" if again else ""
        why += "" if gone else ", and it is still there"
    verb = "made again" if again else "created"
    times = count(len(lives) - 1, "time")
    more = f" and {times} more until {lags[-1]:.1f} s" if len(lives) > 1 else ""
    return finding(
        _NAME, verdict, first.first,
        f"{noun(first.first)} was {verb} by {by(creator)} {lags[0]:.1f} s after {deletion.what} was "
        f"deleted{more}{why}",
        graph=step.target, step=step.name, first_at=first.created_at, last_at=last.deleted_at,
        uids=[life.uid for life in lives], again=again,
    )  # fmt: skip
