"""Targets that cannot be reached: the truth, told with a reason, and nothing that grows.

No GPU limit or command: the old workload keeps serving. More nodes than exist, or a foreign object
under the name: the new one stays unfulfilled. Never both. Gang objects already made are neither
required nor orphans (design §10).
"""

from __future__ import annotations

from conformance.judge.state.base import Mismatch
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.orphans import orphans
from conformance.judge.state.rollout import rollout
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import outside, unreached
from conformance.judge.state.status import (
    false_claims,
    idle_claims,
    ready_claim,
    reason_given,
    unready,
)
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, counted, subject
from conformance.model.graph import COMPONENT_KIND
from conformance.model.kinds import WORKLOADS
from conformance.model.verdict import CheckerName


def blocked_in(view: View) -> list[Mismatch]:
    """What is wrong with the state although its target cannot be reached, soft rows included."""
    missed = {(row.graph, row.service) for row in (*unreached(view), *rollout(view))}
    found = coexistence(view) + outside(view) + orphans(view)
    for part in view.parts:
        if (part.graph.name, part.name) in missed:
            found += _growth(part)
    found += [row for row in selectors(view) if (row.graph, row.service) not in missed]
    found += _status(view, {graph for graph, _ in missed})
    found += [row for row in idle_claims(view) if (row.graph, row.service) in missed]
    # An entry for a service without a reached workload may speak of either shape.
    found += [row for row in false_claims(view) if (row.graph, row.service) not in missed]
    return found


def _growth(part: Part) -> list[Mismatch]:
    """More living pods than either shape could want: something is made again and again."""
    most = max(1, part.service.groups) * part.service.size
    if len(part.live_pods) <= most:
        return []
    pods = part.live_pods
    return [
        Mismatch(
            checker=CheckerName.SIZE,
            subject=f"service/{part.name}",
            message=f"service {part.name} cannot be reached and has {counted(len(pods), 'pod')}, "
            f"at most {most} could be wanted",
            graph=part.graph.name,
            service=part.name,
            objects=tuple(pod.uid for pod in pods),
        )
    ]


def _status(view: View, unreached: set[str]) -> list[Mismatch]:
    found = []
    taken = _taken(view)
    missing = {row.graph for row in unready(view) if not row.objects}
    for root in view.roots.values():
        claim, reason = ready_claim(root, view.profile), reason_given(root, view.profile)
        if root.name in unreached and claim is True:
            message = f"{call(root)} says Ready, and its target has not been reached"
        elif root.name in unreached and claim is None:
            message = f"{call(root)} says nothing of readiness, and its target has not been reached"
        elif root.name in unreached and not reason:
            message = f"{call(root)} is not Ready and gives no reason"
        elif root.name not in unreached and claim is False and reason and taken:
            # What somebody else's object keeps from being made need not be a workload.
            continue
        elif root.name not in unreached and claim is not True:
            message = f"{call(root)} does not say Ready, and its target has been reached"
        else:
            continue
        found.append(_row(subject(root), message, root.name, (root.uid,)))
    found += [_row(f"DGD/{name}", f"DGD {name} does not exist", name, ()) for name in missing]
    return found


def _taken(view: View) -> bool:
    """True if others have an object of a kind that operators make for a service, under whose name
    a child of a graph cannot be made."""
    kinds = {*WORKLOADS, COMPONENT_KIND, "Service", view.profile.multinode.gang_kind}
    others = (view.state.get(uid) for uid in view.wanted.others)
    return any(obj is not None and obj.kind in kinds for obj in others)


def _row(subject_: str, message: str, graph: str, objects: tuple[str, ...]) -> Mismatch:
    return Mismatch(
        checker=CheckerName.STATUS_TRUTH,
        subject=subject_,
        message=message,
        graph=graph,
        objects=objects,
    )
