"""Coexistence: two kinds of workload, or two generations, of one service. At rest never; until the
deadline the declared overlap policy decides, and an allowed overlap is reported with its exact length;
past it only a rollout that the status reports, within its declared bound, excuses two generations, and
then nothing is proven."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import attrgetter
from typing import Any

from conformance.history.records import Event, EventType
from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, finding
from conformance.judge.intent import intent
from conformance.judge.sentences import elapsed, origin
from conformance.judge.snapshot import Snapshot
from conformance.judge.state.coexistence import Doubling, Together, doublings
from conformance.judge.steps import describe, relevant
from conformance.judge.wording import nouns, subject
from conformance.model.bounds import REST_EDGE
from conformance.model.exemptions import Rollout
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import workload_kind
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.COEXISTENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overlap:
    """A stretch in which one service had two of what it may have one of, from the write that began it
    to the one that ended it (None: it lasts). `row` and `state` are of its beginning."""

    row: Together
    state: State
    from_revision: int
    from_at: float
    to_revision: int | None = None
    to_at: float

    @property
    def seconds(self) -> float:
        return self.to_at - self.from_at


def check(case: Case) -> CheckResult:
    """What coexisted at a checkpoint, in a rest after one, and on the way there."""
    findings = [
        _still_there(point, row) for point in case.seen for row in doublings(point.snapshot)
    ]
    reported = {(one.step, one.graph, one.evidence["service"]) for one in findings}
    for overlap in _overlaps(case):
        service = overlap.row.service
        for point in case.seen:
            if (point.last_step, service.graph.name, service.name) not in reported:
                findings += _in_time(overlap, point)
    findings += blind_spots(case, _NAME)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(case.seen))


def _still_there(point: CasePoint, row: Together) -> Finding:
    service = row.service.name
    step = relevant(point.steps, service)
    # Named unless the change names it already.
    named = step is not None and service in step.services
    of_service = "" if named else f" of service {service}"
    still = "exists" if len(row.stale) == 1 else "exist"
    message = (
        f"{nouns(row.stale)}{of_service} still {still} {elapsed(point, service)}; "
        f"{origin(point.case, point.state, row.objects)}"
    )
    rollout = _rollout(point, row)
    if rollout is not None:
        message += f"; {'.'.join(rollout.path)} says that a rollout is in progress"
    lives = (point.case.history.lives.get(obj.uid) for obj in row.objects)
    created = (life.created_at for life in lives if life is not None)
    return _finding(
        point, row, point.still_wrong(blamed=rollout is None), message,
        # They began to coexist when the last of them came to be.
        first_at=max((at for at in created if at is not None), default=None), last_at=point.at,
    )  # fmt: skip


def _rollout(point: CasePoint, row: Together) -> Rollout | None:
    """The rollout that the graph's status reports just now and that excuses two generations."""
    root = row.service.root
    if row.what is Doubling.KINDS or point.held or root is None:
        return None
    for rollout in point.case.profile.rollouts:
        reported = root.at(*rollout.path) in rollout.values
        if reported and point.at - _reported_since(point, root, rollout) <= rollout.bound:
            return rollout
    return None


def _reported_since(point: CasePoint, root: Obj, rollout: Rollout) -> float:
    history, until = point.case.history, point.checkpoint.revision
    events = (one for one in reversed(history.lives[root.uid].events) if one.revision <= until)
    said = takewhile(lambda one: one.obj.at(*rollout.path) in rollout.values, events)
    return min((one.at for one in said), default=history.header.started_at)


def _in_time(overlap: _Overlap, point: CasePoint) -> Iterator[Finding]:
    """What an overlap means for a checkpoint: it fell into the rest there, or was on the way to it."""
    reached = point.checkpoint.reached_at
    whose = origin(point.case, overlap.state, overlap.row.objects)
    if point.held and reached is not None and _at_rest(overlap, point, reached):
        how = (
            f"at rest, {max(0.0, overlap.from_at - reached):.1f} s after the state had been reached"
        )
        yield _overlapped(overlap, point, Verdict.VIOLATES, f" {how}; {whose}")
    elif point.begins <= overlap.from_at <= point.at:
        policy = point.case.profile.overlap
        step = relevant(point.steps, overlap.row.service.name)
        after = f" after {describe(step)}" if step else ""
        if policy.allowed:
            why = f"; the profile allows it until the deadline ({policy.reason})"
            yield _overlapped(overlap, point, Verdict.CONFORMS, f"{after}{why}")
        else:
            why = f", and the profile promises no overlap; {whose}"
            yield _overlapped(overlap, point, Verdict.VIOLATES, f"{after}{why}")


def _at_rest(overlap: _Overlap, point: CasePoint, reached: float) -> bool:
    """True if it began in the rest, or lasted into it by more than an instant."""
    lasts = overlap.to_revision is None
    # An overlap that lasts ends after everything else.
    end = max(overlap.to_at, point.rests_until) if lasts else overlap.to_at
    into = overlap.from_at > reached or lasts or end - reached > REST_EDGE
    return overlap.from_at < point.rests_until and end > reached and into


def _overlapped(overlap: _Overlap, point: CasePoint, verdict: Verdict, text: str) -> Finding:
    case, row = point.case, overlap.row
    ordered = case.history.header.total_order
    if verdict is Verdict.VIOLATES and not ordered and overlap.seconds < case.bounds.out_of_order:
        # Without one order of all kinds, what arrived in this order need not have happened in it.
        verdict = Verdict.UNKNOWN
    end = "the end" if overlap.to_revision is None else overlap.to_revision
    return _finding(
        point, row, verdict,
        f"{nouns(row.stale)} of service {row.service.name} existed beside {nouns(row.kept)} for "
        f"{max(0.0, overlap.seconds):.2f} s (revisions {overlap.from_revision} to {end}){text}",
        first_at=overlap.from_at, last_at=overlap.to_at, from_revision=overlap.from_revision,
        to_revision=overlap.to_revision, seconds=round(overlap.seconds, 3),
    )  # fmt: skip


def _finding(
    point: CasePoint, row: Together, verdict: Verdict, message: str, **more: Any
) -> Finding:
    return finding(
        _NAME, verdict, row.stale[0], message,
        graph=row.service.graph.name, step=point.last_step, service=row.service.name,
        what=str(row.what), stale=[subject(obj) for obj in row.stale],
        kept=[subject(obj) for obj in row.kept], **more,
    )  # fmt: skip


def _overlaps(case: Case) -> list[_Overlap]:
    """Every stretch of coexistence in the history, judged by each graph's own spec at that time."""
    running: dict[tuple[str, str, Doubling], _Overlap] = {}
    ended: list[_Overlap] = []
    for event, snapshot in _snapshots(case):
        now = {
            (row.service.graph.name, row.service.name, row.what): row
            for row in doublings(snapshot)
            if not row.shrinking
        }
        for key in running.keys() - now.keys():
            ended.append(replace(running.pop(key), to_revision=event.revision, to_at=event.at))
        for key in now.keys() - running.keys():
            running[key] = _Overlap(
                row=now[key], state=snapshot.state, from_revision=event.revision, from_at=event.at,
                to_at=case.history.events[-1].at,
            )  # fmt: skip
    order = attrgetter("from_revision", "row.service.graph.name", "row.service.name")
    return sorted([*ended, *running.values()], key=order)


def _snapshots(case: Case) -> Iterator[tuple[Event, Snapshot]]:
    """After each event of a graph, component or workload: what there was of these."""
    objects: dict[str, Obj] = {}
    asks: dict[tuple[str, int], Graph | None] = {}

    def asked(roots: Iterable[Obj]) -> tuple[Graph, ...]:
        own = (root for root in roots if root.uid not in case.others)
        found = (asks[root.uid, root.generation] for root in own)
        return tuple(graph for graph in found if graph is not None)

    for event in case.history.events:
        obj = event.obj
        concerns = obj.kind in (GRAPH_KIND, COMPONENT_KIND) or workload_kind(obj) is not None
        if not concerns or obj.namespace != case.namespace:
            continue
        if event.type is EventType.DELETED:
            objects.pop(obj.uid, None)
        else:
            objects[obj.uid] = obj
        if (obj.uid, obj.generation) not in asks:
            asks[obj.uid, obj.generation] = intent(obj)
        state = State(objects.values(), revision=event.revision, at=event.at)
        bare = (one for one in state.of_kind(COMPONENT_KIND) if not one.owners)
        yield event, case.snapshot(state, asked(state.of_kind(GRAPH_KIND)), asked(bare))
