"""Status truth: Ready only when all is there, and nothing said of what is not.

Judged at each checkpoint, and at each status write by the operator: a claim of Ready must have been
true at some revision since the operator knew what the graph asks for. An old claim left standing is
judged only after the deadline.
"""

from collections.abc import Iterator
from typing import Any

from conformance.history.records import Event, Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.checks.parts import truth
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, finding
from conformance.judge.mismatch import Mismatch
from conformance.judge.sentences import finding_of, origin_of
from conformance.judge.state.claims import false_claims
from conformance.judge.state.status import ready_claim, unobserved, unready
from conformance.judge.steps import describe
from conformance.judge.wording import noun
from conformance.model.kinds import Actor
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.STATUS_TRUTH
# Ready speaks of workloads and their pods. What else is amiss (a left-over gang object, a selector)
# is its own checker's finding and makes no lie of it.
_DENY_READY = frozenset({CheckerName.COEXISTENCE, CheckerName.SIZE, CheckerName.FIDELITY})


def check(case: Case) -> CheckResult:
    """What the status said that was not so."""
    findings = [one for point in case.seen for one in _at_checkpoint(point)]
    findings += [one for point in case.seen for one in _wavers(point)]
    told = {(one.graph, one.step) for one in findings}
    writes = list(truth.ready_writes(case))
    for event in writes:
        sent = (step for step in reversed(case.history.steps) if step.sent_at <= event.at)
        step = next(sent, None)
        key = (event.obj.name, step.name if step else "")
        rows = [] if key in told else truth.contradictions(case, event)
        if rows:
            findings.append(_false_claim(case, event, step, rows[0]))
            told.add(key)
    findings += blind_spots(case, _NAME)
    looked_at = len(case.seen) + len(writes)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _at_checkpoint(point: CasePoint) -> list[Finding]:
    snapshot = point.snapshot
    if point.checkpoint.blocked:
        return [finding_of(point, row) for row in point.mismatches if row.checker is _NAME]
    wrong = [row for row in point.mismatches if row.checker is not _NAME and not row.ending]
    amiss = {row.graph for row in wrong}
    # An arrangement neither waits for soft rows nor rests long enough to prove that they stay.
    rows = [row for row in false_claims(snapshot) if point.checkpoint.judged or not row.soft]
    # That a graph in which something is amiss is not Ready, or not observed, is the plain truth.
    slow = [*unready(snapshot), *unobserved(snapshot)]
    rows += [row for row in slow if row.graph not in amiss]
    findings = [finding_of(point, row) for row in rows]
    for root in snapshot.roots.values():
        denied = (row for row in wrong if row.graph == root.name and row.checker in _DENY_READY)
        first = next(denied, None)
        if first is not None and ready_claim(root, point.case.profile) is True:
            since = point.checkpoint.since
            change = describe(point.steps[-1]) if point.steps else "the last change"
            text = f"{noun(root)} still says Ready {point.at - since:.1f} s after {change}, but "
            lie = _lie(
                point.case, point.state, root, first, text, verdict=point.still_wrong(),
                step=point.last_step, first_at=since, last_at=point.at, checkpoint=point.name,
            )  # fmt: skip
            findings.append(lie)
    return findings


def _wavers(point: CasePoint) -> Iterator[Finding]:
    """Ready taken back in a hold window in which nothing was amiss, though it had been said since the
    last step: an operator that has not yet seen what came about wavers nothing."""
    case, checkpoint = point.case, point.checkpoint
    reached = checkpoint.reached_at
    if not point.held or not checkpoint.judged or checkpoint.blocked or reached is None:
        return
    for root in point.snapshot.roots.values():
        said = False
        for event in case.history.lives[root.uid].events:
            claim = ready_claim(event.obj, case.profile)
            since = checkpoint.since < event.at
            own = since and case.log.writer_of(event) is Actor.OPERATOR
            said |= own and claim is True
            within = reached < event.at <= point.at
            if own and said and within and claim is False and truth.was_well(case, event):
                yield finding(
                    _NAME, Verdict.VIOLATES, event.obj,
                    f"{noun(event.obj)} was said not to be Ready {event.at - reached:.1f} s after "
                    "everything was there, though it had been said to be, and nothing had changed",
                    graph=event.obj.name, step=point.last_step, first_at=event.at, last_at=event.at,
                    service="", revision=event.revision,
                )  # fmt: skip


def _false_claim(case: Case, event: Event, step: Step | None, row: Mismatch) -> Finding:
    # A busy suite may read the API's answer later than the recorder sees what follows from it.
    late = f"{max(0.0, event.at - step.answered_at):.1f} s after {describe(step)}" if step else ""
    generation = truth.claimed_generation(case, event.obj)
    of = f" of generation {generation}" if generation else ""
    text = (
        f"{noun(event.obj)} was said to be Ready{of} {late}, at revision {event.revision}, and at no "
        "time since the operator knew what the graph asks for was that so: "
    )
    return _lie(
        case, case.history.at(event.revision), event.obj, row, text, step=step.name if step else "",
        first_at=event.at, last_at=event.at, revision=event.revision,
    )  # fmt: skip


def _lie(
    case: Case, state: State, root: Obj, row: Mismatch, text: str, *,
    verdict: Verdict = Verdict.VIOLATES, **more: Any,
) -> Finding:  # fmt: skip
    """A claim of Ready, with what contradicts it and whose the object is that does."""
    objects = (state.get(uid) for uid in row.objects[:1])
    whose = "".join(f"; {origin_of(case, state, obj)}" for obj in objects if obj is not None)
    message = f"{text}{row.message}{whose}"
    return finding(_NAME, verdict, root, message, graph=root.name, service=row.service, **more)
