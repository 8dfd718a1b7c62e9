"""Does a state match what is wanted? The one question of the driver, several times a second; and, for
the person who waits, what is there of it."""

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.blocked import blocked
from conformance.judge.state.claims import false_claims
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.gangs import gangs
from conformance.judge.state.orphans import orphans
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import rollout, size
from conformance.judge.state.status import unobserved, unready
from conformance.judge.wording import count
from conformance.model.kinds import LWS, WORKLOADS

# In the order in which a person wants to hear of them.
_RULES = (coexistence, size, rollout, gangs, orphans, selectors, unready, false_claims)


def mismatches(snapshot: Snapshot) -> list[Mismatch]:
    """Everything that keeps the state from matching what is wanted. Empty: it matches."""
    return [row for rule in _RULES for row in rule(snapshot) if not row.soft]


def blocked_mismatches(snapshot: Snapshot) -> list[Mismatch]:
    """Everything that is wrong with a state whose target cannot be reached: two workloads, an untrue
    status, growth without bound, orphans."""
    return [row for row in blocked(snapshot) if not row.soft]


def mismatches_at(snapshot: Snapshot, *, blocked_target: bool) -> list[Mismatch]:
    """Everything that is not as it should be at a checkpoint, soft rows included."""
    if blocked_target:
        return blocked(snapshot)
    return [row for rule in (*_RULES, unobserved) for row in rule(snapshot)]


def progress(snapshot: Snapshot) -> str:
    """Such as `VllmDecodeWorker: LWS size 2, 1 of 2 pods ready`; the first thing that is
    unfinished, or that everything is there."""
    unfinished = {row.place for row in (*size(snapshot), *rollout(snapshot))}
    for service in snapshot.services:
        if service.root is None:
            return f"{service.graph.name}: not there yet"
        if service.place in unfinished:
            return f"{service.name}: {_workload(service, snapshot)}"
    for rule in (coexistence, orphans, unready):
        found = rule(snapshot)
        if found:
            return found[0].message
    return "everything is there" if snapshot.services else "everything is gone"


def _workload(service: ServiceSnapshot, snapshot: Snapshot) -> str:
    if not service.workloads:
        return "no workload"
    workload = next(iter(service.right), service.workloads[0])
    row = WORKLOADS[workload.kind]
    kind = "LWS" if row.kind == LWS else row.kind
    if not service.right:
        return f"{kind}, waiting for the new one"
    wanted = service.service.groups * service.service.size
    ready = sum(pod.ready for pod in service.pods if snapshot.below(pod, service.right))
    shape = f" size {row.size_of(workload)}" if row.size else ""
    return f"{kind}{shape}, {ready} of {count(wanted, 'pod')} ready"
