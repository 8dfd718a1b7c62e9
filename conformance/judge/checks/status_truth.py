"""Status truth: Ready only when all is there, and nothing said of what is not.

Judged at each checkpoint, and at each status write by the operator: its claim of Ready must
have been true at some revision in the claim window before it, since it reads from a cache that may
lag. An old claim left standing is judged only after the deadline; one that names the new generation
at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.history import History
from conformance.history.records import Event, Step
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import blind_spots, finding_of
from conformance.judge.checks.deeds import deed
from conformance.judge.checks.looks import Look, looks, others_of
from conformance.judge.checks.sentences import known, origin
from conformance.judge.checks.truth import (
    claimed_generation,
    ready_writes,
    untrue,
    was_true,
    window,
)
from conformance.judge.state.base import Mismatch
from conformance.judge.state.observed import unobserved_in
from conformance.judge.state.status import false_claims, ready_claim, unready
from conformance.judge.state.words import call, subject
from conformance.judge.state.writes import log_of
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

NAME = CheckerName.STATUS_TRUTH
# Ready speaks of workloads and their pods. What else is amiss (a left-over gang object, a selector)
# is its own checker's finding and makes no lie of it.
_DENY_READY = frozenset({CheckerName.COEXISTENCE, CheckerName.SIZE, CheckerName.FIDELITY})


def check(history: History) -> CheckResult:
    """What the status said that was not so."""
    seen = looks(history)
    findings = [finding for look in seen for finding in _at_checkpoint(look)]
    findings += [finding for look in seen for finding in _wavers(look)]
    told = {(finding.graph, finding.step) for finding in findings}
    writes = 0
    for event in ready_writes(history, others_of(history)):
        writes += 1
        step = _step_before(history, event)
        if (event.obj.name, step.name if step else "") in told:
            continue
        contradictions = was_true(history, event, others_of(history))
        if contradictions:
            findings.append(_false_claim(history, event, step, contradictions))
            told.add((event.obj.name, step.name if step else ""))
    return CheckResult(
        checker=NAME,
        findings=(*findings, *blind_spots(history, seen, NAME)),
        looked_at=len(seen) + writes,
    )


def _at_checkpoint(look: Look) -> list[Finding]:
    view = look.view
    if look.checkpoint.blocked:
        return [finding_of(look, row) for row in look.mismatches if row.checker is NAME]
    wrong = [row for row in look.mismatches if row.checker is not NAME and not row.ending]
    amiss = {row.graph for row in wrong}
    # An arrangement neither waits for soft rows nor rests long enough to prove that they stay.
    claims = [row for row in false_claims(view) if look.checkpoint.judged or not row.soft]
    findings = [finding_of(look, row) for row in claims]
    # That a graph in which something is amiss is not Ready, or not observed, is the plain truth.
    slow = [*unready(view), *unobserved_in(view)]
    findings += [finding_of(look, row) for row in slow if row.graph not in amiss]
    for root in view.roots.values():
        denied = (row for row in wrong if row.graph == root.name and row.checker in _DENY_READY)
        first = next(denied, None)
        if first is not None and ready_claim(root, look.history.profile) is True:
            findings.append(_lie(look, root, first))
    return findings


def _wavers(look: Look) -> Iterator[Finding]:
    """Ready taken back in a hold window in which nothing was amiss, though it had been said since the
    last step: an operator that has not yet seen what came about wavers nothing."""
    checkpoint, history = look.checkpoint, look.history
    if (
        not look.held
        or not checkpoint.judged
        or checkpoint.blocked
        or checkpoint.reached_at is None
    ):
        return
    log = log_of(history)
    for root in look.view.roots.values():
        said = False
        for event in history.lives[root.uid].events:
            claim = ready_claim(event.obj, history.profile)
            own = checkpoint.since < event.at and log.writer_of(event) is Actor.OPERATOR
            said |= own and claim is True
            within = checkpoint.reached_at < event.at <= checkpoint.at
            if own and said and within and claim is False and _was_well(history, event):
                yield _waver(look, event)


def _was_well(history: History, event: Event) -> bool:
    """True if nothing contradicted Ready for as long as an operator's cache may lag."""
    others = others_of(history)
    states = [history.at(revision) for revision in window(history, event)]
    return not any(untrue(state, event.obj, history, others) for state in states)


def _waver(look: Look, event: Event) -> Finding:
    checkpoint = look.checkpoint
    reached = checkpoint.reached_at if checkpoint.reached_at is not None else checkpoint.since
    return Finding(
        checker=NAME,
        verdict=Verdict.VIOLATES,
        subject=subject(event.obj),
        message=f"{call(event.obj)} was said not to be Ready {event.at - reached:.1f} s after "
        "everything was there, though it had been said to be, and nothing had changed",
        graph=event.obj.name,
        step=checkpoint.steps[-1] if checkpoint.steps else "",
        first_at=event.at,
        last_at=event.at,
        evidence={"service": "", "revision": event.revision},
    )


def _lie(look: Look, root: Obj, row: Mismatch) -> Finding:
    objects = known(look, row.objects[:1])
    told = origin(look.history, look.view.state, objects)
    tail = f"; {call(objects[0])}{told.removeprefix('it')}" if objects else ""
    after = f"{look.checkpoint.at - look.checkpoint.since:.1f} s after "
    after += deed(look.steps[-1]) if look.steps else "the last change"
    return Finding(
        checker=NAME,
        verdict=Verdict.VIOLATES,
        subject=subject(root),
        message=f"{call(root)} still says Ready {after}, but {row.message}{tail}",
        graph=root.name,
        step=look.checkpoint.steps[-1] if look.checkpoint.steps else "",
        first_at=look.checkpoint.since,
        last_at=look.checkpoint.at,
        evidence={"service": row.service, "checkpoint": look.checkpoint.name},
    )


def _step_before(history: History, event: Event) -> Step | None:
    sent = [step for step in history.steps if step.sent_at <= event.at]
    return sent[-1] if sent else None


def _false_claim(
    history: History, event: Event, step: Step | None, rows: list[Mismatch]
) -> Finding:
    root, row = event.obj, rows[0]
    state = history.at(event.revision)
    objects = [obj for uid in row.objects[:1] if (obj := state.get(uid)) is not None]
    told = origin(history, state, objects)
    tail = f"; {call(objects[0])}{told.removeprefix('it')}" if objects else ""
    # A busy suite may read the API's answer later than the recorder sees what follows from it.
    when = f"{max(0.0, event.at - step.answered_at):.1f} s after {deed(step)}" if step else ""
    generation = claimed_generation(root, history)
    of = f" of generation {generation}" if generation else ""
    return Finding(
        checker=NAME,
        verdict=Verdict.VIOLATES,
        subject=subject(root),
        message=f"{call(root)} was said to be Ready{of} {when}, at revision {event.revision}, and "
        f"at no time in the {history.bounds.claim_window:.0f} s before it was that so: "
        f"{row.message}{tail}",
        graph=root.name,
        step=step.name if step else "",
        first_at=event.at,
        last_at=event.at,
        evidence={"service": row.service, "revision": event.revision},
    )
