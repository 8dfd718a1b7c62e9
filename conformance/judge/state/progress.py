"""One line for the person who waits: what is there of what is wanted."""

from __future__ import annotations

from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.orphans import orphans
from conformance.judge.state.rollout import rollout
from conformance.judge.state.size import size
from conformance.judge.state.status import unready
from conformance.judge.wording import count
from conformance.model.kinds import LWS, WORKLOADS

_SHORT = {LWS: "LWS"}


def progress(snapshot: Snapshot) -> str:
    """Such as `VllmDecodeWorker: LWS size 2, 1 of 2 pods ready`; the first thing that is
    unfinished, or that everything is there."""
    rows = (*size(snapshot), *rollout(snapshot))
    unfinished = {(row.graph, row.service) for row in rows}
    for service in snapshot.services:
        if service.root is None:
            return f"{service.graph.name}: not there yet"
        if (service.graph.name, service.name) in unfinished:
            return f"{service.name}: {_workload(service, snapshot)}"
    for rule in (coexistence, orphans, unready):
        found = rule(snapshot)
        if found:
            return found[0].message
    return "everything is there" if snapshot.services else "everything is gone"


def _workload(service: ServiceSnapshot, snapshot: Snapshot) -> str:
    good = service.right
    if not good:
        if not service.workloads:
            return "no workload"
        there = service.workloads[0].kind
        return f"{_SHORT.get(there, there)}, waiting for the new one"
    row = WORKLOADS[good[0].kind]
    wanted = service.service.groups * service.service.size
    ready = sum(pod.ready for pod in service.pods if snapshot.below(pod, good))
    shape = f" size {row.size_of(good[0])}" if row.size else ""
    return f"{_SHORT.get(row.kind, row.kind)}{shape}, {ready} of {count(wanted, 'pod')} ready"
