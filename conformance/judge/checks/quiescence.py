"""Quiescence: in the hold window the operator writes nothing that counts, and not more than
`write_rate` requests a second, no-ops included; what changes nothing for it moves nothing.

A checkpoint at which the state did not even match is no rest: its mismatch is reported by its own
checker, and the operator may still follow what the platform does. Only a spin on one object, far
beyond that, is held against it there.

Others' writes (Deployment controller, LWS controller, scheduler) are reported and do not gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change, Part
from conformance.judge.checks.parts.rates import rates
from conformance.judge.checks.parts.stillness import owner_of, still_steps
from conformance.judge.doubts import doubts
from conformance.judge.findings import CheckResult, blame, finding, or_doubts
from conformance.judge.wording import by, count, join, noun, seconds, subject
from conformance.judge.writers import CountedWrite
from conformance.model.bounds import SPIN
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import EVIDENCE_KINDS, Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE


def check(case: Case) -> CheckResult:
    """Judge every hold window, and every step that must move nothing."""
    if not case.judged:
        text = "The history has no judged checkpoint, so no hold window could be looked at"
        nothing = finding(_NAME, Verdict.UNKNOWN, case.history.header.case, text)
        return CheckResult(checker=_NAME, findings=(nothing,))
    findings = _no_request(case)
    for point in case.judged:
        findings += _judged(case, point)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(case.judged))


def _judged(case: Case, point: CasePoint) -> list[Finding]:
    def doubtful() -> list[Finding]:
        return doubts(case, _NAME, point, point.hold, claim="the operator was at rest")

    if point.interrupted:
        # The driver stopped in mid-work; nobody claims that this was a hold window.
        return doubtful()
    if _unmatched(point):
        return [*_spins(case, point), *still_steps(case, point)]
    found = [*_counted(case, point), *rates(case, point), *_transition_times(case, point)]
    found += still_steps(case, point)
    findings = or_doubts(found, lambda: [*_unsettled(point), *doubtful()])
    return findings + _by_platform(case, point)


def _unmatched(point: CasePoint) -> bool:
    """True if the state did not match when the deadline came."""
    checkpoint = point.checkpoint
    return checkpoint.end is CheckpointEnd.DEADLINE and checkpoint.reached_at is None


def _no_request(case: Case) -> list[Finding]:
    """An audit log without one request of the operator cannot say that it was at rest: a graph was
    served, so either its user name is not known as the operator's or the log is not that of this
    case."""
    served = any(point.graphs for point in case.judged)
    if not case.history.header.audited or not served or case.log.operator_wrote:
        return []
    user = case.profile.identity_user
    text = (
        "The audit log has no request of the operator in the whole case, so its rest proves nothing; "
        f"is {user} the user it writes as?"
    )
    return [finding(_NAME, Verdict.UNKNOWN, f"user/{user}", text)]


# Counted writes -----------------------------------------------------------------------------------


def _counted(case: Case, point: CasePoint) -> Iterator[Finding]:
    counted = case.log.counted(point.hold.start, point.hold.end)
    for writer in (Actor.OPERATOR, Actor.UNKNOWN):
        writes = [write for write in counted if write.writer is writer]
        if writes:
            yield _busy(case, point, writes, writer)


def _busy(case: Case, point: CasePoint, writes: list[CountedWrite], writer: Actor) -> Finding:
    objects = Counter(noun(write.change.obj) for write in writes)
    target, most = objects.most_common(1)[0]
    obj = next(w.change.obj for w in writes if noun(w.change.obj) == target)
    others = [name for name in objects if name != target]
    beside = f" and {join(others, most=2)}" if others else ""
    still = ""
    if point.checkpoint.end is CheckpointEnd.DEADLINE:
        still = f", {seconds(point.at - point.checkpoint.since)} after the last change of the case"
    return finding(
        _NAME, blame(writer), obj,
        f"{target}{owner_of(obj)}{beside} changed {count(len(writes), 'time')} at rest, by "
        f"{by(writer)}, within {seconds(point.hold.length)} up to {point.name}{still} "
        f"({_what(writes)})",
        graph=obj.labels.get(case.profile.labels.graph, ""),
        first_at=writes[0].change.at, last_at=writes[-1].change.at,
        writes=[str(write.change) for write in writes], most={target: most},
    )  # fmt: skip


def _what(writes: Iterable[CountedWrite]) -> str:
    acts: dict[str, None] = {}
    for write in writes:
        change = write.change
        if change.act is Act.CHANGED:
            parts = (part for part in change.parts if part is not Part.STATUS)
            acts.update(dict.fromkeys(str(part) for part in parts))
        else:
            acts[str(change.act)] = None
    return join(acts, most=4)


def _spins(case: Case, point: CasePoint) -> Iterator[Finding]:
    """One object written over and over while the state does not match."""
    log, hold = case.log, point.hold
    writes = Counter(
        subject(write.change.obj)
        for write in log.counted(hold.start, hold.end)
        if write.writer is Actor.OPERATOR
    )
    requests = Counter(
        f"{write.resource}/{write.name}" for write in log.requests(hold.start, hold.end)
    )
    rate = case.bounds.write_rate * hold.length
    rows = [(about, "changed", number, rate) for about, number in writes.items()]
    rows += [
        (about, "sent requests for", number, SPIN * rate) for about, number in requests.items()
    ]
    for about, how, number, allowed in rows:
        if number > allowed:
            yield finding(
                _NAME, Verdict.VIOLATES, about,
                f"The operator {how} {about} {count(number, 'time')} in the {seconds(hold.length)} "
                f"before {point.name}, without making the state match",
                first_at=hold.start, last_at=hold.end,
                writes=dict(writes), requests=dict(requests),
            )  # fmt: skip


def _unsettled(point: CasePoint) -> list[Finding]:
    """A state that matched at the deadline without a full hold, although nothing counts as written:
    what kept it from holding is not known."""
    if point.checkpoint.end is not CheckpointEnd.DEADLINE:
        return []
    text = (
        f"Everything matched at {point.name}, but no hold window of {seconds(point.hold.length)} had "
        "begun by the deadline, and no write of the operator explains why"
    )
    return [
        finding(
            _NAME, Verdict.UNKNOWN, point.name, text,
            first_at=point.checkpoint.reached_at, last_at=point.at,
        )
    ]  # fmt: skip


def _by_platform(case: Case, point: CasePoint) -> list[Finding]:
    """What the platform wrote in the window: a fact that does not gate."""
    hold = point.hold
    writes: Counter[str] = Counter()
    for change in case.log.changes(hold.start, hold.end):
        if change.weighs and change.obj.kind not in EVIDENCE_KINDS:
            writer = case.log.writer(change)
            if writer in (Actor.PLATFORM, Actor.LWS_CONTROLLER):
                writes[f"{noun(change.obj)} by {by(writer)}"] += 1
    if not writes:
        return []
    text = (
        f"The platform wrote {count(writes.total(), 'time')} in the hold window of {point.name}: "
        f"{join(writes, most=4)}; this does not count against the operator"
    )
    return [
        finding(
            _NAME, Verdict.CONFORMS, point.name, text,
            first_at=hold.start, last_at=hold.end, writes=dict(writes),
        )
    ]  # fmt: skip


# Conditions ---------------------------------------------------------------------------------------


def _transition_times(case: Case, point: CasePoint) -> Iterator[Finding]:
    """lastTransitionTime that moves though the condition says what it said (F49)."""
    moves: dict[tuple[str, str], list[Change]] = {}
    for change in case.log.changes(point.hold.start, point.hold.end):
        if change.obj.kind in (GRAPH_KIND, COMPONENT_KIND) and change.before is not None:
            for type_ in _moved(change.before, change.obj):
                moves.setdefault((change.obj.uid, type_), []).append(change)
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
        old = before.condition(str(new.get("type")))
        was = old.get("lastTransitionTime") if old else None
        if old is None or not was or was == new.get("lastTransitionTime"):
            continue
        # A new reason or message is something new to say, if not a transition; that is left alone.
        if all(old.get(key) == new.get(key) for key in ("status", "reason", "message")):
            yield str(new.get("type"))
