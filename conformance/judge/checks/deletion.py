"""Deletion: once a graph is deleted everything of it goes, within the deletion deadline, and stays
gone. Retained objects may stay; what hangs on a retained object may not.

Creates by the operator right after the deletion were already on their way: reported only, if they
end up gone. Later ones, and the same object made again, violate.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.history.history import History, Life
from conformance.history.records import Checkpoint, CheckpointEnd, EventType, Step
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.family import family_of, foreign_uids
from conformance.judge.checks.windows import checkpoint_of, doubts, window
from conformance.judge.checks.words import by, listing, named, origin, plural, seconds, subject
from conformance.judge.state.changes import EVIDENCE_KINDS
from conformance.judge.state.writes import log_of
from conformance.model.kinds import PLATFORM_KINDS, Actor, ownerless
from conformance.model.ownership import dead_owners
from conformance.model.state import Obj, State
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.DELETION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletion:
    """One accepted delete: the object, when it was deleted, and when that is judged."""

    step: Step
    root: Life
    checkpoint: Checkpoint
    revision: int
    """That of the first event that shows the object deleted or being deleted."""

    @property
    def at(self) -> float:
        return self.step.answered_at

    @property
    def what(self) -> str:
        return named(self.root.last)


def check(history: History) -> CheckResult:
    """Judge every accepted delete of a graph or component."""
    steps = [s for s in history.steps if ChangeKind.DELETE in s.kinds and s.accepted]
    findings: list[Finding] = []
    for step in steps:
        deletion = _deletion(history, step)
        if isinstance(deletion, Finding):
            findings.append(deletion)
            continue
        seen = [*_left(history, deletion), *_made(history, deletion)]
        if not any(finding.gates for finding in seen):
            within = window(history, step.sent_at, deletion.checkpoint.at)
            claim = f"nothing of {deletion.what} was left or made again"
            seen += doubts(history, _NAME, deletion.checkpoint, within, claim=claim)
        findings += seen
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(steps))


def _deletion(history: History, step: Step) -> _Deletion | Finding:
    checkpoint = checkpoint_of(history, step)
    roots = [
        life
        for life in history.lives.values()
        if life.last.kind == step.target_kind
        and life.last.name == step.target
        and life.last.namespace == step.namespace
        and (life.deleted_at is None or life.deleted_at >= step.sent_at)
        and (life.created_at is None or life.created_at <= step.answered_at)
    ]
    if checkpoint is None or len(roots) != 1:
        why = "no checkpoint judges it" if checkpoint is None else "it was not recorded"
        return Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=f"{step.target_kind}/{step.target}",
            message=f"The deletion of {step.target_kind} {step.target} cannot be judged: {why}.",
            graph=step.target,
            step=step.name,
            first_at=step.sent_at,
        )
    root = roots[0]
    ending = (e for e in root.events if e.type is EventType.DELETED or e.obj.deleting)
    first = next(ending, None)
    revision = first.revision if first else history.revision_at(step.answered_at)
    return _Deletion(step=step, root=root, checkpoint=checkpoint, revision=revision)


# What is left ---------------------------------------------------------------------------------


def _left(history: History, deletion: _Deletion) -> Iterator[Finding]:
    state = history.at_checkpoint(deletion.checkpoint)
    family = family_of(history)
    ours = {deletion.root.uid, *family.belongings(deletion.root)}
    if not deletion.checkpoint.graphs and not deletion.checkpoint.components:
        # Nothing else is served here, so whatever the operator made was made for this graph.
        log = log_of(history)
        ours |= {
            obj.uid
            for obj in state
            if obj.namespace == history.namespace and log.creator(obj.uid) is Actor.OPERATOR
        }
    strangers = foreign_uids(history)
    bound = history.bounds.deletion_deadline
    waited = deletion.checkpoint.at - deletion.at
    left = {
        obj.uid: obj
        for obj in state
        if obj.uid in ours and obj.uid not in strangers and not _may_stay(history, obj)
    }
    for obj in left.values():
        if any(str(owner.get("uid", "")) in left for owner in obj.owners):
            continue
        dead = dead_owners(state, obj)
        below = [o for o in state.descendants(obj.uid) if o.uid in left]
        tree = f" with {plural(len(below), 'object')} below it" if below else ""
        # Before the deadline it may yet go; but nobody saw it go, so nothing is proven either.
        late = waited >= bound
        yield Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES if late else Verdict.UNKNOWN,
            subject=subject(obj),
            message=f"{named(obj)}{tree} is still there {seconds(waited)} after {deletion.what} "
            f"was deleted ({deletion.step.propagation or 'default'} propagation, "
            f"{seconds(bound)} allowed); it is {origin(history, state, obj)}"
            f"{_held(state, obj)}{_early(deletion.checkpoint, late)}.",
            graph=deletion.step.target,
            step=deletion.step.name,
            first_at=deletion.at,
            last_at=deletion.checkpoint.at,
            evidence={"uid": obj.uid, "dead owners": dead, "below": [str(o) for o in below]},
        )


def _may_stay(history: History, obj: Obj) -> bool:
    if obj.kind in EVIDENCE_KINDS or ownerless(obj.kind, obj.name):
        return True
    return any(
        retained.kind == obj.kind and fnmatch.fnmatchcase(obj.name, retained.name)
        for retained in history.profile.retained
    )


def _held(state: State, obj: Obj) -> str:
    """What keeps it: its finalizers, and for a foreground deletion the dependents it waits for."""
    if not obj.deleting:
        return " and nobody has deleted it"
    if not obj.finalizers:
        return ""
    text = f"; it is being deleted, held by {listing(obj.finalizers)}"
    if "foregroundDeletion" in obj.finalizers:
        blocking = [
            named(child)
            for child in state.children(obj.uid)
            for owner in child.owners
            if owner.get("uid") == obj.uid and owner.get("blockOwnerDeletion")
        ]
        text += f", which waits for {listing(blocking)}" if blocking else ""
    return text


def _early(checkpoint: Checkpoint, late: bool) -> str:
    if late:
        return ""
    if checkpoint.end is CheckpointEnd.HELD:
        return "; the wait ended before, taking the deletion for done"
    return "; the wait ended before"


# What is made after ---------------------------------------------------------------------------


def _made(history: History, deletion: _Deletion) -> Iterator[Finding]:
    family, log = family_of(history), log_of(history)
    ours = family.belongings(deletion.root)
    known = {
        (life.last.kind, life.last.name)
        for uid in ours
        if (life := history.lives.get(uid)) and _born(life) <= deletion.revision
    }
    # An operator that works against the garbage collector makes the same object many times over:
    # one finding an object, which tells how often.
    rows: dict[tuple[str, Actor, bool, bool], list[Life]] = defaultdict(list)
    for life in sorted(_created_since(history, deletion, ours), key=_born):
        creator = log.creator(life.uid)
        if creator in (Actor.OPERATOR, Actor.UNKNOWN):
            again = (life.first.kind, life.first.name) in known
            gone = life.deleted_at is not None and life.deleted_at <= deletion.checkpoint.at
            rows[subject(life.first), creator, again, gone].append(life)
    for (_, creator, again, _), lives in rows.items():
        yield _creation(history, deletion, lives, creator, again=again)


def _created_since(history: History, deletion: _Deletion, ours: set[str]) -> Iterator[Life]:
    """What was created between the deletion and its checkpoint, but for the platform's own."""
    for uid in ours:
        life = history.lives.get(uid)
        if life is None or life.created_at is None or _born(life) <= deletion.revision:
            continue
        if life.first.kind in PLATFORM_KINDS or life.first.kind in EVIDENCE_KINDS:
            continue
        if life.created_at <= deletion.checkpoint.at:
            yield life


def _born(life: Life) -> int:
    return life.created_revision or 0


def _creation(
    history: History, deletion: _Deletion, lives: list[Life], creator: Actor, *, again: bool
) -> Finding:
    """What one object's creations after the deletion mean; `lives` are of one name, oldest first."""
    lags = [max(0.0, life.created_at - deletion.at) for life in lives if life.created_at]
    first, last = lives[0], lives[-1]
    gone = all(
        life.deleted_at is not None and life.deleted_at <= deletion.checkpoint.at for life in lives
    )
    on_its_way = max(lags) <= history.bounds.create_after_delete and gone and not again
    if on_its_way:
        verdict = Verdict.CONFORMS
        why = "; it was on its way already and is gone, so it does not count"
    else:
        verdict = Verdict.VIOLATES if creator is Actor.OPERATOR else Verdict.UNKNOWN
        why = ", although it had been deleted with the graph" if again else ""
        why += "" if gone else ", and it is still there"
    verb = "made again" if again else "created"
    more = f" and {plural(len(lives) - 1, 'time')} more until {lags[-1]:.1f} s"
    return Finding(
        checker=_NAME,
        verdict=verdict,
        subject=subject(first.first),
        message=f"{named(first.first)} was {verb} by {by(creator)} {lags[0]:.1f} s after "
        f"{deletion.what} was deleted{more if len(lives) > 1 else ''}{why}.",
        graph=deletion.step.target,
        step=deletion.step.name,
        first_at=first.created_at,
        last_at=last.deleted_at,
        evidence={"uids": [life.uid for life in lives], "again": again},
    )
