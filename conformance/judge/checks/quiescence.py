"""Quiescence: in the hold window the operator writes nothing that counts (design §10), and not more
than `write_rate` requests a second, no-ops included; what changes nothing for it moves nothing.

A checkpoint at which the state did not even match is no rest: its mismatch is reported by its own
checker, and the operator may still follow what the platform does. Only a spin on one object, far
beyond that, is held against it there.

Others' writes (Deployment controller, LWS controller, scheduler) are reported and do not gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd
from conformance.judge.checks import rates
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.stillness import owner_of, still_steps
from conformance.judge.checks.windows import Window, doubts, hold_window, judged_checkpoints
from conformance.judge.checks.words import by, listing, named, plural, seconds, subject
from conformance.judge.state.changes import EVIDENCE_KINDS, Act, Change, Part
from conformance.judge.state.writes import CountedWrite, log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE
_CLAIM = "the operator was at rest"
# Requests for one object, in multiples of `write_rate`, that no progress of the platform explains:
# following three pods of a group to readiness was seen to take six status writes in 5 s.
_SPIN = 4.0


def check(history: History) -> CheckResult:
    """Judge every hold window, and every step that must move nothing."""
    checkpoints = judged_checkpoints(history)
    findings: list[Finding] = []
    if not checkpoints:
        return CheckResult(checker=_NAME, findings=(_nothing(history),))
    findings += _evidence(history, checkpoints)
    for checkpoint in checkpoints:
        hold = hold_window(history, checkpoint)
        if checkpoint.end is CheckpointEnd.INTERRUPTED:
            # The driver stopped in mid-work; nobody claims that this was a hold window.
            findings += doubts(history, _NAME, checkpoint, hold, claim=_CLAIM)
            continue
        if checkpoint.end is CheckpointEnd.DEADLINE and checkpoint.reached_at is None:
            findings += [*_spins(history, checkpoint, hold), *still_steps(history, checkpoint)]
            continue
        seen = [*_counted(history, checkpoint, hold), *rates.check(history, checkpoint, hold)]
        seen += _transition_times(history, checkpoint, hold)
        steps = list(still_steps(history, checkpoint))
        if not any(finding.gates for finding in (*seen, *steps)):
            seen += _unsettled(checkpoint, hold)
            seen += doubts(history, _NAME, checkpoint, hold, claim=_CLAIM)
        findings += [*seen, *steps, *_others(history, checkpoint, hold)]
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(checkpoints))


def _nothing(history: History) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.UNKNOWN,
        subject=history.header.case,
        message="The history has no judged checkpoint, so no hold window could be looked at.",
    )


def _evidence(history: History, checkpoints: list[Checkpoint]) -> list[Finding]:
    """An audit log without one request of the operator cannot say that it was at rest: a graph was
    served, so either its user name is not known as the operator's or the log is not that of this
    case."""
    served = any(checkpoint.graphs or checkpoint.components for checkpoint in checkpoints)
    if not history.header.audited or not served or log_of(history).operator_wrote:
        return []
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=f"user/{history.profile.identity_user}",
            message="The audit log has no request of the operator in the whole case, so its rest "
            f"proves nothing; is {history.profile.identity_user} the user it writes as?",
        )
    ]


# Counted writes -----------------------------------------------------------------------------------


def _counted(history: History, checkpoint: Checkpoint, hold: Window) -> list[Finding]:
    found: list[Finding] = []
    counted = log_of(history).counted(hold.start, hold.end)
    for writer in (Actor.OPERATOR, Actor.UNKNOWN):
        writes = [write for write in counted if write.writer is writer]
        if writes:
            found.append(_busy(history, checkpoint, hold, writes, writer))
    return found


def _busy(
    history: History,
    checkpoint: Checkpoint,
    hold: Window,
    writes: list[CountedWrite],
    writer: Actor,
) -> Finding:
    objects = Counter(named(write.change.obj) for write in writes)
    target, count = objects.most_common(1)[0]
    first, last = writes[0].change, writes[-1].change
    obj = next(w.change.obj for w in writes if named(w.change.obj) == target)
    owner = owner_of(obj)
    others = f" and {plural(len(objects) - 1, 'other object')}" if len(objects) > 1 else ""
    still = ""
    if checkpoint.end is CheckpointEnd.DEADLINE:
        still = f", {seconds(checkpoint.at - checkpoint.since)} after the last change of the case"
    return Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN,
        subject=subject(obj),
        message=f"{target}{owner}{others} changed {plural(len(writes), 'time')} at rest, by "
        f"{by(writer)}, within {seconds(checkpoint.at - hold.start)} up to {checkpoint.name}{still} "
        f"({_what(writes)}).",
        graph=obj.labels.get(history.profile.labels.graph, ""),
        first_at=first.at,
        last_at=last.at,
        evidence={"writes": [str(write.change) for write in writes], "most": {target: count}},
    )


def _what(writes: Iterable[CountedWrite]) -> str:
    acts: dict[str, None] = {}
    for write in writes:
        change = write.change
        if change.act is Act.CHANGED:
            parts = (part for part in change.parts if part is not Part.STATUS)
            acts.update(dict.fromkeys(str(part) for part in parts))
        else:
            acts[str(change.act)] = None
    return listing(acts)


def _spins(history: History, checkpoint: Checkpoint, hold: Window) -> Iterator[Finding]:
    """One object written over and over while the state does not match."""
    log = log_of(history)
    length = hold.end - hold.start
    writes = Counter(
        subject(write.change.obj)
        for write in log.counted(hold.start, hold.end)
        if write.writer is Actor.OPERATOR
    )
    requests = Counter(
        f"{write.resource}/{write.name}" for write in log.requests(hold.start, hold.end)
    )
    rows = [(row, "changed", writes, 1.0) for row in writes]
    rows += [(row, "sent requests for", requests, _SPIN) for row in requests]
    for about, how, counts, times in rows:
        if counts[about] > times * history.bounds.write_rate * length:
            yield Finding(
                checker=_NAME,
                verdict=Verdict.VIOLATES,
                subject=about,
                message=f"The operator {how} {about} {plural(counts[about], 'time')} in the "
                f"{seconds(length)} before {checkpoint.name}, without making the state match.",
                first_at=hold.start,
                last_at=hold.end,
                evidence={"writes": dict(writes), "requests": dict(requests)},
            )


def _unsettled(checkpoint: Checkpoint, hold: Window) -> list[Finding]:
    """A state that matched at the deadline without a full hold, although nothing counts as written:
    what kept it from holding is not known."""
    if checkpoint.end is not CheckpointEnd.DEADLINE or checkpoint.reached_at is None:
        return []
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=checkpoint.name,
            message=f"Everything matched at {checkpoint.name}, but no hold window of "
            f"{seconds(hold.end - hold.start)} had begun by the deadline, and no write of the "
            "operator explains why.",
            first_at=checkpoint.reached_at,
            last_at=checkpoint.at,
        )
    ]


def _others(history: History, checkpoint: Checkpoint, hold: Window) -> list[Finding]:
    """What the platform wrote in the window: a fact that does not gate."""
    log = log_of(history)
    writes: Counter[str] = Counter()
    for change in log.changes(hold.start, hold.end):
        if change.weighs and change.obj.kind not in EVIDENCE_KINDS:
            writer = log.writer(change)
            if writer in (Actor.PLATFORM, Actor.LWS_CONTROLLER):
                writes[f"{named(change.obj)} by {by(writer)}"] += 1
    if not writes:
        return []
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.CONFORMS,
            subject=checkpoint.name,
            message=f"The platform wrote {plural(sum(writes.values()), 'time')} in the hold window "
            f"of {checkpoint.name}: {listing(writes)}; this does not count against the operator.",
            first_at=hold.start,
            last_at=hold.end,
            evidence={"writes": dict(writes)},
        )
    ]


# Conditions ---------------------------------------------------------------------------------------


def _transition_times(history: History, checkpoint: Checkpoint, hold: Window) -> list[Finding]:
    """lastTransitionTime that moves though the condition says what it said (fault F49)."""
    moves: dict[tuple[str, str], list[Change]] = {}
    for change in log_of(history).changes(hold.start, hold.end):
        if change.obj.kind in (GRAPH_KIND, COMPONENT_KIND) and change.before is not None:
            for type_ in _moved(change.before, change.obj):
                moves.setdefault((change.obj.uid, type_), []).append(change)
    return [
        Finding(
            checker=_NAME,
            verdict=Verdict.VIOLATES,
            subject=subject(changes[0].obj),
            message=f"lastTransitionTime of condition {type_} of {named(changes[0].obj)} moved "
            f"{plural(len(changes), 'time')} in the {seconds(hold.end - hold.start)} before "
            f"{checkpoint.name}, although the condition said the same all the time.",
            first_at=changes[0].at,
            last_at=changes[-1].at,
        )
        for (_, type_), changes in moves.items()
    ]


def _moved(before: Obj, after: Obj) -> Iterator[str]:
    for new in after.status.get("conditions") or ():
        old = before.condition(str(new.get("type")))
        was = old.get("lastTransitionTime") if old else None
        if old is None or not was or was == new.get("lastTransitionTime"):
            continue
        # A new reason or message is something new to say, if not a transition; that is left alone.
        if all(old.get(key) == new.get(key) for key in ("status", "reason", "message")):
            yield str(new.get("type"))
