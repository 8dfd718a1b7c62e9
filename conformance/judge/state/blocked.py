"""Targets that cannot be reached: the truth, told with a reason, and nothing that grows.

No GPU limit or command: the old workload keeps serving. More nodes than exist, or a foreign object
under the name: the new one stays unfulfilled. Never both. Gang objects already made are neither
required nor orphans.
"""

from __future__ import annotations

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.claims import false_claims, idle_claims
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.orphans import orphans
from conformance.judge.state.rollout import rollout
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import outside, unreached
from conformance.judge.state.status import ready_claim, reason_given, unready
from conformance.judge.wording import count, noun, subject
from conformance.model.graph import COMPONENT_KIND
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def blocked(snapshot: Snapshot) -> list[Mismatch]:
    """What is wrong with the state although its target cannot be reached, soft rows included."""
    missed = {(row.graph, row.service) for row in (*unreached(snapshot), *rollout(snapshot))}
    found = coexistence(snapshot) + outside(snapshot) + orphans(snapshot)
    for service in snapshot.services:
        if (service.graph.name, service.name) in missed:
            found += _growth(service)
    found += [row for row in selectors(snapshot) if (row.graph, row.service) not in missed]
    found += _status(snapshot, {graph for graph, _ in missed})
    found += [row for row in idle_claims(snapshot) if (row.graph, row.service) in missed]
    # An entry for a service without a reached workload may speak of either shape.
    found += [row for row in false_claims(snapshot) if (row.graph, row.service) not in missed]
    return found


def _growth(service: ServiceSnapshot) -> list[Mismatch]:
    """More living pods than either shape could want: something is made again and again."""
    most = max(1, service.service.groups) * service.service.size
    pods = service.live_pods
    if len(pods) <= most:
        return []
    message = (
        f"service {service.name} cannot be reached and has {count(len(pods), 'pod')}, "
        f"at most {most} could be wanted"
    )
    about = f"service/{service.name}"
    return [of_service(CheckerName.SIZE, service, pods, message, about=about)]


def _status(snapshot: Snapshot, unreached_graphs: set[str]) -> list[Mismatch]:
    taken = _taken(snapshot)
    found = []
    for root in snapshot.roots.values():
        text = _wrong_status(root, snapshot, reached=root.name not in unreached_graphs, taken=taken)
        if text:
            found.append(_row(subject(root), f"{noun(root)} {text}", root.name, (root.uid,)))
    missing = {row.graph for row in unready(snapshot) if not row.objects}
    return found + [_row(f"DGD/{name}", f"DGD {name} does not exist", name, ()) for name in missing]


def _wrong_status(root: Obj, snapshot: Snapshot, *, reached: bool, taken: bool) -> str:
    claim, reason = ready_claim(root, snapshot.profile), reason_given(root, snapshot.profile)
    if reached:
        # What somebody else's object keeps from being made need not be a workload.
        excused = claim is False and bool(reason) and taken
        right = claim is True or excused
        return "" if right else "does not say Ready, and its target has been reached"
    if claim is True:
        return "says Ready, and its target has not been reached"
    if claim is None:
        return "says nothing of readiness, and its target has not been reached"
    return "" if reason else "is not Ready and gives no reason"


def _taken(snapshot: Snapshot) -> bool:
    """True if others have an object of a kind that operators make for a service, under whose name
    a child of a graph cannot be made."""
    kinds = {*WORKLOADS, COMPONENT_KIND, "Service", snapshot.profile.multinode.gang_kind}
    others = (snapshot.state.get(uid) for uid in snapshot.wanted.others)
    return any(obj is not None and obj.kind in kinds for obj in others)


def _row(about: str, message: str, graph: str, objects: tuple[str, ...]) -> Mismatch:
    return Mismatch(
        checker=CheckerName.STATUS_TRUTH,
        subject=about,
        message=message,
        graph=graph,
        objects=objects,
    )
