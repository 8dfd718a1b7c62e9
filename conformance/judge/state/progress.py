"""One line for the person who waits: what is there of what is wanted."""

from __future__ import annotations

from conformance.judge.state.base import Sight
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.orphans import orphans
from conformance.judge.state.rollout import rollout
from conformance.judge.state.size import size
from conformance.judge.state.status import unready
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import counted
from conformance.judge.state.workloads import right, size_of
from conformance.model.kinds import LWS

_SHORT = {LWS: "LWS"}


def progress(sight: Sight) -> str:
    """Such as `VllmDecodeWorker: LWS size 2, 1 of 2 pods ready`; the first thing that is
    unfinished, or that everything is there."""
    view = View(sight)
    unfinished = {(row.graph, row.service) for row in (*size(view), *rollout(view))}
    for part in view.parts:
        if part.root is None:
            return f"{part.graph.name}: not there yet"
        if (part.graph.name, part.name) in unfinished:
            return f"{part.name}: {_workload(part, view)}"
    for rule in (coexistence, orphans, unready):
        rows = rule(view)
        if rows:
            return rows[0].message
    if not view.parts:
        return "everything is gone"
    return "everything is there"


def _workload(part: Part, view: View) -> str:
    good = right(part, view.profile)
    if not good:
        there = part.workloads[0].kind if part.workloads else "no workload"
        return f"{_SHORT.get(there, there)}, waiting for the new one" if part.workloads else there
    wanted = part.service.groups * part.service.size
    ready = sum(pod.ready for workload in good for pod in part.pods_of(workload, view))
    kind = _SHORT.get(good[0].kind, good[0].kind)
    shape = f" size {size_of(good[0])}" if good[0].kind == LWS else ""
    return f"{kind}{shape}, {ready} of {counted(wanted, 'pod')} ready"
