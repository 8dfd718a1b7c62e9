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
    """How a step ended, as derived from the history."""

    RECONCILED = "reconciled"
    REFUSED = "refused"
    BLOCKED = "blocked"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    NOT_APPLICABLE = "not-applicable"


class CheckerName(enum.StrEnum):
    """Every checker by the name that profiles, reports and known failures use."""

    # The order is the one in which a person reads them. A refusal comes early: it says what is
    # wrong better than all that may follow from it.

    meaning: str
    """What the checker proves, in one sentence."""

    def __new__(cls, name: str, meaning: str) -> CheckerName:
        """A member from its entry below; the value is the name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning = meaning
        return member

    COEXISTENCE = (
        "coexistence",
        "At rest, a service has workloads of one kind and one generation only.",
    )
    REFUSAL = (
        "refusal",
        "A rejected change moves nothing, and every method and API version gives the same answer.",
    )
    ORPHANS = (
        "orphans",
        "Every object that appeared in the case is owned by something that is still wanted.",
    )
    SIZE = (
        "size",
        "Replicas or groups, group size, pods and gang minimum are what the graph says.",
    )
    SELECTORS = (
        "selectors",
        "The Service of a component selects exactly its own ready pods.",
    )
    STATUS_TRUTH = (
        "status-truth",
        "Whatever the status says of the graph and its services was true when it was written.",
    )
    FOREIGN = (
        "foreign",
        "Objects of others, and of graphs that nobody changed, are left alone.",
    )
    DELETION = (
        "deletion",
        "Nothing of a deleted graph is left, or comes back, except retained objects.",
    )
    QUIESCENCE = (
        "quiescence",
        "The operator stops writing once there is nothing left to do.",
    )
    AVAILABILITY = (
        "availability",
        "No fewer pods are ready than the rollout strategy of the workload allows.",
    )
    FIDELITY = (
        "fidelity",
        "Everything that the user wrote for a service reaches its pods.",
    )
    EQUIVALENCE = (
        "equivalence",
        "A changed graph ends in the same state as a fresh deployment of the same graph.",
    )
    RESTART = (
        "restart",
        "A restart of the operator alone rewrites no child and ends in the same state.",
    )
    OPERATOR_HEALTH = (
        "operator-health",
        "The operator neither exits nor panics on its own.",
    )
    VALIDITY = (
        "validity",
        "The recorded history is complete enough to prove anything at all.",
    )

    @property
    def module(self) -> str:
        """Name of its module in `conformance.judge.checks`."""
        return self.replace("-", "_")

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        """Published schemas say what each name means."""
        names = [{"const": name.value, "description": name.meaning} for name in cls]
        return {"title": cls.__name__, "description": cls.__doc__, "oneOf": names}


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
