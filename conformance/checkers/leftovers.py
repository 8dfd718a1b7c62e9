"""Leftovers of a whole run: what the operator made outside the cases' namespaces and left there.

An object that names a case is judged with that case; this is the gate for all others (design:
The platform's objects). It is looked at once every graph of the run is gone.
"""

from __future__ import annotations

import fnmatch

from conformance.checkers.base import CheckResult
from conformance.history.history import History, Life
from conformance.history.records import Gap
from conformance.model.kinds import Layer, ownerless
from conformance.model.verdict import CheckerName, Finding, Verdict
from conformance.rules.writes import log_of

NAME = CheckerName.ORPHANS


def check(history: History) -> CheckResult:
    """What the operator made during the run and is still there at its end."""
    if not history.moments:
        text = "the end of the run was never reached, so left-overs elsewhere cannot be told"
        return CheckResult(checker=NAME, findings=(_unknown("run", text),))
    born = [
        life
        for life in history.lives.values()
        if life.created_at is not None and life.created_at >= history.header.started_at
    ]
    findings = [
        finding
        for life in born
        if life.deleted_at is None and (finding := _judged(history, life)) is not None
    ]
    findings += [_gap(gap) for gap in history.gaps if gap.at >= history.header.started_at]
    kinds = sorted({mark.kind for mark in history.unseen})
    if kinds:
        text = f"{', '.join(kinds)} may not be seen by the suite, so left-overs of these cannot be told"
        findings.append(_unknown("run", text))
    return CheckResult(checker=NAME, findings=tuple(findings), looked_at=1 + len(born))


def _judged(history: History, life: Life) -> Finding | None:
    obj = life.last
    if ownerless(obj.kind, obj.name) is not None or obj.deleting:
        return None
    if any(
        keeper.kind == obj.kind and fnmatch.fnmatchcase(obj.name, keeper.name)
        for keeper in history.profile.keepers
    ):
        return None
    author = log_of(history).creator(life.uid)
    where = f"in namespace {obj.namespace}" if obj.namespace else "cluster-wide"
    subject = f"{obj.kind}/{obj.name}"
    if author is Layer.OPERATOR:
        text = (
            f"{obj.kind} {obj.name}, created {where} by the operator during the run, is still there "
            "after every graph is gone, and no keeper of the profile covers it"
        )
        return Finding(
            checker=NAME, verdict=Verdict.VIOLATES, subject=subject, message=text,
            first_at=life.created_at, last_at=history.moments[-1].at,
        )  # fmt: skip
    return None


def _gap(gap: Gap) -> Finding:
    kind = gap.kind or "any kind"
    return _unknown("run", f"changes of {kind} may have been missed during the run: {gap.reason}")


def _unknown(subject: str, text: str) -> Finding:
    return Finding(checker=NAME, verdict=Verdict.UNKNOWN, subject=subject, message=text)
