"""Orphans: what came during the case is owned by something alive and wanted, or is a retained object.

Every discovered kind, other namespaces and cluster-scoped objects included. While a graph is being
deleted nothing is an orphan before the deletion deadline. While it is served others' namespaces may
hold what it needs, but not what runs it.
"""

from __future__ import annotations

import re

from conformance.history.history import History
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import blind_spots, finding_of
from conformance.judge.checks.family import family_of
from conformance.judge.checks.looks import Look, creator, deleted_graphs, looks
from conformance.judge.checks.sentences import elapsed, layer
from conformance.judge.state.base import Mismatch
from conformance.judge.state.changes import Act
from conformance.judge.state.orphans import unattributed
from conformance.judge.state.words import call, subject
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import WORKLOADS, Actor
from conformance.model.ownership import describe_owner
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

NAME = CheckerName.ORPHANS
# What runs pods and does not end by itself.
_RUNS = frozenset({*WORKLOADS, "ReplicaSet", "StatefulSet", "DaemonSet", "Pod"})


def check(history: History) -> CheckResult:
    """What nobody owns, or nobody wants, at each checkpoint."""
    seen = looks(history)
    findings: list[Finding] = []
    for look in seen:
        findings += [finding_of(look, row) for row in _unowned(look)]
        findings += _unattributed(look)
        findings += _elsewhere(look)
    return CheckResult(
        checker=NAME,
        findings=(*findings, *blind_spots(history, seen, NAME)),
        looked_at=len(seen),
    )


def _unowned(look: Look) -> list[Mismatch]:
    rows = [row for row in look.mismatches if row.checker is NAME]
    return [row for row in rows if not _still_deleting(look, row)]


def _still_deleting(look: Look, row: Mismatch) -> bool:
    """True for what belonged to a graph whose deletion may still take its time. A graph made again
    under the same name does not turn what the old one had into orphans any sooner."""
    bounds = look.history.bounds
    for name, at in deleted_graphs(look.history).items():
        if not at <= look.checkpoint.at < at + bounds.deletion_deadline or row.graph not in (
            "",
            name,
        ):
            continue
        born = [_born(look.history, uid) for uid in row.objects]
        if all(when <= at + bounds.create_after_delete for when in born):
            return True
    return False


def _born(history: History, uid: str) -> float:
    life = history.lives.get(uid)
    return life.created_at or 0.0 if life is not None else 0.0


def _unattributed(look: Look) -> list[Finding]:
    """Objects in the namespace without an owner in it and without label: the operator's if it wrote
    them."""
    found = []
    for obj in unattributed(look.view):
        if look.view.is_retained(obj):
            continue
        by = creator(look.history, obj.uid)
        owned = "has no owner in its namespace" if obj.owners else "has no owner"
        if by is Actor.OPERATOR:
            text = f"{owned} and belongs to no graph by its labels"
            found.append(_finding(look, obj, text, by, Verdict.VIOLATES))
        elif not obj.owners and (above := _once_below(look, obj)):
            text = f"{owned} any more, and was below {call(above[-1])} once"
            blamed = any(_deleted_by_operator(look, owner) for owner in above)
            verdict = Verdict.VIOLATES if blamed else Verdict.UNKNOWN
            found.append(_finding(look, obj, text, by, verdict))
        elif by is Actor.UNKNOWN:
            text = f"{owned}, and the audit log does not tell whose it is"
            found.append(_finding(look, obj, text, by, Verdict.UNKNOWN))
    return found


def _once_below(look: Look, obj: Obj) -> list[Obj]:
    """What the object was below before it lost its owners, up to a graph or component; empty if it
    was below none. The platform's own objects stay for ever if what made them is deleted with
    propagationPolicy Orphan."""
    above = family_of(look.history).chain(obj.uid)[1:]
    return above if any(o.kind in (GRAPH_KIND, COMPONENT_KIND) for o in above) else []


def _deleted_by_operator(look: Look, obj: Obj) -> bool:
    log = log_of(look.history)
    return any(
        change.obj.uid == obj.uid
        and change.act is Act.DELETED
        and log.writer(change) is Actor.OPERATOR
        for change in log.changes(0.0, look.checkpoint.at)
    )


def _elsewhere(look: Look) -> list[Finding]:
    """Cluster-scoped objects and those in other namespaces that name the case: once no graph of the
    case is left, they too must be gone. What runs a graph's image is out of place before that."""
    served = bool(look.checkpoint.graphs or look.checkpoint.components)
    images = _images(look) if served else set()
    names = _Names(look.history)
    found = []
    for obj in look.view.state:
        if obj.namespace == look.history.namespace or look.view.needs_no_owner(obj):
            continue
        if served and (obj.kind not in _RUNS or not images.intersection(_strings(obj.spec))):
            continue
        life = look.history.lives[obj.uid]
        if life.created_revision is None or not names.in_(obj):
            continue
        by = creator(look.history, obj.uid)
        if by not in (Actor.OPERATOR, Actor.UNKNOWN):
            continue
        where = f"in namespace {obj.namespace}" if obj.namespace else "cluster-scoped"
        text = f"({where}) names this case and still exists after its last graph is gone"
        if served:
            text = (
                f"({where}) names this case and runs an image of its graphs outside its namespace"
            )
        proven = by is Actor.OPERATOR and (served or not _within_deletion(look))
        verdict = Verdict.VIOLATES if proven else Verdict.UNKNOWN
        found.append(_finding(look, obj, text, by, verdict))
    return found


def _images(look: Look) -> set[str]:
    """The images of every service that the graphs had until then, so of what may run on, too."""
    meant = [*look.checkpoint.graphs, *look.checkpoint.components]
    for step in look.history.steps:
        if step.sent_at <= look.checkpoint.at:
            meant += [graph for graph in (step.before, step.after) if graph is not None]
    return {service.image for graph in meant for service in graph.services} - {""}


def _within_deletion(look: Look) -> bool:
    """True while a deletion may still take its time. The driver waits for the case's own namespace
    only, so what is left elsewhere this early is not proven to stay."""
    deadline = look.history.bounds.deletion_deadline
    return any(look.checkpoint.at < at + deadline for at in deleted_graphs(look.history).values())


class _Names:
    """What an object may mention that ties it to the case: its namespace, or the uid of a graph."""

    def __init__(self, history: History) -> None:
        uids = [uid for uid, life in history.lives.items()
                if life.last.namespace == history.namespace]  # fmt: skip
        self._uids = frozenset(uids)
        self._namespace = re.compile(rf"(?<![a-z0-9-]){re.escape(history.namespace)}(?![a-z0-9])")

    def in_(self, obj: Obj) -> bool:
        """True if the object names the case in its name, labels, annotations, owners or spec."""
        texts = [obj.name, *obj.labels.values(), *obj.annotations.values()]
        texts += _strings(obj.spec) + _strings(obj.raw.get("subjects"))
        if any(str(owner.get("uid")) in self._uids for owner in obj.owners):
            return True
        return any(self._namespace.search(text) or text in self._uids for text in texts)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return []


def _finding(look: Look, obj: Obj, text: str, by: Actor, verdict: Verdict) -> Finding:
    return Finding(
        checker=NAME,
        verdict=verdict,
        subject=subject(obj),
        message=f"{call(obj)} {text}, {elapsed(look)}; it is owned by "
        f"{describe_owner(look.view.state, obj)}, created by {layer(by)}",
        step=look.checkpoint.steps[-1] if look.checkpoint.steps else "",
        first_at=look.history.lives[obj.uid].created_at,
        last_at=look.checkpoint.at,
        evidence={"service": "", "objects": [subject(obj)], "checkpoint": look.checkpoint.name},
    )
