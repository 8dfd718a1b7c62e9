"""One line for the person who waits: what is there of what is wanted."""

from __future__ import annotations

from conformance.model.kinds import LWS
from conformance.rules.base import Sight
from conformance.rules.coexistence import coexistence
from conformance.rules.orphans import orphans
from conformance.rules.rollout import rollout
from conformance.rules.size import size
from conformance.rules.status import unready
from conformance.rules.view import Part, View
from conformance.rules.words import counted
from conformance.rules.workloads import right, size_of

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
