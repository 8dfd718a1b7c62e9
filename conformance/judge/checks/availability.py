"""Availability: a service never has fewer ready routable pods than its workload's strategy allows
while image or replicas change; a service that no step touches keeps its pods.

A change of the number alone replaces no pod that it need not.

Toggles and node count changes have no budget unless the profile declares one
(`availability_on_toggle`); their gap is reported with its exact length and does not gate.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.records import EventType, Step
from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.changes import Act, Part
from conformance.judge.checks.parts.budget import Touch, budget, touched
from conformance.judge.checks.parts.readiness import Dip, Watched, watch
from conformance.judge.checks.parts.replaced import replaced
from conformance.judge.doubts import doubts
from conformance.judge.findings import CheckResult, finding, or_doubts
from conformance.judge.lineage import Place
from conformance.judge.wording import by, count, noun, nouns, seconds
from conformance.model.graph import Graph, Service
from conformance.model.kinds import WORKLOADS, Actor, of_platform
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.AVAILABILITY
_TEMPLATE_OR_REPLICAS = {Touch.TEMPLATE, Touch.REPLICAS}


def check(case: Case) -> CheckResult:
    """Judge each checkpoint's window, from its first accepted step to the checkpoint."""
    findings: list[Finding] = []
    looked_at = 0
    for point in case.judged:
        steps = [step for step in point.steps if _acts(step)]
        if steps:
            window = case.window(steps[0].sent_at, point.at)
            watched = watch(case, window, steps[0], point)
            looked_at += len(watched)
            findings += _judged(case, point, steps, watched, window)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _judged(
    case: Case, point: CasePoint, steps: list[Step], watched: dict[Place, Watched], window: Window
) -> list[Finding]:
    found = [one for row in watched.values() for one in _judge(case, point, steps, row)]
    found += _unseen(case, point, steps, watched, window)
    if not watched:
        return found
    claim = "every service kept its ready pods"
    return or_doubts(found, lambda: doubts(case, _NAME, point, window, claim=claim))


def _acts(step: Step) -> bool:
    """True for steps that did something, or that are there to show that nothing happens."""
    quiet = bool({ChangeKind.OPERATOR, ChangeKind.NO_OP} & set(step.kinds)) and step.code == 0
    return step.accepted or quiet


def _unseen(
    case: Case, point: CasePoint, steps: list[Step], watched: dict[Place, Watched], window: Window
) -> Iterator[Finding]:
    """Services that should have had pods before the change, of which none was recorded."""
    before = case.before(point)
    if before is None or before.checkpoint.blocked or not before.held:
        return
    for graph in before.graphs:
        for service in graph.services:
            if service.groups and Place(graph.name, service.name.lower()) not in watched:
                yield finding(
                    _NAME, Verdict.UNKNOWN, service.name,
                    f"No pod of service {service.name} of {graph.name} was recorded before "
                    f"{steps[0].name}, so it cannot be told whether it stayed available",
                    graph=graph.name, step=steps[0].name, first_at=window.start,
                )  # fmt: skip


# Judging ------------------------------------------------------------------------------------------


def _judge(case: Case, point: CasePoint, steps: list[Step], row: Watched) -> Iterator[Finding]:
    touches = touched(steps).get(row.place, set())
    name = _name(case, row.place)
    if not touches:
        yield from _untouched(case, steps, row, name)
        return
    if touches & {Touch.ADDED, Touch.REMOVED}:
        return
    if touches <= _TEMPLATE_OR_REPLICAS or case.profile.availability_on_toggle:
        floor = _floor(case, steps, row, touches)
        dips = row.dips(floor, point.at)
        for dip in dips:
            yield _below(case, steps, row, name, floor, dip)
        if touches == {Touch.REPLICAS} and not dips:
            yield from replaced(case, steps, row, list(_services(steps, row.place)))
        return
    for dip in row.dips(1, point.at):
        yield _gap(steps, row, name, dip)
    served = row.counts[0][1] > 0
    if point.checkpoint.blocked and served and not row.ready and _unbuildable(steps, row.place):
        yield _stopped(point, steps, row, name)


def _floor(case: Case, steps: list[Step], row: Watched, touches: set[Touch]) -> int:
    """The budget, but never more than was ready before the change."""
    ready_before = row.counts[0][1]
    wanted = min((service.groups for service in _services(steps, row.place)), default=0)
    if not touches <= _TEMPLATE_OR_REPLICAS:
        return min(1, wanted, ready_before)
    return min(budget(_workloads(case, row), wanted=wanted), ready_before)


def _services(steps: list[Step], place: Place) -> Iterator[Service]:
    for step in steps:
        for graph in (step.before, step.after):
            yield from _service(graph, place)


def _service(graph: Graph | None, place: Place) -> Iterator[Service]:
    if graph is not None and graph.name == place.graph:
        yield from (s for s in graph.services if s.name.lower() == place.service)


def _workloads(case: Case, row: Watched) -> list[Obj]:
    """The workloads of the service just before the change."""
    state = case.history.at(row.base)
    snapshot = case.snapshot(state, ())
    return [
        obj
        for obj in state.of_kind(*WORKLOADS)
        if obj.namespace == case.namespace
        and snapshot.is_workload(obj)
        and snapshot.by_operator(obj)
        and case.lineage.place(obj.uid) == row.place
    ]


def _unbuildable(steps: list[Step], place: Place) -> bool:
    """True if the target lacks what a multinode workload needs (GPU limit, command, arguments)."""
    for service in (s for step in steps for s in _service(step.after, place)):
        container = service.container
        runs = container.get("command") and container.get("args")
        if service.multinode and (service.gpus is None or not runs):
            return True
    return False


def _untouched(case: Case, steps: list[Step], row: Watched, name: str) -> Iterator[Finding]:
    if not row.lost:
        return
    first = row.lost[0]
    gone = {e.obj.uid for e in row.lost if e.type is EventType.DELETED or e.obj.deleting}
    verb = "deleted" if first.obj.uid in gone else "no longer ready"
    why = _cause(case, row, steps, gone)
    more = f" (and {len(row.lost) - 1} more)" if len(row.lost) > 1 else ""
    nobody = "nothing above it was changed, so this is the platform's doing and proves nothing"
    yield finding(
        _NAME, Verdict.VIOLATES if why else Verdict.UNKNOWN, name,
        f"Pod {first.obj.name}{more} of service {name} of {row.place.graph} was {verb} "
        f"{seconds(first.at - steps[0].sent_at)} after {steps[0].name}, which does not touch that "
        f"service; {why or nobody}",
        graph=row.place.graph, step=steps[0].name, first_at=first.at, last_at=row.lost[-1].at,
        pods=[event.obj.name for event in row.lost],
    )  # fmt: skip


def _cause(case: Case, row: Watched, steps: list[Step], gone: set[str]) -> str:
    """Why the loss is the operator's: it deleted the pod, or something above it was changed; empty if
    it is not. What the garbage collector deleted above the pod was asked for by somebody, too."""
    above = {owner.uid for lost in row.lost for owner in case.lineage.above(lost.obj.uid)}
    for change in case.log.changes(steps[0].sent_at, row.lost[-1].at):
        obj, deleted = change.obj, change.act is Act.DELETED
        writer = case.log.writer(change)
        if obj.uid in gone and deleted and writer is Actor.OPERATOR:
            return "the operator deleted it"
        moved = deleted or Part.SPEC in change.parts
        if obj.uid in above and moved and not of_platform(obj) and writer is not Actor.SUITE:
            return f"{by(writer)} {'deleted' if deleted else 'rewrote'} {noun(obj)} above it"
    return ""


def _below(case: Case, steps: list[Step], row: Watched, name: str, floor: int, dip: Dip) -> Finding:
    workloads = nouns(_workloads(case, row))
    # Where no single revision order holds, what is shorter than the tolerance was perhaps never so.
    vague = not case.history.header.total_order and dip.length < case.bounds.out_of_order
    sick = [
        event
        for event in row.lost
        if not event.obj.deleting and event.type is not EventType.DELETED and event.at <= dip.start
    ]
    platform = bool(sick) and dip.lowest + len(sick) >= floor
    message = (
        f"Service {name} of {row.place.graph} had {count(dip.lowest, 'ready pod')} for "
        f"{seconds(dip.length)} from {seconds(dip.start - steps[0].sent_at)} after {steps[0].name} "
        f"on, where {workloads or 'the profile'} allows no fewer than {floor}"
    )
    if platform:
        message += f"; Pod {sick[0].obj.name} stopped being ready without being deleted"
    return finding(
        _NAME, Verdict.UNKNOWN if vague or platform else Verdict.VIOLATES, name, message,
        graph=row.place.graph, step=steps[0].name, first_at=dip.start, last_at=dip.end,
        floor=floor, lowest=dip.lowest, seconds=round(dip.length, 3),
    )  # fmt: skip


def _gap(steps: list[Step], row: Watched, name: str, dip: Dip) -> Finding:
    return finding(
        _NAME, Verdict.CONFORMS, name,
        f"Service {name} of {row.place.graph} had no ready pod for {dip.length:.2f} s during "
        f"{steps[0].name}; no budget is declared for that",
        graph=row.place.graph, step=steps[0].name, first_at=dip.start, last_at=dip.end,
        seconds=round(dip.length, 3),
    )  # fmt: skip


def _stopped(point: CasePoint, steps: list[Step], row: Watched, name: str) -> Finding:
    return finding(
        _NAME, Verdict.VIOLATES, name,
        f"Service {name} of {row.place.graph} serves no more "
        f"{seconds(point.at - point.checkpoint.since)} after {steps[0].name}: the target cannot be "
        "built, and its old pods are gone",
        graph=row.place.graph, step=steps[0].name, first_at=row.counts[-1][0], last_at=point.at,
    )  # fmt: skip


def _name(case: Case, place: Place) -> str:
    """The service's name in the graph's own spelling."""
    graphs = (graph for point in case.points for graph in point.graphs)
    return next((s.name for graph in graphs for s in _service(graph, place)), place.service)
