"""Restart: an operator that was stopped, killed or started again rolls nothing that it need not.

A restart alone, at rest, rewrites no child at all. Together with a change, the services that the
change does not touch keep their pods. That the state is right is judged by other checkers.
"""

from collections import defaultdict
from collections.abc import Container, Iterator

from conformance.history.records import OperatorEventKind
from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.causes import causes
from conformance.judge.changes import Act, Part, content
from conformance.judge.checks.parts.services import touched
from conformance.judge.checks.parts.telling import or_unproven
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.lineage import Place
from conformance.judge.sentences import origin
from conformance.judge.steps import changes_something
from conformance.judge.wording import by, count, join, noun, seconds
from conformance.judge.writers import of_graph
from conformance.model.bounds import RESTART_EDGE
from conformance.model.kinds import Actor, of_platform
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.RESTART
_ENDED = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED)
_BACK = (OperatorEventKind.STARTED, OperatorEventKind.READY)


def check(case: Case) -> CheckResult:
    """Judge every checkpoint before which the suite stopped, killed or started the operator."""
    rows = [(point, _began(point)) for point in case.judged]
    restarts = [(point, case.window(at, point.at)) for point, at in rows if at is not None]
    findings: list[Finding] = []
    for point, window in restarts:
        changes = [step for step in point.steps if changes_something(step)]
        found = [*_unjudged(point, window.start), *_rolled(point, window, touched(changes))]
        found += [] if changes else _rewritten(point, window)
        claim = "the restarted operator rolled nothing"
        findings += or_unproven(found, _NAME, point, window, claim=claim)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(restarts))


def _began(point: CasePoint) -> float | None:
    """When the restart that this checkpoint judges began; None if there was none."""
    before = point.case.before(point)
    since = before.at if before else point.case.history.header.started_at
    times = [step.sent_at for step in point.steps if ChangeKind.OPERATOR in step.kinds]
    times += [at for at in _times(point, _ENDED) if since < at]
    return min(times, default=None)


def _times(point: CasePoint, kinds: tuple[OperatorEventKind, ...]) -> list[float]:
    events = point.case.history.operator_events
    return [event.at for event in events if event.kind in kinds and event.at <= point.at]


def _finding(point: CasePoint, verdict: Verdict, message: str, about: str, start: float) -> Finding:
    step = point.checkpoint.steps[0] if point.checkpoint.steps else ""
    return finding(_NAME, verdict, about, message, step=step, first_at=start, last_at=point.at)


def _unjudged(point: CasePoint, start: float) -> Iterator[Finding]:
    first = start - RESTART_EDGE
    ended = [at for at in _times(point, _ENDED) if first <= at]
    back = [at for at in _times(point, _BACK) if first <= at]
    text = ""
    if not ended and not back:
        text = "was to be restarted, but the history has no sign that it ended or started"
    elif ended and (not back or max(back) < max(ended)):
        text = "was ended by the suite and has not been started again"
    if text:
        about = f"operator/{point.case.history.header.operator}"
        message = f"The operator {text} until {point.name}"
        yield _finding(point, Verdict.UNKNOWN, message, about, start)
    if point.missed and point.checkpoint.reached_at is None:
        unmatched = f"The state after the restart did not match until {point.name}"
        why = "so it is not known what the operator rolls for it"
        told = "the mismatch is reported by its own checker"
        yield _finding(point, Verdict.UNKNOWN, f"{unmatched}, {why}; {told}", point.name, start)


def _rolled(point: CasePoint, window: Window, changing: Container[Place]) -> Iterator[Finding]:
    """Pods of services that no step touched and that are not the same pods any more."""
    case = point.case
    lost: dict[Place, list[Obj]] = defaultdict(list)
    for pod in case.history.at(window.after_revision).of_kind("Pod"):
        place = case.lineage.place(pod.uid) if pod.namespace == case.namespace else None
        if place is None or place in changing or pod.deleting:
            continue
        present = point.state.get(pod.uid)
        if present is None or present.deleting:
            lost[place].append(pod)
    for place, pods in lost.items():
        verdict, names = Verdict.UNKNOWN, join((pod.name for pod in pods), most=4)
        why = "nothing above them was written, so this is the platform's doing"
        for change, writer in causes(case, [pod.uid for pod in pods], window)[:1]:
            verdict = Verdict.VIOLATES
            why = f"{by(writer)} wrote {change} {seconds(change.at - window.start)} after it"
        message = (
            f"{count(len(pods), 'pod')} of service {place.service} of {place.graph} did not outlive "
            f"the operator's restart, which does not touch that service: {names}; {why}"
        )
        yield _finding(point, verdict, message, place.service, window.start)


def _rewritten(point: CasePoint, window: Window) -> Iterator[Finding]:
    """Children written after a restart at rest. A change of labels or annotations alone is reported; it
    is what a new version may do once (F93)."""
    case = point.case
    base = case.history.at(window.after_revision)
    for change in case.log.changes(window.start, window.end):
        obj = change.obj
        ours = not of_platform(obj) and obj.kind != "Event" and obj.uid not in case.foreign
        if not ours or not change.weighs:
            continue
        writer = case.log.writer(change)
        unclear = writer is Actor.UNKNOWN and change.moves and of_graph(obj)
        if writer is not Actor.OPERATOR and not unclear:
            continue
        parts = join((part for part in change.parts if part is not Part.STATUS), most=4)
        verb = f"changed the {parts} of" if change.act is Act.CHANGED else str(change.act)
        still = "" if change.moves else "; no spec was written, so this does not gate"
        yield finding(
            _NAME, blame(writer) if change.moves else Verdict.CONFORMS, obj,
            f"{by(writer).capitalize()} {verb} {noun(obj)} {seconds(change.at - window.start)} after "
            f"the restart began, though nothing had changed; {origin(case, base, [obj])}{still}",
            step=point.checkpoint.steps[0] if point.checkpoint.steps else "", first_at=change.at,
            change=str(change),
            before=dict(content(change.before)) if change.before else None,
            after=dict(content(obj)),
        )  # fmt: skip
