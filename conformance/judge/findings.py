"""Findings and results of checkers: how one is made, and what keeps a doubt from becoming a pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from conformance.judge.wording import subject
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one checker concluded of one history.

    `looked_at` counts what it had to look at; 0 with no finding means it did not apply to this
    case. One that should have had something to look at says so with an UNKNOWN finding. `blind`
    says why it could not see at all: its verdict is then `unknown`, and the validity checker has
    the finding.
    """

    checker: CheckerName
    findings: tuple[Finding, ...] = ()
    looked_at: int = 0
    blind: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """The worst finding; unknown if it is blind; conforms if it looked at something and
        found nothing; None if it did not apply."""
        if self.blind:
            return Verdict.UNKNOWN
        gating = [finding.verdict for finding in self.findings if finding.gates]
        if gating:
            return max(gating, key=lambda verdict: verdict.rank)
        return Verdict.CONFORMS if self.looked_at else None


def finding(
    checker: CheckerName,
    verdict: Verdict,
    about: Obj | str,
    message: str,
    *,
    graph: str = "",
    step: str = "",
    first_at: float | None = None,
    last_at: float | None = None,
    **evidence: Any,
) -> Finding:
    """A finding about an object, or about what is named in text. Times are seconds since the epoch."""
    return Finding(
        checker=checker,
        verdict=verdict,
        subject=subject(about) if isinstance(about, Obj) else about,
        message=message,
        graph=graph,
        step=step,
        first_at=first_at,
        last_at=last_at,
        evidence=evidence,
    )


def blame(writer: Actor) -> Verdict:
    """What a wrong write means: a violation if the operator made it, else nothing is proven."""
    return Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN


def or_doubts(found: Iterable[Finding], doubts: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings; and if none of them gates, what was doubtful, since a pass must be proven."""
    findings = list(found)
    if not any(one.gates for one in findings):
        findings += doubts()
    return findings
