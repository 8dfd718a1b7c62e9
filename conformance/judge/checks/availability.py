"""Availability: a service never has fewer ready routable pods than its workload's strategy allows
while image or replicas change; a service that no step touches keeps its pods.

Toggles and node count changes have no budget unless the profile declares one
(`availability_on_toggle`); their gap is reported with its exact length and does not gate.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from conformance.history.records import EventType, Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change, Part
from conformance.judge.checks.parts.services import Dip, Touch, Watched, touched, watch
from conformance.judge.checks.parts.telling import or_unproven
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.lineage import Place
from conformance.judge.wording import by, count, noun, nouns, seconds
from conformance.model.graph import Service
from conformance.model.kinds import WORKLOADS, Actor, of_platform
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.AVAILABILITY
_IDLE = {ChangeKind.OPERATOR, ChangeKind.NO_OP}
_TEMPLATE_OR_REPLICAS = {Touch.TEMPLATE, Touch.REPLICAS}


def check(case: Case) -> CheckResult:
    """Judge each checkpoint's window, from its first accepted step to the checkpoint."""
    findings: list[Finding] = []
    looked_at = 0
    for point in case.judged:
        # Those that did something, or that are there to show that nothing happens.
        steps = [s for s in point.steps if s.accepted or (s.code == 0 and _IDLE & set(s.kinds))]
        if not steps:
            continue
        watched = watch(point, steps)
        looked_at += len(watched)
        found = [found for one in watched for found in _judge(one)]
        found += _unseen(point, steps[0], {one.place for one in watched})
        window = case.window(steps[0].sent_at, point.at)
        claim = "every service kept its ready pods"
        findings += or_unproven(found, _NAME, point, window, claim=claim) if watched else found
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _finding(one: Watched, verdict: Verdict, message: str, **more: Any) -> Finding:
    return finding(
        _NAME, verdict, one.name, message, graph=one.place.graph, step=one.first.name, **more
    )


def _unseen(point: CasePoint, first: Step, watched: set[Place]) -> Iterator[Finding]:
    """Services that should have had pods before the change, of which none was recorded."""
    before = point.case.before(point)
    if before is None or before.checkpoint.blocked or not before.held:
        return
    for graph in before.graphs:
        for service in graph.services:
            if service.groups and Place(graph.name, service.name.lower()) not in watched:
                yield finding(
                    _NAME, Verdict.UNKNOWN, service.name,
                    f"No pod of service {service.name} of {graph.name} was recorded before "
                    f"{first.name}, so it cannot be told whether it stayed available",
                    graph=graph.name, step=first.name, first_at=first.sent_at,
                )  # fmt: skip


def _judge(one: Watched) -> Iterator[Finding]:
    point = one.point
    touches = touched(one.steps).get(one.place, set())
    if not touches:
        yield from _untouched(one)
    elif touches & {Touch.ADDED, Touch.REMOVED}:
        return
    elif touches <= _TEMPLATE_OR_REPLICAS or one.case.profile.availability_on_toggle:
        floor = _floor(one, touches)
        dips = one.dips(floor)
        yield from (_below(one, floor, dip) for dip in dips)
        if touches == {Touch.REPLICAS} and not dips:
            yield from _replaced(one)
    else:
        for dip in one.dips(1):
            yield _finding(
                one, Verdict.CONFORMS,
                f"Service {one.what} had no ready pod for {dip.length:.2f} s during "
                f"{one.first.name}; no budget is declared for that",
                first_at=dip.start, last_at=dip.end, seconds=round(dip.length, 3),
            )  # fmt: skip
        targets = one.services(step.after for step in one.steps)
        stopped = one.ready_before and not one.ready and any(map(_unbuildable, targets))
        if point.checkpoint.blocked and stopped:
            yield _finding(
                one, Verdict.VIOLATES,
                f"Service {one.what} serves no more {seconds(point.at - point.checkpoint.since)} "
                f"after {one.first.name}: the target cannot be built, and its old pods are gone",
                first_at=one.counts[-1][0], last_at=point.at,
            )  # fmt: skip


def _unbuildable(service: Service) -> bool:
    """True if it lacks what a multinode workload needs (GPU limit, command, arguments)."""
    runs = service.container.get("command") and service.container.get("args")
    return service.multinode and (service.gpus is None or not runs)


def _untouched(one: Watched) -> Iterator[Finding]:
    lost = one.lost
    if not lost:
        return
    gone = {e.obj.uid for e in lost if e.type is EventType.DELETED or e.obj.deleting}
    verb = "deleted" if lost[0].obj.uid in gone else "no longer ready"
    why = _cause(one, gone)
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    nobody = "nothing above it was changed, so this is the platform's doing and proves nothing"
    yield _finding(
        one, Verdict.VIOLATES if why else Verdict.UNKNOWN,
        f"Pod {lost[0].obj.name}{more} of service {one.what} was {verb} "
        f"{one.after_step(lost[0].at)}, which does not touch that service; {why or nobody}",
        first_at=lost[0].at, last_at=lost[-1].at, pods=[event.obj.name for event in lost],
    )  # fmt: skip


def _cause(one: Watched, gone: set[str]) -> str:
    """Why the loss is the operator's: it deleted the pod, or something above it was changed; empty if
    it is not. What the garbage collector deleted above the pod was asked for by somebody, too."""
    for change, above in one.changes:
        obj, deleted = change.obj, change.act is Act.DELETED
        writer = one.case.log.writer(change)
        if obj.uid in gone and deleted and writer is Actor.OPERATOR:
            return "the operator deleted it"
        moved = above and (deleted or Part.SPEC in change.parts)
        if moved and not of_platform(obj) and writer is not Actor.SUITE:
            return f"{by(writer)} {'deleted' if deleted else 'rewrote'} {noun(obj)} above it"
    return ""


def _floor(one: Watched, touches: set[Touch]) -> int:
    """The budget, but never more than was ready before the change."""
    wanted = min((service.groups for service in one.meant), default=0)
    if not touches <= _TEMPLATE_OR_REPLICAS:
        return min(1, wanted, one.ready_before)
    return min(budget(one.workloads, wanted=wanted), one.ready_before)


def budget(workloads: Iterable[Obj], *, wanted: int) -> int:
    """Ready pods (of groups: ready leaders) that the workloads' own strategies keep at each instant,
    when the service wants `wanted` of them both before and after."""
    several = [(WORKLOADS[workload.kind], workload) for workload in workloads]
    lost = sum(
        row.unavailable(workload, wanted=wanted if len(several) == 1 else row.groups_of(workload))
        for row, workload in several
    )
    return max(0, wanted - lost)


def _below(one: Watched, floor: int, dip: Dip) -> Finding:
    case = one.case
    # Where no single revision order holds, what is shorter than the tolerance was perhaps never so.
    vague = not case.history.header.total_order and dip.length < case.bounds.out_of_order
    sick = [
        event.obj
        for event in one.lost
        if not event.obj.deleting and event.type is not EventType.DELETED and event.at <= dip.start
    ]
    platform = bool(sick) and dip.lowest + len(sick) >= floor
    why = f"; Pod {sick[0].name} stopped being ready without being deleted" if platform else ""
    return _finding(
        one, Verdict.UNKNOWN if vague or platform else Verdict.VIOLATES,
        f"Service {one.what} had {count(dip.lowest, 'ready pod')} for {seconds(dip.length)} from "
        f"{one.after_step(dip.start)} on, where {nouns(one.workloads) or 'the profile'} allows no "
        f"fewer than {floor}{why}",
        first_at=dip.start, last_at=dip.end,
        floor=floor, lowest=dip.lowest, seconds=round(dip.length, 3),
    )  # fmt: skip


def _replaced(one: Watched) -> Iterator[Finding]:
    """More pods lost than a change of nothing but their number needs, where a template above them was
    written or a workload made again. Each may go as a new one is ready, so that no budget is short, and
    yet every request that runs is cut off. A pod that goes by itself proves nothing."""
    lost, meant = one.lost, one.meant
    groups = [service.groups for service in meant]
    spare = max(0, groups[0] - min(groups)) * meant[0].size
    cause = _replacing(one) if len(lost) > spare else None
    if cause is not None:
        writer = one.case.log.writer(cause)
        yield _finding(
            one, blame(writer),
            f"{count(len(lost), 'pod')} of service {one.what} did not outlive {one.first.name}, "
            f"which changes nothing but their number and needs {spare} to go; {by(writer)} wrote "
            f"{cause}",
            first_at=lost[0].at, last_at=lost[-1].at,
            pods=[event.obj.name for event in lost], needed=spare,
        )  # fmt: skip


def _replacing(one: Watched) -> Change | None:
    """The first write by which the pods had to go."""
    pods, snapshot = {event.obj.uid for event in one.lost}, one.before
    for change, above in one.changes:
        obj, before, deleted = change.obj, change.before, change.act is Act.DELETED
        # A StatefulSet that an LWS is made of comes and goes with its group.
        if above and snapshot.is_workload(obj) and not of_platform(obj):
            templates = WORKLOADS[obj.kind].templates_of
            if deleted or (before is not None and templates(before) != templates(obj)):
                return change
        if obj.uid in pods and deleted and one.case.log.writer(change) is Actor.OPERATOR:
            return change
    return None
