"""Findings, verdicts and outcomes: the words in which a judgement is given."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Verdict(enum.StrEnum):
    """What a checker, a case or a run concludes. The worst one wins; `unknown` is never a pass."""

    CONFORMS = "conforms"
    UNKNOWN = "unknown"
    VIOLATES = "violates"

    @property
    def rank(self) -> int:
        """0 is best. A violation outranks an unknown: it was seen, whatever else was missed."""
        return _RANK[self]


_RANK = {Verdict.CONFORMS: 0, Verdict.UNKNOWN: 1, Verdict.VIOLATES: 2}


def worst(verdicts: Iterable[Verdict], *, empty: Verdict = Verdict.UNKNOWN) -> Verdict:
    """The worst of the verdicts; `empty` if there is none, since nothing judged proves nothing."""
    return max(verdicts, key=lambda verdict: verdict.rank, default=empty)


class Outcome(enum.StrEnum):
    """How a step ended, as derived from the history (design: reconcile or refuse)."""

    RECONCILED = "reconciled"
    REFUSED = "refused"
    BLOCKED = "blocked"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not-applicable"


class CheckerName(enum.StrEnum):
    """Every checker by the name that profiles, reports and known failures use."""

    COEXISTENCE = "coexistence"
    ORPHANS = "orphans"
    SIZE = "size"
    SELECTORS = "selectors"
    STATUS_TRUTH = "status-truth"
    REFUSAL = "refusal"
    FOREIGN = "foreign"
    QUIESCENCE = "quiescence"
    AVAILABILITY = "availability"
    FIDELITY = "fidelity"
    DELETION = "deletion"
    EQUIVALENCE = "equivalence"
    RESTART = "restart"
    OPERATOR_HEALTH = "operator-health"
    VALIDITY = "validity"
    """Whether the history is good enough to prove anything at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a checker has to say.

    `verdict` VIOLATES or UNKNOWN gates; CONFORMS marks a fact that is reported and does not gate
    (for example the exact length of an allowed overlap). `subject` is `Kind/name` of the object, or
    the service or graph, that the finding is about; known failures match on it. `message` is one
    sentence that names objects, owner, creator and times. Times are seconds since the epoch.
    """

    checker: CheckerName
    verdict: Verdict
    subject: str
    message: str
    graph: str = ""
    step: str = ""
    first_at: float | None = None
    last_at: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gates(self) -> bool:
        """True if this finding keeps the case from conforming."""
        return self.verdict is not Verdict.CONFORMS
