"""What the checkers of states share: a finding for each mismatch, and what blinds a checker."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Gap
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.looks import Look, looks
from conformance.judge.checks.sentences import known, sentence
from conformance.judge.state.base import Mismatch
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict


def finding_of(look: Look, row: Mismatch, *, checker: CheckerName | None = None) -> Finding:
    """A mismatch at a checkpoint as a finding.

    What is already on its way out, or is another layer's fault, keeps the case from conforming
    without blaming the operator: it is `unknown`.
    """
    blamed = row.blame is Actor.OPERATOR and not row.ending
    return Finding(
        checker=checker or row.checker,
        verdict=Verdict.VIOLATES if blamed else Verdict.UNKNOWN,
        subject=row.subject,
        message=sentence(look, row),
        graph=row.graph,
        step=look.checkpoint.steps[-1] if look.checkpoint.steps else "",
        first_at=look.checkpoint.since,
        last_at=look.checkpoint.at,
        evidence={
            "service": row.service,
            "checkpoint": look.checkpoint.name,
            "objects": [f"{obj.kind}/{obj.name}" for obj in known(look, row.objects)],
            "blame": str(row.blame),
        },
    )


def check_mismatches(history: History, checker: CheckerName) -> CheckResult:
    """The checker whose findings are simply this name's mismatches at each checkpoint."""
    seen = looks(history)
    findings = [
        finding_of(look, row) for look in seen for row in look.mismatches if row.checker is checker
    ]
    return CheckResult(
        checker=checker,
        findings=(*findings, *blind_spots(history, seen, checker)),
        looked_at=len(seen),
    )


def gap_in(history: History, start: float, end: float, revisions: tuple[int, int]) -> Gap | None:
    """The first gap that touches a stretch, by when it was noticed or by the revisions it spans."""
    low, high = revisions
    for gap in history.gaps:
        spans = gap.to_revision and gap.from_revision <= high and gap.to_revision > low
        if start <= gap.at <= end or spans:
            return gap
    return None


def blind_spots(history: History, seen: list[Look], checker: CheckerName) -> list[Finding]:
    """UNKNOWN findings for what this checker could not see: nothing recorded, or a gap."""
    if not history.checkpoints or all(
        m.end is CheckpointEnd.INTERRUPTED for m in history.checkpoints
    ):
        return [unknown(checker, "history", "no checkpoint was reached, so nothing is proven")]
    found = []
    for look in seen:
        missing = _unrecorded(history, look)
        if missing:
            text = (
                f"nothing of {missing} was recorded until {look.checkpoint.name}: nothing is proven"
            )
            found.append(unknown(checker, "history", text, look.checkpoint))
        gap = gap_in(history, look.begins, look.checkpoint.at, _revisions(history, look))
        if gap is not None:
            kind = gap.kind or "any kind"
            text = f"changes of {kind} may have been missed before {look.checkpoint.name}: {gap.reason}"
            found.append(unknown(checker, "history", text, look.checkpoint))
    return found


def _revisions(history: History, look: Look) -> tuple[int, int]:
    return history.revision_at(look.begins), look.checkpoint.revision


def _unrecorded(history: History, look: Look) -> str:
    """The first wanted graph or component of which the recorder never saw anything."""
    seen = {(life.last.kind, life.last.name) for life in history.lives.values()
            if life.last.namespace == history.namespace}  # fmt: skip
    for kind, graphs in (
        (GRAPH_KIND, look.checkpoint.graphs),
        (COMPONENT_KIND, look.checkpoint.components),
    ):
        for graph in graphs:
            if (kind, graph.name) not in seen:
                return f"{kind} {graph.name}"
    return ""


def unknown(
    checker: CheckerName, subject: str, message: str, checkpoint: Checkpoint | None = None
) -> Finding:
    """A finding that says that something could not be told."""
    return Finding(
        checker=checker,
        verdict=Verdict.UNKNOWN,
        subject=subject,
        message=message,
        step=checkpoint.steps[-1] if checkpoint is not None and checkpoint.steps else "",
        last_at=checkpoint.at if checkpoint is not None else None,
    )


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without those that say the same again of the same subject."""
    kept: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.checker, finding.subject, finding.message), finding)
    return tuple(kept.values())
