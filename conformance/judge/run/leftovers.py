"""Leftovers of a whole run: what the operator made anywhere and left there.

It is looked at once every graph of the run is gone. Outside the cases' namespaces nothing may be left
of any case; within them nothing of those that conformed (the others have findings of their own).
Graphs, components and workloads must be gone whoever made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from conformance.history.history import Life
from conformance.history.records import EventType
from conformance.judge.case import Case
from conformance.judge.doubts import missed, unknown
from conformance.judge.findings import CheckResult, finding
from conformance.judge.run.leases import left_leases
from conformance.judge.wording import by, join, noun
from conformance.model.kinds import (
    COLLECTORS,
    WORKLOADS,
    Actor,
    Role,
    of_platform,
    ownerless,
    role_of,
)
from conformance.model.labels import OWNED
from conformance.model.ownership import owner_chain
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.ORPHANS
_GRAPHS = (Role.GRAPH, Role.COMPONENT)
# What runs pods, beside workloads; whoever made it: an orphan of a deleted workload is the platform's.
_RUNNING = frozenset({"Pod", "ReplicaSet", "StatefulSet"})


def check(case: Case) -> CheckResult:
    """What was made during the run and is still there at its end."""
    if not case.points:
        text = "the end of the run was never reached, so left-overs elsewhere cannot be told"
        return CheckResult(checker=_NAME, findings=(unknown(_NAME, "run", text),))
    run = _Run(case)
    findings = _left(run)
    for gap in case.history.gaps:
        if gap.at >= case.history.header.started_at:
            findings.append(
                unknown(_NAME, "run", f"{missed(gap)}, so left-overs may have been missed")
            )
    kinds = sorted({mark.kind for mark in case.history.unseen})
    if kinds:
        text = f"{', '.join(kinds)} may not be seen by the suite, so left-overs of these cannot be told"
        findings.append(unknown(_NAME, "run", text))
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=1 + len(run.born))


def left(case: Case) -> list[Finding]:
    """A finding for each object that should be gone by the last checkpoint, the top of each tree."""
    return _left(_Run(case))


def _left(run: _Run) -> list[Finding]:
    found = {
        life.uid: finding
        for life in run.born
        if life.deleted_at is None and (finding := run.judged(life)) is not None
    }
    return [
        *(one for uid, one in found.items() if not _told_above(one, found, run.chain(uid))),
        *left_leases(run.case, run.owned, _NAME),
    ]


def _told_above(one: Finding, found: Mapping[str, Finding], chain: list[Obj]) -> bool:
    """True if an owner has a finding that weighs as much."""
    above = (found[owner.uid] for owner in chain if owner.uid in found)
    return any(other.verdict.rank >= one.verdict.rank for other in above)


class _Run:
    """The end of a run: what is alive, in whose namespaces."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.end = case.points[-1]

    @cached_property
    def state(self) -> State:
        lives = self.case.history.lives.values()
        alive = (life.last for life in lives if life.deleted_at is None)
        return State(alive, revision=self.end.checkpoint.revision, at=self.end.at)

    @cached_property
    def owned(self) -> frozenset[str]:
        """Names of the namespaces that the suite made."""
        lives = (life.last for life in self.case.history.lives.values())
        return frozenset(o.name for o in lives if o.kind == "Namespace" and o.labels.get(OWNED))

    @cached_property
    def born(self) -> list[Life]:
        """What came during the run, seen to be made or (after a gap) first seen in a list."""
        started = self.case.history.header.started_at
        return [
            life
            for life in self.case.history.lives.values()
            if life.events[0].type in (EventType.ADDED, EventType.LISTED)
            and life.events[0].at >= started
        ]

    def chain(self, uid: str) -> list[Obj]:
        obj = self.state.get(uid)
        return owner_chain(self.state, obj) if obj is not None else []

    def judged(self, life: Life) -> Finding | None:
        """The finding about one object that is there, if it should not be."""
        obj, author = life.last, self.case.creator(life.uid)
        if self.case.profile.retains(obj.kind, obj.name) or self._excused(obj, author):
            return None
        verdict = self._verdict(life, author)
        return None if verdict is None else self._finding(life, author, verdict)

    def _verdict(self, life: Life, author: Actor) -> Verdict | None:
        """What it means that the object is still there; None if it may be."""
        obj = life.last
        owned = obj.namespace in self.owned
        if author is Actor.OPERATOR or (owned and role_of(obj) in _GRAPHS):
            return Verdict.VIOLATES
        if author is Actor.SUITE or self._of_suite(life.uid):
            return None
        if owned and life.first.owners and not obj.owners:
            # Nothing collects what has lost its owners, whoever made it.
            return Verdict.VIOLATES
        unclear = author is Actor.UNKNOWN and not of_platform(obj)
        runs = owned and (obj.kind in WORKLOADS or obj.kind in _RUNNING)
        return Verdict.UNKNOWN if unclear or runs else None

    def _excused(self, obj: Obj, author: Actor) -> bool:
        if ownerless(obj.kind, obj.name) is None:
            return False
        if author is not Actor.OPERATOR:
            return True
        if obj.kind == "Endpoints":
            return self.state.named("Service", obj.name, obj.namespace) is not None
        return obj.kind != "Namespace"

    def _of_suite(self, uid: str) -> bool:
        """True below an object that the suite put there, a stranger's Deployment say."""
        return any(
            role_of(owner) not in _GRAPHS and self.case.creator(owner.uid) is Actor.SUITE
            for owner in self.chain(uid)
        )

    def _finding(self, life: Life, author: Actor, verdict: Verdict) -> Finding:
        obj = life.last
        where = f"in namespace {obj.namespace}" if obj.namespace else "cluster-wide"
        if self.end.interrupted:
            verdict = Verdict.UNKNOWN
        held = ""
        if obj.deleting:
            own = [name for name in obj.finalizers if name not in COLLECTORS]
            by_whom = f", held by finalizer {join(own, most=4)}" if own else ""
            held = f" (being deleted{by_whom})"
            # Kubernetes' own finalizers are not the operator's to take away.
            verdict = verdict if own or role_of(obj) in _GRAPHS else Verdict.UNKNOWN
        waited = self.end.at - self.end.checkpoint.since
        text = (
            f"{noun(obj)}, created {where} by {by(author)} during the run, is still there{held} "
            f"after every graph was deleted ({waited:.0f} s before), and the profile does not list it "
            "under `retained`"
        )
        return finding(_NAME, verdict, obj, text, first_at=life.created_at, last_at=self.end.at)
