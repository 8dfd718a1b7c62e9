"""Foreign: objects of others (which the case put there) stay what they are, but for their status; a
graph that no step touches keeps its children."""

from collections.abc import Iterator

from conformance.history.records import Foreign
from conformance.judge.case import Case, CasePoint
from conformance.judge.causes import causes
from conformance.judge.changes import Act, Change, Part, content
from conformance.judge.checks.parts.telling import or_unproven
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.steps import changes_something, took
from conformance.judge.wording import by, count, join, noun, seconds
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import EVIDENCE_KINDS, Actor, of_platform, ownerless
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FOREIGN
_INVALID = 422
_JUDGED = (Part.SPEC, Part.LABELS, Part.ANNOTATIONS, Part.OWNERS, Part.FINALIZERS)


def check(case: Case) -> CheckResult:
    """Judge every foreign object until the last checkpoint, and every untouched graph at each one."""
    found, others, graphs = list(_basics(case)), case.history.foreign, list(_siblings(case))
    if not others and not graphs:
        return CheckResult(checker=_NAME, findings=tuple(found))
    if not case.points:
        text = "The history has no checkpoint up to which foreign objects could be judged"
        unjudged = finding(_NAME, Verdict.UNKNOWN, case.history.header.case, text)
        return CheckResult(checker=_NAME, findings=(unjudged,))
    last = case.points[-1]
    for foreign in others:
        found += _foreign(case, foreign, last.at)
    for point, kind, graph in graphs:
        found += _sibling(point, kind, graph)
    sent = (step.sent_at for point in case.judged for step in point.steps)
    begins = [one.at for one in others] or sent
    window = case.window(min(begins, default=case.history.header.started_at), last.at)
    claim = "others' objects stayed untouched"
    findings = or_unproven(found, _NAME, last, window, claim=claim)
    looked_at = len(others) + len(graphs)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _basics(case: Case) -> Iterator[Finding]:
    """What Kubernetes puts into each namespace is not the operator's to delete; it comes back, and
    whoever read it meanwhile failed."""
    last = case.points[-1].at if case.points else 0.0
    for change in case.log.changes(0.0, last):
        obj = change.obj
        basic = obj.kind in ("ConfigMap", "ServiceAccount") and ownerless(obj.kind, obj.name)
        if basic and change.act is Act.DELETED and case.log.writer(change) is Actor.OPERATOR:
            yield _touched(case, change, Actor.OPERATOR)


def _foreign(case: Case, foreign: Foreign, until: float) -> Iterator[Finding]:
    what = f"{foreign.kind} {foreign.name}"
    life = case.history.lives.get(foreign.uid)
    if life is None:
        text = f"Foreign {what} was never recorded, so it cannot be told whether it was touched"
        about = f"{foreign.kind}/{foreign.name}"
        yield finding(_NAME, Verdict.UNKNOWN, about, text, first_at=foreign.at)
        return
    below = case.lineage.below(foreign.uid)
    for change in case.log.changes(foreign.at, until):
        writer = case.log.writer(change)
        if change.obj.uid == foreign.uid and _harms(change) and writer is not Actor.SUITE:
            yield _touched(case, change, writer)
            continue
        wrote = change.act is Act.CREATED or _harms(change)
        if wrote and change.obj.uid in below and writer is Actor.OPERATOR:
            # It is others', too, and nothing of the operator's own has a place there.
            text = f"The operator wrote {change}, which is below {what} of somebody else"
            yield _of_change(change, Verdict.VIOLATES, text)
    yield from _tried(case, life.first, foreign.at, until)


def _tried(case: Case, obj: Obj, since: float, until: float) -> Iterator[Finding]:
    """Writes that only the API's validation kept from changing the object. A conflict (409) is none of
    them: to ask and be told is a way to learn whose it is (server-side apply)."""
    tries = [write for write in case.log.tries(obj, since, until) if write.code == _INVALID]
    if tries:
        times = f" {count(len(tries), 'time')}" if len(tries) > 1 else ""
        yield finding(
            _NAME, Verdict.VIOLATES, obj,
            f"The operator tried to {tries[0].verb} {noun(obj)}{times}, which belongs to somebody "
            "else and was there before; nothing but the API's validation (HTTP 422) kept it as it was",
            first_at=tries[0].at, last_at=tries[-1].at, requests=len(tries), uid=obj.uid,
        )  # fmt: skip


def _harms(change: Change) -> bool:
    if change.act is Act.DELETED:
        return True
    return change.act is Act.CHANGED and any(part in _JUDGED for part in change.parts)


def _touched(case: Case, change: Change, writer: Actor) -> Finding:
    parts = join((part for part in change.parts if part in _JUDGED), most=5)
    verb = "deleted" if change.act is Act.DELETED else f"changed the {parts} of"
    text = (
        f"{by(writer).capitalize()} {verb} {noun(change.obj)}, which belongs to somebody else and "
        "was there before"
    )
    return _of_change(change, _verdict(case, change, writer), text)


def _of_change(change: Change, verdict: Verdict, text: str) -> Finding:
    obj = change.obj
    return finding(_NAME, verdict, obj, text, first_at=change.at, change=str(change), uid=obj.uid)


def _verdict(case: Case, change: Change, writer: Actor) -> Verdict:
    """The platform keeps its own fields of any object (a Deployment's revision, say). It also does
    what somebody else caused, such as the collection of an object that was given an owner."""
    if writer not in (Actor.PLATFORM, Actor.LWS_CONTROLLER):
        return blame(writer)
    if change.act is not Act.DELETED:
        return Verdict.CONFORMS
    events = case.history.lives[change.obj.uid].events
    owners = [event.obj.owners for event in events if event.at <= change.at]
    disowned = bool(owners) and owners[0] != owners[-1]
    return Verdict.VIOLATES if disowned else Verdict.UNKNOWN


def _siblings(case: Case) -> Iterator[tuple[CasePoint, str, Graph]]:
    """Graphs and bare components, with their kind, that are meant to be as at the checkpoint before
    and were no step's target, where some step did change something else."""
    for point in case.judged:
        before = case.before(point)
        steps = [step for step in point.steps if took(step)]
        if before is None or not any(changes_something(step) for step in steps):
            continue
        # An edit of a component names the component; the graph it is part of is in `before`.
        names = {s.target for s in steps} | {s.before.name for s in steps if s.before}
        old, new = before.checkpoint, point.checkpoint
        for kind, was, now in (
            (GRAPH_KIND, old.graphs, new.graphs),
            (COMPONENT_KIND, old.components, new.components),
        ):
            kept = (graph for graph in now if graph.name not in names and graph in was)
            yield from ((point, kind, graph) for graph in kept)


def _sibling(point: CasePoint, kind: str, graph: Graph) -> Iterator[Finding]:
    case = point.case
    first = next(step for step in point.steps if took(step))
    window = case.window(first.sent_at, point.at)
    base = case.history.at(max(window.after_revision, first.revision_before))
    root = base.named(kind, graph.name, case.namespace)
    if root is None:
        yield finding(
            _NAME, Verdict.UNKNOWN, f"{kind}/{graph.name}",
            f"{kind} {graph.name} was not recorded before {first.name}, so it cannot be told whether "
            "its children stayed",
            graph=graph.name,
        )  # fmt: skip
        return
    below = case.lineage.below(root.uid)
    for obj in base:
        if obj.uid not in below or obj.kind in EVIDENCE_KINDS or obj.deleting:
            continue
        present = point.state.get(obj.uid)
        if present is None or present.deleting:
            how = "is gone"
        elif not of_platform(obj) and content(present) != content(obj):
            how = "has another spec"
        else:
            continue
        # A platform's object below children that nobody wrote is the platform's affair.
        found = causes(case, [obj.uid], window)
        operators = [change for change, writer in found if writer is Actor.OPERATOR]
        why = "nobody but the platform is known to have written it"
        if operators:
            late = seconds(operators[0].at - window.start)
            why = f"the operator wrote {operators[0]} {late} after {first.name}"
        yield finding(
            _NAME, Verdict.VIOLATES if operators else Verdict.UNKNOWN, obj,
            f"{noun(obj)} of graph {graph.name} {how}, although {first.name} does not touch that "
            f"graph; {why}",
            graph=graph.name, step=first.name,
            first_at=found[0][0].at if found else window.start, last_at=window.end,
            writes=count(len(found), "write"), uid=obj.uid,
        )  # fmt: skip
