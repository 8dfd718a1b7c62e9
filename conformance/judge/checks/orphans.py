"""Orphans: what came during the case, of whatever kind and wherever, is owned by something alive and
wanted, or is a retained object.

While a graph is being deleted nothing is an orphan before the deletion deadline. While it is served
others' namespaces may hold what it needs, but not what runs it.
"""

import re
from collections.abc import Callable, Iterator

from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act
from conformance.judge.doubts import blind_spots
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.mismatch import Mismatch
from conformance.judge.sentences import elapsed, finding_of
from conformance.judge.state.orphans import unattributed
from conformance.judge.wording import by, noun, owned_by, subject
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import WORKLOADS, Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.ORPHANS
# What runs pods and does not end by itself, beside workloads.
_RUNS = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "Pod"})


def check(case: Case) -> CheckResult:
    """What nobody owns, or nobody wants, at each checkpoint."""
    findings: list[Finding] = []
    mentions = _mentions(case)
    for point in case.seen:
        rows = (row for row in point.mismatches if row.checker is _NAME)
        findings += [finding_of(point, row) for row in rows if not _still_deleting(point, row)]
        findings += _unattributed(point)
        findings += _elsewhere(point, mentions)
    findings += blind_spots(case, _NAME)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(case.seen))


def _still_deleting(point: CasePoint, row: Mismatch) -> bool:
    """True for what belonged to a graph whose deletion may still take its time, made again or not."""
    case, bounds = point.case, point.case.bounds
    lives = (case.history.lives.get(uid) for uid in row.objects)
    born = max((life.created_at or 0.0 for life in lives if life is not None), default=0.0)
    return any(
        at <= point.at < case.after_turn(at, bounds.deletion_deadline)
        and row.graph in ("", name)
        and born <= case.after_turn(at, bounds.create_after_delete)
        for name, at in case.deletions.items()
    )


def _unattributed(point: CasePoint) -> Iterator[Finding]:
    case = point.case
    for obj in unattributed(point.snapshot):
        creator = case.creator(obj.uid)
        owned = "has no owner in its namespace" if obj.owners else "has no owner"
        # A platform's object stays for ever if its owner is deleted with propagationPolicy Orphan.
        above = [] if obj.owners else case.lineage.above(obj.uid)
        if creator is Actor.OPERATOR:
            text = f"{owned} and belongs to no graph by its labels"
            yield _finding(point, obj, text, Verdict.VIOLATES)
        elif any(owner.kind in (GRAPH_KIND, COMPONENT_KIND) for owner in above):
            text = f"{owned} any more, and was below {noun(above[-1])} once"
            uids = {owner.uid for owner in above}
            gone = (one for one in case.log.changes(0.0, point.at) if one.act is Act.DELETED)
            writers = (case.log.writer(one) for one in gone if one.obj.uid in uids)
            verdict = Verdict.VIOLATES if Actor.OPERATOR in writers else Verdict.UNKNOWN
            yield _finding(point, obj, text, verdict)
        elif creator is Actor.UNKNOWN:
            text = f"{owned}, and the audit log does not tell whose it is"
            yield _finding(point, obj, text, Verdict.UNKNOWN)


def _elsewhere(point: CasePoint, mentions: Callable[[Obj], bool]) -> Iterator[Finding]:
    """Objects outside the namespace that name the case: once none of its graphs is left, they too must
    be gone. What runs a graph's image is out of place before that."""
    case, served = point.case, bool(point.graphs)
    images = _images(point) if served else set()
    for obj in point.state:
        if obj.namespace == case.namespace or point.snapshot.needs_no_owner(obj):
            continue
        runs = obj.kind in _RUNS or obj.kind in WORKLOADS
        if served and not (runs and images.intersection(_strings(obj.spec))):
            continue
        creator = case.creator(obj.uid)
        if creator not in (Actor.OPERATOR, Actor.UNKNOWN):
            continue
        if case.history.lives[obj.uid].created_revision is None or not mentions(obj):
            continue
        where = f"in namespace {obj.namespace}" if obj.namespace else "cluster-scoped"
        runs_on = "runs an image of its graphs outside its namespace"
        why = runs_on if served else "still exists after its last graph is gone"
        # The driver waits for the case's own namespace only, so what is left elsewhere while a
        # deletion may still take its time is not proven to stay.
        deadline = case.bounds.deletion_deadline
        ends = (case.after_turn(at, deadline) for at in case.deletions.values())
        early = not served and any(point.at < end for end in ends)
        verdict = Verdict.UNKNOWN if early else blame(creator)
        yield _finding(point, obj, f"({where}) names this case and {why}", verdict)


def _images(point: CasePoint) -> set[str]:
    """The images of every service that the graphs had until then, so of what may run on, too."""
    steps = [step for step in point.case.history.steps if step.sent_at <= point.at]
    meant = [*point.graphs, *(graph for step in steps for graph in (step.before, step.after))]
    return {one.image for graph in meant if graph for one in graph.services} - {""}


def _mentions(case: Case) -> Callable[[Obj], bool]:
    """Whether an object names the case in its name, labels, annotations, owners or spec: the case's
    namespace, or the uid of one of its objects."""
    uids = {
        uid for uid, life in case.history.lives.items() if life.last.namespace == case.namespace
    }
    namespace = re.compile(rf"(?<![a-z0-9-]){re.escape(case.namespace)}(?![a-z0-9])")

    def mentioned(obj: Obj) -> bool:
        texts = [obj.name, *obj.labels.values(), *obj.annotations.values()]
        texts += _strings(obj.spec) + _strings(obj.raw.get("subjects"))
        if any(str(owner.get("uid")) in uids for owner in obj.owners):
            return True
        return any(namespace.search(text) or text in uids for text in texts)

    return mentioned


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in _strings(item)] if isinstance(value, list) else []


def _finding(point: CasePoint, obj: Obj, text: str, verdict: Verdict) -> Finding:
    case = point.case
    return finding(
        _NAME, point.still_wrong(blamed=verdict is Verdict.VIOLATES), obj,
        f"{noun(obj)} {text}, {elapsed(point)}; it is {owned_by(point.state, obj)}, created by "
        f"{by(case.creator(obj.uid))}",
        step=point.last_step, first_at=case.history.lives[obj.uid].created_at, last_at=point.at,
        service="", objects=[subject(obj)], checkpoint=point.name,
    )  # fmt: skip
