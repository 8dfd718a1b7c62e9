"""Quiescence: in the hold window the operator writes nothing that counts, and not more than
`write_rate` requests a second, no-ops included; what changes nothing for it moves nothing. Others'
writes (Deployment controller, LWS controller, scheduler) are reported and do not gate.

A checkpoint at which the state did not even match is no rest: the operator may still follow what the
platform does. Only a spin on one object, far beyond that, is held against it there.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from conformance.history.records import Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change, Part
from conformance.judge.checks.parts.rates import rates
from conformance.judge.checks.parts.telling import of_step
from conformance.judge.doubts import doubts
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.wording import by, count, join, noun, seconds, subject
from conformance.judge.writers import of_graph
from conformance.model.bounds import SPIN
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import EVIDENCE_KINDS, Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE
_MOVING = {ChangeKind.DELETE, ChangeKind.OPERATOR, ChangeKind.DEPLOY, ChangeKind.ILLEGAL}


def check(case: Case) -> CheckResult:
    """Judge every hold window, and every step that must move nothing."""
    if not case.judged:
        text = "The history has no judged checkpoint, so no hold window could be looked at"
        nothing = finding(_NAME, Verdict.UNKNOWN, case.history.header.case, text)
        return CheckResult(checker=_NAME, findings=(nothing,))
    findings: list[Finding] = []
    served = any(point.graphs for point in case.judged)
    if case.history.header.audited and served and not case.log.operator_wrote:
        # Its user is not known as the operator's, or the log is not that of this case.
        user = case.profile.identity_user
        text = (
            "The audit log has no request of the operator in the whole case, so its rest proves "
            f"nothing; is {user} the user it writes as?"
        )
        findings.append(finding(_NAME, Verdict.UNKNOWN, f"user/{user}", text))
    for point in case.judged:
        findings += _judged(point)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(case.judged))


def _judged(point: CasePoint) -> list[Finding]:
    claim = "the operator was at rest"
    if point.interrupted:
        # The driver stopped in mid-work; nobody claims that this was a hold window.
        return doubts(point.case, _NAME, point, point.hold, claim=claim)
    if point.missed and point.checkpoint.reached_at is None:
        return [*_spins(point), *_still_steps(point)]
    found = [*_counted(point, Actor.OPERATOR), *_counted(point, Actor.UNKNOWN), *rates(point)]
    found += [*_transition_times(point), *_still_steps(point)]
    if not any(one.gates for one in found):
        found += [_unsettled(point)] if point.missed else []
        found += doubts(point.case, _NAME, point, point.hold, claim=claim)
    return [*found, *_by_platform(point)]


def _counted(point: CasePoint, writer: Actor) -> Iterator[Finding]:
    counted = point.case.log.counted(point.hold.start, point.hold.end)
    changes = [write.change for write in counted if write.writer is writer]
    if not changes:
        return
    objects = Counter(noun(change.obj) for change in changes)
    target, most = objects.most_common(1)[0]
    obj = next(change.obj for change in changes if noun(change.obj) == target)
    others = [name for name in objects if name != target]
    beside = f" and {join(others, most=2)}" if others else ""
    still = ""
    if point.missed:
        still = f", {seconds(point.at - point.checkpoint.since)} after the last change of the case"
    whats = [
        what
        for change in changes
        for what in (change.parts if change.act is Act.CHANGED else (change.act,))
        if what is not Part.STATUS
    ]
    yield finding(
        _NAME, blame(writer), obj,
        f"{target}{_owner_of(obj)}{beside} changed {count(len(changes), 'time')} at rest, by "
        f"{by(writer)}, within {seconds(point.hold.length)} up to {point.name}{still} "
        f"({join(dict.fromkeys(whats), most=4)})",
        graph=obj.labels.get(point.case.profile.labels.graph, ""),
        first_at=changes[0].at, last_at=changes[-1].at,
        writes=[str(change) for change in changes], most={target: most},
    )  # fmt: skip


def _owner_of(obj: Obj) -> str:
    reference = obj.controller
    return f" (controlled by {reference.get('kind')} {reference.get('name')})" if reference else ""


def _spins(point: CasePoint) -> Iterator[Finding]:
    """One object written over and over while the state does not match."""
    log, hold = point.case.log, point.hold
    counted = log.counted(hold.start, hold.end)
    writes = Counter(subject(w.change.obj) for w in counted if w.writer is Actor.OPERATOR)
    requests = Counter(f"{w.resource}/{w.name}" for w in log.requests(hold.start, hold.end))
    rate = point.case.bounds.write_rate * hold.length
    rows = [("changed", about, n) for about, n in writes.items() if n > rate]
    rows += [("sent requests for", about, n) for about, n in requests.items() if n > SPIN * rate]
    for how, about, number in rows:
        yield finding(
            _NAME, Verdict.VIOLATES, about,
            f"The operator {how} {about} {count(number, 'time')} in the {seconds(hold.length)} "
            f"before {point.name}, without making the state match",
            first_at=hold.start, last_at=hold.end, writes=dict(writes), requests=dict(requests),
        )  # fmt: skip


def _unsettled(point: CasePoint) -> Finding:
    return finding(
        _NAME, Verdict.UNKNOWN, point.name,
        f"Everything matched at {point.name}, but no hold window of {seconds(point.hold.length)} had "
        "begun by the deadline, and no write of the operator explains why",
        first_at=point.checkpoint.reached_at, last_at=point.at,
    )  # fmt: skip


def _by_platform(point: CasePoint) -> Iterator[Finding]:
    """What the platform wrote in the window: a fact that does not gate."""
    log, hold = point.case.log, point.hold
    writes: Counter[str] = Counter()
    for change in log.changes(hold.start, hold.end):
        writer = log.writer(change) if change.weighs else Actor.UNKNOWN
        platform = writer in (Actor.PLATFORM, Actor.LWS_CONTROLLER)
        if platform and change.obj.kind not in EVIDENCE_KINDS:
            writes[f"{noun(change.obj)} by {by(writer)}"] += 1
    if writes:
        yield finding(
            _NAME, Verdict.CONFORMS, point.name,
            f"The platform wrote {count(writes.total(), 'time')} in the hold window of {point.name}: "
            f"{join(writes, most=4)}; this does not count against the operator",
            first_at=hold.start, last_at=hold.end, writes=dict(writes),
        )  # fmt: skip


def _transition_times(point: CasePoint) -> Iterator[Finding]:
    """lastTransitionTime that moves though the condition says what it said (F49)."""
    moves: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in point.case.log.changes(point.hold.start, point.hold.end):
        if change.obj.kind in (GRAPH_KIND, COMPONENT_KIND) and change.before is not None:
            for type_ in _moved(change.before, change.obj):
                moves[change.obj.uid, type_].append(change)
    for (_, type_), changes in moves.items():
        obj = changes[0].obj
        yield finding(
            _NAME, Verdict.VIOLATES, obj,
            f"lastTransitionTime of condition {type_} of {noun(obj)} moved "
            f"{count(len(changes), 'time')} in the {seconds(point.hold.length)} before {point.name}, "
            "although the condition said the same all the time",
            first_at=changes[0].at, last_at=changes[-1].at,
        )  # fmt: skip


def _moved(before: Obj, after: Obj) -> Iterator[str]:
    for new in after.status.get("conditions") or ():
        old = before.condition(str(new.get("type"))) or {}
        was = old.get("lastTransitionTime")
        # A new reason or message is something new to say, if not a transition; that is left alone.
        same = all(old.get(key) == new.get(key) for key in ("status", "reason", "message"))
        if was and was != new.get("lastTransitionTime") and same:
            yield str(new.get("type"))


def _still_steps(point: CasePoint) -> Iterator[Finding]:
    """What moved after steps that must move nothing: no-op, annotation only, idling."""
    for step in point.steps:
        idle = step.code == 0 and ChangeKind.NO_OP in step.kinds
        still = not step.moves_generation and _MOVING.isdisjoint(step.kinds)
        if not still or not (step.accepted or idle):
            continue
        if step.accepted and step.moved:
            text = (
                f"{step.name} changed nothing of the spec of {step.target}, but moved its generation "
                f"from {step.generation_before} to {step.generation_after}"
            )
            yield of_step(_NAME, Verdict.VIOLATES, step, text, first_at=step.answered_at)
        later = [other.sent_at for other in point.steps if other.sent_at > step.sent_at]
        yield from _rewritten(point.case, step, min([*later, point.at]))


def _rewritten(case: Case, step: Step, end: float) -> Iterator[Finding]:
    for change in case.log.changes(step.sent_at, end):
        obj, writer = change.obj, case.log.writer(change)
        if change.moves and of_graph(obj) and writer in (Actor.OPERATOR, Actor.UNKNOWN):
            verb = "changed the spec of" if change.act is Act.CHANGED else str(change.act)
            yield finding(
                _NAME, blame(writer), obj,
                f"{by(writer).capitalize()} {verb} {noun(obj)}{_owner_of(obj)} "
                f"{seconds(change.at - step.sent_at)} after {step.name}, which changes nothing",
                graph=step.target, step=step.name, first_at=change.at, change=str(change),
            )  # fmt: skip
