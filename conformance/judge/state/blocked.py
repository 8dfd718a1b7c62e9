"""Targets that cannot be reached: the truth, told with a reason, and nothing that grows. The old
workload keeps serving, or the new one stays unfulfilled, never both. Gang objects already made are
neither required nor orphans."""

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.claims import false_claims, idle_claims
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.orphans import orphans
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import outside, rollout, unreached
from conformance.judge.state.status import ready_claim, reason_given, unready
from conformance.judge.wording import count, noun
from conformance.model.graph import COMPONENT_KIND
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def blocked(snapshot: Snapshot) -> list[Mismatch]:
    """What is wrong with the state although its target cannot be reached, soft rows included."""
    missed = {row.place for row in (*unreached(snapshot), *rollout(snapshot))}
    found = coexistence(snapshot) + outside(snapshot) + orphans(snapshot)
    for service in snapshot.services:
        if service.place in missed:
            found += _growth(service)
    found += [row for row in selectors(snapshot) if row.place not in missed]
    found += _status(snapshot, {graph for graph, _ in missed})
    found += [row for row in idle_claims(snapshot) if row.place in missed]
    # An entry for a service without a reached workload may speak of either shape.
    found += [row for row in false_claims(snapshot) if row.place not in missed]
    return found


def _growth(service: ServiceSnapshot) -> list[Mismatch]:
    """More living pods than either shape could want: something is made again and again."""
    most = max(1, service.service.groups) * service.service.size
    pods, about = service.live_pods, f"service/{service.name}"
    if len(pods) <= most:
        return []
    has = f"has {count(len(pods), 'pod')}, at most {most} could be wanted"
    message = f"service {service.name} cannot be reached and {has}"
    return [mismatch(CheckerName.SIZE, message, *pods, place=service.place, about=about)]


def _status(snapshot: Snapshot, unreached_graphs: set[str]) -> list[Mismatch]:
    name, found = CheckerName.STATUS_TRUTH, []
    for root in snapshot.roots.values():
        text = _wrong_status(root, snapshot, reached=root.name not in unreached_graphs)
        if text:
            found.append(mismatch(name, f"{noun(root)} {text}", root, place=(root.name, "")))
    return found + [row for row in unready(snapshot) if not row.objects]  # those that do not exist


def _wrong_status(root: Obj, snapshot: Snapshot, *, reached: bool) -> str:
    claim, reason = ready_claim(root, snapshot.profile), reason_given(root, snapshot.profile)
    if reached:
        # What somebody else's object keeps from being made need not be a workload.
        excused = claim is False and bool(reason) and _taken(snapshot)
        right = claim is True or excused
        return "" if right else "does not say Ready, and its target has been reached"
    if claim is True:
        return "says Ready, and its target has not been reached"
    if claim is None:
        return "says nothing of readiness, and its target has not been reached"
    return "" if reason else "is not Ready and gives no reason"


def _taken(snapshot: Snapshot) -> bool:
    """True if others have an object under whose name a child of a graph cannot be made."""
    kinds = {*WORKLOADS, COMPONENT_KIND, "Service", snapshot.profile.multinode.gang_kind}
    others = (snapshot.state.get(uid) for uid in snapshot.wanted.others)
    return any(obj is not None and obj.kind in kinds for obj in others)
