"""Foreign: objects of others stay what they are; a graph that no step touches keeps its children.

Foreign objects are those that the case put there (same name, look-alike labels, finalizers). Their
status is not judged: whose it is depends on the kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.history.history import History
from conformance.history.records import Checkpoint, Foreign
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.family import family_of
from conformance.judge.checks.promises import took
from conformance.judge.checks.windows import (
    Window,
    doubts,
    judged_checkpoints,
    window,
)
from conformance.judge.checks.words import by, listing, named, plural, seconds, subject
from conformance.judge.state.changes import EVIDENCE_KINDS, Act, Change, Part, content
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import PLATFORM_KINDS, Actor, ownerless
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FOREIGN
_INVALID = 422
_JUDGED = (Part.SPEC, Part.LABELS, Part.ANNOTATIONS, Part.OWNERS, Part.FINALIZERS)


def check(history: History) -> CheckResult:
    """Judge every foreign object until the last checkpoint, and every untouched graph at each one."""
    checkpoints = history.checkpoints
    taken = list(_basics(history))
    if not history.foreign and not _siblings(history):
        return CheckResult(checker=_NAME, findings=tuple(taken))
    if not checkpoints:
        return CheckResult(checker=_NAME, findings=(_nothing(history),))
    findings: list[Finding] = taken
    last = checkpoints[-1]
    for foreign in history.foreign:
        findings += _foreign(history, foreign, last)
    for checkpoint, graph, kind in _siblings(history):
        findings += _sibling(history, checkpoint, graph, kind)
    if not any(finding.gates for finding in findings):
        start = min([f.at for f in history.foreign], default=_start(history))
        within = window(history, start, last.at)
        findings += doubts(history, _NAME, last, within, claim="others' objects stayed untouched")
    looked_at = len(history.foreign) + len(_siblings(history))
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _basics(history: History) -> Iterator[Finding]:
    """What Kubernetes puts into each namespace is not the operator's to delete; it comes back, and
    whoever read it meanwhile failed."""
    log, last = log_of(history), history.checkpoints[-1].at if history.checkpoints else 0.0
    for change in log.changes(0.0, last):
        obj = change.obj
        basic = obj.kind in ("ConfigMap", "ServiceAccount") and ownerless(obj.kind, obj.name)
        if basic and change.act is Act.DELETED and log.writer(change) is Actor.OPERATOR:
            yield _touched(history, change, Actor.OPERATOR)


def _nothing(history: History) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.UNKNOWN,
        subject=history.header.case,
        message="The history has no checkpoint up to which foreign objects could be judged.",
    )


def _start(history: History) -> float:
    steps = [s for m in judged_checkpoints(history) for s in history.steps_of(m)]
    return min((step.sent_at for step in steps), default=history.header.started_at)


# Objects of others ----------------------------------------------------------------------------


def _foreign(history: History, foreign: Foreign, last: Checkpoint) -> Iterator[Finding]:
    life = history.lives.get(foreign.uid)
    if life is None:
        yield Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=f"{foreign.kind}/{foreign.name}",
            message=f"Foreign {foreign.kind} {foreign.name} was never recorded, so it cannot be "
            "told whether it was touched.",
            first_at=foreign.at,
        )
        return
    log = log_of(history)
    for change in log.changes(foreign.at, last.at):
        if change.obj.uid != foreign.uid or not _harms(change):
            continue
        writer = log.writer(change)
        if writer is Actor.SUITE:
            continue
        yield _touched(history, change, writer)
    yield from _tried(history, life.first, foreign, last)
    yield from _below(history, foreign, last)


def _below(history: History, foreign: Foreign, last: Checkpoint) -> Iterator[Finding]:
    """What the operator did to objects below a foreign one: they are others', too, and nothing of the
    operator's own has a place there."""
    below, log = family_of(history).below(foreign.uid), log_of(history)
    for change in log.changes(foreign.at, last.at):
        if change.obj.uid not in below or not (change.act is Act.CREATED or _harms(change)):
            continue
        if log.writer(change) is Actor.OPERATOR:
            yield Finding(
                checker=_NAME,
                verdict=Verdict.VIOLATES,
                subject=subject(change.obj),
                message=f"The operator wrote {change}, which is below {foreign.kind} {foreign.name} of "
                "somebody else.",
                first_at=change.at,
                evidence={"change": str(change), "uid": change.obj.uid},
            )


def _tried(history: History, obj: Obj, foreign: Foreign, last: Checkpoint) -> Iterator[Finding]:
    """Writes that only the API's validation kept from changing the object, such as those of a
    Deployment's selector. A conflict (409) is none of them: to ask and be told is a way to learn
    whose it is (server-side apply)."""
    tries = [w for w in log_of(history).tries(obj, foreign.at, last.at) if w.code == _INVALID]
    if not tries:
        return
    times = f" {plural(len(tries), 'time')}" if len(tries) > 1 else ""
    yield Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES,
        subject=subject(obj),
        message=f"The operator tried to {tries[0].verb} {named(obj)}{times}, which belongs to "
        "somebody else and was there before; nothing but the API's validation (HTTP 422) kept it "
        "as it was.",
        first_at=tries[0].at,
        last_at=tries[-1].at,
        evidence={"requests": len(tries), "uid": obj.uid},
    )


def _harms(change: Change) -> bool:
    if change.act is Act.DELETED:
        return True
    return change.act is Act.CHANGED and any(part in _JUDGED for part in change.parts)


def _touched(history: History, change: Change, writer: Actor) -> Finding:
    obj = change.obj
    parts = [part for part in change.parts if part in _JUDGED]
    verb = "deleted" if change.act is Act.DELETED else f"changed the {listing(parts)} of"
    # The platform keeps its own fields of any object (a Deployment's revision, say). It also does
    # what somebody else caused, such as the collection of an object that was given an owner.
    platform = writer in (Actor.PLATFORM, Actor.LWS_CONTROLLER)
    if platform and change.act is not Act.DELETED:
        verdict = Verdict.CONFORMS
    elif platform:
        verdict = Verdict.VIOLATES if _disowned(history, change) else Verdict.UNKNOWN
    else:
        verdict = Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN
    return Finding(
        checker=_NAME,
        verdict=verdict,
        subject=subject(obj),
        message=f"{by(writer).capitalize()} {verb} {named(obj)}, which belongs to somebody else "
        "and was there before.",
        first_at=change.at,
        evidence={"change": str(change), "uid": obj.uid},
    )


def _disowned(history: History, deletion: Change) -> bool:
    """True if the object was given an owner before the platform collected it."""
    before = [e for e in history.lives[deletion.obj.uid].events if e.at <= deletion.at]
    return bool(before) and before[0].obj.owners != before[-1].obj.owners


# Graphs that no step touches ------------------------------------------------------------------


def _siblings(history: History) -> list[tuple[Checkpoint, Graph, str]]:
    """Graphs (and bare components) that were there at the checkpoint before, are meant to be the same
    still, and were no step's target, where some step did change something else."""
    found = []
    for checkpoint in judged_checkpoints(history):
        before = history.checkpoint_before(checkpoint)
        steps = [s for s in history.steps_of(checkpoint) if took(s)]
        moving = [s for s in steps if s.moves_generation or ChangeKind.DELETE in s.kinds]
        if before is None or not moving:
            continue
        # An edit of a component names the component; the graph it is part of is in `before`.
        names = {s.target for s in steps} | {g.name for s in steps for g in (s.before,) if g}
        for kind, old, new in (
            (GRAPH_KIND, before.graphs, checkpoint.graphs),
            (COMPONENT_KIND, before.components, checkpoint.components),
        ):
            found += [(checkpoint, g, kind) for g in new if g.name not in names and g in old]
    return found


def _sibling(
    history: History, checkpoint: Checkpoint, graph: Graph, kind: str
) -> Iterator[Finding]:
    steps = [s for s in history.steps_of(checkpoint) if took(s)]
    within = window(history, steps[0].sent_at, checkpoint.at)
    base = history.at(max(within.after_revision, steps[0].revision_before))
    root = base.named(kind, graph.name, history.namespace)
    if root is None:
        yield Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=f"{kind}/{graph.name}",
            message=f"{kind} {graph.name} was not recorded before {steps[0].name}, so it cannot be "
            "told whether its children stayed.",
            graph=graph.name,
        )
        return
    now = history.at_checkpoint(checkpoint)
    below = family_of(history).below(root.uid)
    for obj in base:
        if obj.uid not in below or obj.kind in EVIDENCE_KINDS or obj.deleting:
            continue
        present = now.get(obj.uid)
        if present is None or present.deleting:
            yield _harmed(history, graph, obj, "is gone", steps[0].name, within)
        elif obj.kind not in PLATFORM_KINDS and content(present) != content(obj):
            yield _harmed(history, graph, obj, "has another spec", steps[0].name, within)


def _harmed(
    history: History, graph: Graph, obj: Obj, how: str, step: str, within: Window
) -> Finding:
    """An untouched graph's child that changed. A platform's object below children that nobody wrote
    is the platform's affair, and proves nothing."""
    log = log_of(history)
    chain = {o.uid for o in family_of(history).chain(obj.uid)}
    causes = [
        (change, writer)
        for change in log.changes(within.start, within.end)
        if change.obj.uid in chain
        and change.weighs
        and (writer := log.writer(change)) in (Actor.OPERATOR, Actor.UNKNOWN)
        and (writer is Actor.OPERATOR or change.obj.kind not in PLATFORM_KINDS)
    ]
    operators = [change for change, writer in causes if writer is Actor.OPERATOR]
    why = "; nobody but the platform is known to have written it"
    if operators:
        late = seconds(operators[0].at - within.start)
        why = f"; the operator wrote {operators[0]} {late} after {step}"
    return Finding(
        checker=_NAME,
        verdict=Verdict.VIOLATES if operators else Verdict.UNKNOWN,
        subject=subject(obj),
        message=f"{named(obj)} of graph {graph.name} {how}, although {step} does not touch that "
        f"graph{why}.",
        graph=graph.name,
        step=step,
        first_at=causes[0][0].at if causes else within.start,
        last_at=within.end,
        evidence={"writes": plural(len(causes), "write"), "uid": obj.uid},
    )
