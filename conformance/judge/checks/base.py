"""What a checker is, and how its own failures are kept from becoming passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from conformance.history.history import History
from conformance.model.verdict import CheckerName, Finding, Verdict

CheckFunction = Callable[[History], "CheckResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one checker concluded of one history.

    `looked_at` counts what it had to look at (checkpoints, steps, objects); 0 with no finding means it
    did not apply to this case, and it then neither passes nor gates. A checker that should have had
    something to look at and had not says so with an UNKNOWN finding. `blind` says why it could not
    see at all: its verdict is then `unknown`, and the validity checker has the finding.
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


def run_checked(name: CheckerName, check: CheckFunction, history: History) -> CheckResult:
    """Run a checker; its own crash becomes an UNKNOWN finding, never a pass."""
    try:
        return check(history)
    except Exception as error:  # a crash proves nothing about the operator, so it must not pass
        finding = Finding(
            checker=name,
            verdict=Verdict.UNKNOWN,
            subject=f"checker/{name}",
            message=f"checker {name} crashed on this history: {type(error).__name__}: {error}; "
            "keep the history and report it as a bug of the suite",
        )
        return CheckResult(checker=name, findings=(finding,))
