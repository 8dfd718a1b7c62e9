"""Availability: a service never has fewer ready routable pods than its workload's strategy allows
while image or replicas change; what is not touched keeps its pods.

A change of the number alone replaces no pod that it need not.

Toggles and node count changes have no budget unless the profile declares one
(`availability_on_toggle`); their gap is reported with its exact length and does not gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Event, EventType, Step
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.budget import Touch, budget, touched
from conformance.judge.checks.family import Place, family_of
from conformance.judge.checks.readiness import Dip, Watched, watch
from conformance.judge.checks.replaced import replaced
from conformance.judge.checks.windows import Window, doubts, judged_checkpoints, window
from conformance.judge.checks.words import by, listing, named, plural, seconds
from conformance.judge.state.changes import Act, Part
from conformance.judge.state.writes import log_of
from conformance.model.graph import Graph, Service
from conformance.model.kinds import PLATFORM_KINDS, WORKLOADS, Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.AVAILABILITY
_CLAIM = "every service kept its ready pods"


def check(history: History) -> CheckResult:
    """Judge each checkpoint's window, from its first accepted step to the checkpoint."""
    findings: list[Finding] = []
    looked_at = 0
    for checkpoint in judged_checkpoints(history):
        steps = [step for step in history.steps_of(checkpoint) if _acts(step)]
        if not steps:
            continue
        within = window(history, steps[0].sent_at, checkpoint.at)
        watched = watch(history, within, steps[0], checkpoint)
        looked_at += len(watched)
        seen = [f for w in watched.values() for f in _judge(history, checkpoint, steps, w)]
        seen += _unseen(history, checkpoint, steps, watched, within)
        if watched and not any(finding.gates for finding in seen):
            seen += doubts(history, _NAME, checkpoint, within, claim=_CLAIM)
        findings += seen
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _acts(step: Step) -> bool:
    """True for steps that did something, or that are there to show that nothing happens."""
    quiet = bool({ChangeKind.OPERATOR, ChangeKind.NO_OP} & set(step.kinds)) and step.code == 0
    return step.accepted or quiet


def _unseen(
    history: History,
    checkpoint: Checkpoint,
    steps: list[Step],
    watched: dict[Place, Watched],
    within: Window,
) -> Iterator[Finding]:
    """Services that should have had pods before the change, of which none was recorded."""
    before = history.checkpoint_before(checkpoint)
    if before is None or before.blocked or before.end is not CheckpointEnd.HELD:
        return
    for graph in (*before.graphs, *before.components):
        for service in graph.services:
            if service.groups and Place(graph.name, service.name.lower()) not in watched:
                yield Finding(
                    checker=_NAME,
                    verdict=Verdict.UNKNOWN,
                    subject=service.name,
                    message=f"No pod of service {service.name} of {graph.name} was recorded before "
                    f"{steps[0].name}, so it cannot be told whether it stayed available.",
                    graph=graph.name,
                    step=steps[0].name,
                    first_at=within.start,
                )


# Judging ------------------------------------------------------------------------------------------


def _judge(
    history: History, checkpoint: Checkpoint, steps: list[Step], row: Watched
) -> Iterator[Finding]:
    touches = touched(steps).get(row.place, set())
    name = _name(history, row.place)
    if not touches:
        yield from _untouched(history, steps, row, name)
        return
    if touches & {Touch.ADDED, Touch.REMOVED}:
        return
    if touches <= {Touch.TEMPLATE, Touch.REPLICAS} or history.profile.availability_on_toggle:
        floor = _floor(history, steps, row, touches)
        dips = row.dips(floor, checkpoint.at)
        for dip in dips:
            yield _below(history, steps, row, name, floor, dip)
        if touches == {Touch.REPLICAS} and not dips:
            services = list(_services(steps, row.place))
            yield from replaced(history, steps, row, services)
        return
    for dip in row.dips(1, checkpoint.at):
        yield _gap(steps, row, name, dip)
    if checkpoint.blocked and row.counts[0][1] and not row.ready and _unbuildable(steps, row.place):
        yield _stopped(checkpoint, steps, row, name)


def _floor(history: History, steps: list[Step], row: Watched, touches: set[Touch]) -> int:
    """The budget, but never more than was ready before the change."""
    ready_before = row.counts[0][1]
    wanted = min([s.groups for s in _services(steps, row.place)], default=0)
    if not touches <= {Touch.TEMPLATE, Touch.REPLICAS}:
        return min(1, wanted, ready_before)
    workloads = _workloads(history, row)
    return min(budget(workloads, wanted=wanted), ready_before)


def _services(steps: list[Step], place: Place) -> Iterator[Service]:
    for step in steps:
        for graph in (step.before, step.after):
            yield from _service(graph, place)


def _service(graph: Graph | None, place: Place) -> Iterator[Service]:
    if graph is not None and graph.name == place.graph:
        yield from (s for s in graph.services if s.name.lower() == place.service)


def _workloads(history: History, row: Watched) -> list[Obj]:
    family = family_of(history)
    return [
        obj
        for obj in history.at(row.base).of_kind(*WORKLOADS)
        if family.place(obj.uid) == row.place and obj.namespace == history.namespace
    ]


def _unbuildable(steps: list[Step], place: Place) -> bool:
    """True if the target lacks what a multinode workload needs (GPU limit, command, arguments)."""
    for service in (s for step in steps for s in _service(step.after, place)):
        container = service.container
        runs = container.get("command") and container.get("args")
        if service.multinode and (service.gpus is None or not runs):
            return True
    return False


def _untouched(history: History, steps: list[Step], row: Watched, name: str) -> Iterator[Finding]:
    if not row.lost:
        return
    first = row.lost[0]
    gone = [e for e in row.lost if e.type is EventType.DELETED or e.obj.deleting]
    verb = "deleted" if first in gone else "no longer ready"
    caused, why = _cause(history, row, steps, gone)
    count = f" (and {len(row.lost) - 1} more)" if len(row.lost) > 1 else ""
    yield Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES if caused else Verdict.UNKNOWN,
        subject=name,
        message=f"Pod {first.obj.name}{count} of service {name} of {row.place.graph} was {verb} "
        f"{seconds(first.at - steps[0].sent_at)} after {steps[0].name}, which does not touch that "
        f"service; {why}.",
        graph=row.place.graph,
        step=steps[0].name,
        first_at=first.at,
        last_at=row.lost[-1].at,
        evidence={"pods": [event.obj.name for event in row.lost]},
    )


def _cause(
    history: History, row: Watched, steps: list[Step], gone: Iterable[Event]
) -> tuple[bool, str]:
    """Whether the loss is the operator's: it deleted the pod, or something above it was changed.

    A pod that nobody above it was changed for (a node that went silent on a busy machine, an
    eviction) is the platform's, and then nothing is proven.
    """
    log = log_of(history)
    family = family_of(history)
    pods = {event.obj.uid for event in gone}
    above = {o.uid: o for e in row.lost for o in family.chain(e.obj.uid)[1:]}
    start, end = steps[0].sent_at, row.lost[-1].at
    for change in log.changes(start, end):
        obj = change.obj
        if obj.uid in pods and change.act is Act.DELETED:
            if log.writer(change) is Actor.OPERATOR:
                return True, "the operator deleted it"
        elif obj.uid in above and obj.kind not in PLATFORM_KINDS:
            writer = log.writer(change)
            moved = change.act is Act.DELETED or Part.SPEC in change.parts
            if moved and writer is not Actor.SUITE:
                verb = "deleted" if change.act is Act.DELETED else "rewrote"
                return True, f"{by(writer)} {verb} {named(obj)} above it"
    return False, "nothing above it was changed, so this is the platform's doing and proves nothing"


def _below(
    history: History, steps: list[Step], row: Watched, name: str, floor: int, dip: Dip
) -> Finding:
    length = dip.end - dip.start
    workloads = listing(named(o) for o in _workloads(history, row))
    # Where no single revision order holds, what is shorter than the tolerance was perhaps never so.
    vague = not history.header.total_order and length < history.bounds.out_of_order
    sick = [
        e for e in row.lost
        if not e.obj.deleting and e.type is not EventType.DELETED and e.at <= dip.start
    ]  # fmt: skip
    platform = bool(sick) and dip.lowest + len(sick) >= floor
    message = (
        f"Service {name} of {row.place.graph} had {plural(dip.lowest, 'ready pod')} for "
        f"{seconds(length)} from {seconds(dip.start - steps[0].sent_at)} after {steps[0].name} on, "
        f"where {workloads or 'the profile'} allows no fewer than {floor}"
    )
    if platform:
        message += f"; Pod {sick[0].obj.name} stopped being ready without being deleted"
    return Finding(
        checker=_NAME,
        verdict=Verdict.UNKNOWN if vague or platform else Verdict.VIOLATES,
        subject=name,
        message=message + ".",
        graph=row.place.graph,
        step=steps[0].name,
        first_at=dip.start,
        last_at=dip.end,
        evidence={"floor": floor, "lowest": dip.lowest, "seconds": round(length, 3)},
    )


def _gap(steps: list[Step], row: Watched, name: str, dip: Dip) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.CONFORMS,
        subject=name,
        message=f"Service {name} of {row.place.graph} had no ready pod for "
        f"{dip.end - dip.start:.2f} s during {steps[0].name}; no budget is declared for that.",
        graph=row.place.graph,
        step=steps[0].name,
        first_at=dip.start,
        last_at=dip.end,
        evidence={"seconds": round(dip.end - dip.start, 3)},
    )


def _stopped(checkpoint: Checkpoint, steps: list[Step], row: Watched, name: str) -> Finding:
    late = seconds(checkpoint.at - checkpoint.since)
    return Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES,
        subject=name,
        message=f"Service {name} of {row.place.graph} serves no more {late} after "
        f"{steps[0].name}: the target cannot be built, and its old pods are gone.",
        graph=row.place.graph,
        step=steps[0].name,
        first_at=row.counts[-1][0],
        last_at=checkpoint.at,
    )


def _name(history: History, place: Place) -> str:
    """The service's name in the graph's own spelling."""
    for checkpoint in history.checkpoints:
        for graph in (*checkpoint.graphs, *checkpoint.components):
            for service in _service(graph, place):
                return service.name
    return place.service
