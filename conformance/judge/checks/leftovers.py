"""Leftovers of a whole run: what the operator made anywhere and left there.

It is looked at once every graph of the run is gone. Outside the cases' namespaces nothing may be left
of any case; within them nothing of those that conformed (the others have findings of their own).
Graphs, components and workloads must be gone whoever made them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.history.history import History, Life
from conformance.history.records import Checkpoint, CheckpointEnd, EventType, Gap
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.leases import left_leases
from conformance.judge.checks.words import by, listing, named, subject
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import COLLECTORS, PLATFORM_KINDS, WORKLOADS, Actor, ownerless
from conformance.model.labels import OWNED
from conformance.model.ownership import owner_chain
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict

NAME = CheckerName.ORPHANS
_GRAPHS = (GRAPH_KIND, COMPONENT_KIND)
# What runs pods, and by whose hand is no excuse: an orphan of a deleted workload is the platform's.
_RUNNING = frozenset({"Pod", "ReplicaSet", "StatefulSet"})


def check(history: History) -> CheckResult:
    """What was made during the run and is still there at its end."""
    if not history.checkpoints:
        text = "the end of the run was never reached, so left-overs elsewhere cannot be told"
        return CheckResult(checker=NAME, findings=(_unknown("run", text),))
    born = [life for life in history.lives.values() if _born(history, life)]
    findings = left(history)
    findings += [_gap(gap) for gap in history.gaps if gap.at >= history.header.started_at]
    kinds = sorted({mark.kind for mark in history.unseen})
    if kinds:
        text = f"{', '.join(kinds)} may not be seen by the suite, so left-overs of these cannot be told"
        findings.append(_unknown("run", text))
    return CheckResult(checker=NAME, findings=tuple(findings), looked_at=1 + len(born))


def left(history: History) -> list[Finding]:
    """A finding for each object that should be gone by the last checkpoint, the top of each tree."""
    end = history.checkpoints[-1]
    alive = [life for life in history.lives.values() if life.deleted_at is None]
    run = _Run(
        history=history,
        end=end,
        state=State((life.last for life in alive), revision=end.revision, at=end.at),
        owned=suites_namespaces(history),
    )
    found = {
        life.uid: finding
        for life in alive
        if _born(history, life) and (finding := run.judged(life)) is not None
    }
    return [
        *(f for uid, f in found.items() if not _told_above(f, found, run.chain(uid))),
        *(f for f in left_leases(history, run.owned, NAME) if not run.is_retained("Lease", f)),
    ]


def _told_above(finding: Finding, found: Mapping[str, Finding], chain: list[Obj]) -> bool:
    """True if an owner has a finding that weighs as much."""
    above = (found[owner.uid] for owner in chain if owner.uid in found)
    return any(other.verdict.rank >= finding.verdict.rank for other in above)


def suites_namespaces(history: History) -> frozenset[str]:
    """Names of the namespaces that the suite made."""
    return frozenset(
        life.last.name
        for life in history.lives.values()
        if life.last.kind == "Namespace" and life.last.labels.get(OWNED)
    )


def _born(history: History, life: Life) -> bool:
    """True for what came during the run, seen to be made or (after a gap) first seen in a list."""
    first = life.events[0]
    seen = first.type in (EventType.ADDED, EventType.LISTED)
    return seen and first.at >= history.header.started_at


@dataclass(frozen=True)
class _Run:
    history: History
    end: Checkpoint
    state: State
    owned: frozenset[str]

    def chain(self, uid: str) -> list[Obj]:
        obj = self.state.get(uid)
        return owner_chain(self.state, obj) if obj is not None else []

    def is_retained(self, kind: str, finding: Finding) -> bool:
        return self._retained(kind, finding.subject.partition("/")[2])

    def _retained(self, kind: str, name: str) -> bool:
        return any(
            retained.kind == kind and fnmatch.fnmatchcase(name, retained.name)
            for retained in self.history.profile.retained
        )

    def judged(self, life: Life) -> Finding | None:
        """The finding about one object that is there, if it should not be."""
        obj, author = life.last, log_of(self.history).creator(life.uid)
        if self._retained(obj.kind, obj.name) or self._excused(obj, author):
            return None
        if obj.kind in _GRAPHS and obj.namespace in self.owned:
            return self._finding(life, author, Verdict.VIOLATES)
        if author is Actor.OPERATOR:
            return self._finding(life, author, Verdict.VIOLATES)
        if author is Actor.SUITE or self._of_suite(life.uid):
            return None
        if obj.namespace in self.owned and life.first.owners and not obj.owners:
            # Nothing collects what has lost its owners, whoever made it.
            return self._finding(life, author, Verdict.VIOLATES)
        if author is Actor.UNKNOWN and obj.kind not in PLATFORM_KINDS:
            return self._finding(life, author, Verdict.UNKNOWN)
        if obj.namespace in self.owned and (obj.kind in WORKLOADS or obj.kind in _RUNNING):
            return self._finding(life, author, Verdict.UNKNOWN)
        return None

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
        log = log_of(self.history)
        return any(
            owner.kind not in _GRAPHS and log.creator(owner.uid) is Actor.SUITE
            for owner in self.chain(uid)
        )

    def _finding(self, life: Life, author: Actor, verdict: Verdict) -> Finding:
        obj = life.last
        where = f"in namespace {obj.namespace}" if obj.namespace else "cluster-wide"
        if self.end.end is CheckpointEnd.INTERRUPTED:
            verdict = Verdict.UNKNOWN
        held = ""
        if obj.deleting:
            own = [name for name in obj.finalizers if name not in COLLECTORS]
            by_whom = f", held by finalizer {listing(own)}" if own else ""
            held = f" (being deleted{by_whom})"
            # Kubernetes' own finalizers are not the operator's to take away.
            verdict = verdict if own or obj.kind in _GRAPHS else Verdict.UNKNOWN
        waited = self.end.at - self.end.since
        text = (
            f"{named(obj)}, created {where} by {by(author)} during the run, is still there{held} "
            f"after every graph was deleted ({waited:.0f} s before), and "
            "the profile does not list it under `retained`"
        )
        return Finding(
            checker=NAME, verdict=verdict, subject=subject(obj), message=text,
            first_at=life.created_at, last_at=self.end.at,
        )  # fmt: skip


def _gap(gap: Gap) -> Finding:
    kind = gap.kind or "any kind"
    return _unknown("run", f"changes of {kind} may have been missed during the run: {gap.reason}")


def _unknown(subject: str, text: str) -> Finding:
    return Finding(checker=NAME, verdict=Verdict.UNKNOWN, subject=subject, message=text)
