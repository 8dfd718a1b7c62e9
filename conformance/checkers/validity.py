"""Validity: is the history good enough to prove anything? What is found here is `unknown`."""

from __future__ import annotations

from conformance.checkers.base import CheckResult
from conformance.checkers.common import blind_spots, unknown
from conformance.checkers.looks import Look, looks
from conformance.history.history import History
from conformance.history.records import MomentEnd
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import DEPLOYMENT
from conformance.model.profile import Feature
from conformance.model.verdict import CheckerName, Finding

NAME = CheckerName.VALIDITY


def check(history: History) -> CheckResult:
    """Judged moments, their proof by lists, and gaps."""
    findings: list[Finding] = []
    if not any(moment.judged for moment in history.moments):
        text = "no verdict moment of this case is judged, so nothing is proven"
        findings.append(unknown(NAME, "history", text))
    for moment in history.moments:
        if moment.end is MomentEnd.INTERRUPTED:
            text = f"{moment.name} was interrupted before the state could be judged"
            findings.append(unknown(NAME, moment.name, text, moment))
    judged = [step.name for step in history.steps if step.judged]
    covered = {name for moment in history.moments for name in moment.steps}
    for name in judged:
        if name not in covered:
            text = f"step {name} has no verdict moment, so what became of it is not proven"
            findings.append(unknown(NAME, f"step/{name}", text))
    seen = looks(history)
    for look in seen:
        findings += _proof(history, look)
    findings += blind_spots(history, seen, NAME)
    return CheckResult(checker=NAME, findings=tuple(findings), looked_at=len(history.moments))


def _proof(history: History, look: Look) -> list[Finding]:
    moment = look.moment
    findings = [
        unknown(
            NAME, f"kind/{kind}",
            f"a list of {kind} at {moment.name} differs from the record: {difference}", moment,
        )
        for kind, difference in moment.disagreed.items()
    ]  # fmt: skip
    # Keys may carry the group behind the kind, as in `Deployment.apps`.
    listed = {kind.partition(".")[0] for kind in (*moment.verified, *moment.disagreed)}
    missing = sorted(_needed(history) - listed) if moment.judged else []
    if missing:
        text = f"{', '.join(missing)} was not listed at {moment.name}, so the record is not proven"
        findings.append(unknown(NAME, moment.name, text, moment))
    return findings


def _needed(history: History) -> set[str]:
    profile = history.profile
    kinds = {GRAPH_KIND, COMPONENT_KIND, DEPLOYMENT, "Pod", "Service"}
    if profile.supports(Feature.MULTINODE):
        kinds.add(profile.multinode.kind)
    return kinds if profile.supports(Feature.COMPONENT) else kinds - {COMPONENT_KIND}
