"""Validity: is the history good enough to prove anything? What is found here is `unknown`."""

from __future__ import annotations

from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.common import blind_spots, unknown
from conformance.judge.checks.looks import Look, looks
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import DEPLOYMENT
from conformance.model.profile import Feature
from conformance.model.verdict import CheckerName, Finding

NAME = CheckerName.VALIDITY


def check(history: History) -> CheckResult:
    """Judged checkpoints, their proof by lists, and gaps."""
    findings: list[Finding] = []
    if not any(checkpoint.judged for checkpoint in history.checkpoints):
        text = "no checkpoint of this case is judged, so nothing is proven"
        findings.append(unknown(NAME, "history", text))
    for checkpoint in history.checkpoints:
        if checkpoint.end is CheckpointEnd.INTERRUPTED:
            text = f"{checkpoint.name} was interrupted before the state could be judged"
            findings.append(unknown(NAME, checkpoint.name, text, checkpoint))
    judged = [step.name for step in history.steps if step.judged]
    covered = {name for checkpoint in history.checkpoints for name in checkpoint.steps}
    for name in judged:
        if name not in covered:
            text = f"step {name} has no checkpoint, so what became of it is not proven"
            findings.append(unknown(NAME, f"step/{name}", text))
    seen = looks(history)
    for look in seen:
        findings += _proof(history, look)
    findings += blind_spots(history, seen, NAME)
    return CheckResult(checker=NAME, findings=tuple(findings), looked_at=len(history.checkpoints))


def _proof(history: History, look: Look) -> list[Finding]:
    checkpoint = look.checkpoint
    findings = [
        unknown(
            NAME, f"kind/{kind}",
            f"a list of {kind} at {checkpoint.name} differs from the record: {difference}", checkpoint,
        )
        for kind, difference in checkpoint.disagreed.items()
    ]  # fmt: skip
    # Keys may carry the group behind the kind, as in `Deployment.apps`.
    listed = {kind.partition(".")[0] for kind in (*checkpoint.verified, *checkpoint.disagreed)}
    missing = sorted(_needed(history) - listed) if checkpoint.judged else []
    if missing:
        text = (
            f"{', '.join(missing)} was not listed at {checkpoint.name}, so the record is not proven"
        )
        findings.append(unknown(NAME, checkpoint.name, text, checkpoint))
    return findings


def _needed(history: History) -> set[str]:
    profile = history.profile
    kinds = {GRAPH_KIND, COMPONENT_KIND, DEPLOYMENT, "Pod", "Service"}
    if profile.supports(Feature.MULTINODE):
        kinds.add(profile.multinode.kind)
    return kinds if profile.supports(Feature.COMPONENT) else kinds - {COMPONENT_KIND}
