"""Leftovers of a whole run, once every graph is gone: what the operator made anywhere and left
there. In the cases' namespaces only those of cases that conformed count: the others have findings
of their own. Graphs, components and workloads must be gone whoever made them."""

from collections import defaultdict
from collections.abc import Collection, Iterator

from conformance.history.history import Life
from conformance.history.records import EventType, Write
from conformance.judge.authors import actor_of_user
from conformance.judge.case import Case
from conformance.judge.doubts import missed, unknown
from conformance.judge.findings import CheckResult, finding
from conformance.judge.run.storms import LEASES
from conformance.judge.wording import by, join, noun
from conformance.model.bounds import LEASE_UNUSED
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
# What runs pods; whoever made it: an orphan of a deleted workload is the platform's.
_RUNNING = frozenset({"Pod", "ReplicaSet", "StatefulSet", *WORKLOADS})
_NOT_LISTED = "and the profile does not list it under `retained`"


def check(case: Case) -> CheckResult:
    """What was made during the run and is still there at its end."""
    if not case.points:
        text = "the end of the run was never reached, so left-overs elsewhere cannot be told"
        return CheckResult(checker=_NAME, findings=(unknown(_NAME, "run", text),))
    run = _Run(case)
    texts = [
        f"{missed(gap)}, so left-overs may have been missed"
        for gap in case.history.gaps
        if gap.at >= run.started
    ]
    kinds = ", ".join(sorted({mark.kind for mark in case.history.unseen}))
    if kinds:
        texts.append(f"{kinds} may not be seen by the suite, so left-overs of these cannot be told")
    findings = (*run.left(), *(unknown(_NAME, "run", text) for text in texts))
    return CheckResult(checker=_NAME, findings=findings, looked_at=1 + len(run.born))


def left(case: Case) -> list[Finding]:
    """A finding for each object that should be gone by the last checkpoint, the top of each tree."""
    return _Run(case).left()


class _Run:
    """The end of a run: what is alive, in whose namespaces."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.end = case.points[-1]
        self.started = case.history.header.started_at
        lives = case.history.lives.values()
        self.born = [
            life
            for life in lives
            # Seen to be made or, after a gap, first seen in a list.
            if life.events[0].type in (EventType.ADDED, EventType.LISTED)
            and life.events[0].at >= self.started
        ]
        # Names of the namespaces that the suite made.
        self.owned = frozenset(
            life.last.name
            for life in lives
            if life.last.kind == "Namespace" and life.last.labels.get(OWNED)
        )
        alive = (life.last for life in lives if life.deleted_at is None)
        self.state = State(alive, revision=self.end.checkpoint.revision, at=self.end.at)

    def left(self) -> list[Finding]:
        found = {
            life.uid: one
            for life in self.born
            if life.deleted_at is None and (one := self._judged(life)) is not None
        }
        tops = []
        for uid, one in found.items():
            above = [found[owner.uid] for owner in self._owners(uid) if owner.uid in found]
            # An owner's finding that weighs as much tells of it.
            if not any(other.verdict.rank >= one.verdict.rank for other in above):
                tops.append(one)
        return [*tops, *_left_leases(self)]

    def _owners(self, uid: str) -> list[Obj]:
        obj = self.state.get(uid)
        return owner_chain(self.state, obj) if obj is not None else []

    def _judged(self, life: Life) -> Finding | None:
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
        return Verdict.UNKNOWN if unclear or (owned and obj.kind in _RUNNING) else None

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
            for owner in self._owners(uid)
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
            f"after every graph was deleted ({waited:.0f} s before), {_NOT_LISTED}"
        )
        return finding(_NAME, verdict, obj, text, first_at=life.created_at, last_at=self.end.at)


def _left_leases(run: _Run) -> Iterator[Finding]:
    """A finding for each Lease that the operator made during the run and nobody deleted. Outside the
    suite's namespaces one that is still renewed is in use, as a leader's is.

    Leases are not recorded as objects (a heartbeat every few seconds): the audit log tells of them.
    """
    case, end = run.case, run.end.at
    writes: dict[tuple[str, str], list[Write]] = defaultdict(list)
    for write in case.history.writes:
        if write.resource == LEASES and 200 <= write.code < 300:
            writes[write.namespace, write.name].append(write)
    for (namespace, name), seen in writes.items():
        made = next((w for w in reversed(seen) if w.verb == "create" or w.code == 201), None)
        if not name or made is None or case.profile.retains("Lease", name):
            continue
        operators = actor_of_user(case.history.header, made.user) is Actor.OPERATOR
        swept = writes.get((namespace, ""), ())
        if made.at < run.started or not operators or _deleted(seen, swept, made):
            continue
        unused = end - seen[-1].at
        if namespace not in run.owned and seen[-1] is not made and unused < LEASE_UNUSED:
            continue
        text = (
            f"Lease {name}, created in namespace {namespace} by the operator during the run, was "
            f"deleted by nobody and last renewed {unused:.0f} s before the end, {_NOT_LISTED}"
        )
        yield finding(_NAME, Verdict.VIOLATES, f"Lease/{name}", text, first_at=made.at, last_at=end)


def _deleted(seen: Collection[Write], swept: Collection[Write], made: Write) -> bool:
    """True if it was deleted after it was made, by its name or with all of its namespace."""
    by_name = (write for write in seen if write.verb == "delete")
    together = (write for write in swept if write.verb == "deletecollection")
    return any(write.at >= made.at for write in (*by_name, *together))
