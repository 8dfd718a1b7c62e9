"""Verdicts, outcomes, checkers and findings: what a judgement consists of."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.model.explained import Explained


class Verdict(enum.StrEnum):
    """What a checker, a case or a run concludes. `unknown` is never a pass."""

    CONFORMS = "conforms"
    UNKNOWN = "unknown"
    VIOLATES = "violates"

    @property
    def rank(self) -> int:
        """0 is best. A violation outranks an unknown: it was seen, whatever else was missed."""
        return tuple(Verdict).index(self)


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


class CheckerName(Explained):
    """Every checker by the name that profiles, reports and known failures use."""

    # In the order in which a person reads them. A refusal comes early: it says what is wrong better
    # than all that may follow from it.
    COEXISTENCE = "coexistence", "At rest, a service has workloads of one kind and one generation."
    REFUSAL = (
        "refusal",
        "A rejected change moves nothing, whatever method and API version it came by.",
    )
    ORPHANS = "orphans", "Every object that the case brought is owned by something still wanted."
    SIZE = "size", "Replicas or groups, group size, pods and gang minimum are as the graph says."
    SELECTORS = "selectors", "The Service of a component selects exactly its own ready pods."
    STATUS_TRUTH = (
        "status-truth",
        "What the status says of graph and services was true when written.",
    )
    FOREIGN = "foreign", "Objects of others, and graphs that nobody changed, are left alone."
    DELETION = "deletion", "Nothing of a deleted graph stays or comes back, but retained objects."
    QUIESCENCE = "quiescence", "The operator stops writing once there is nothing left to do."
    AVAILABILITY = "availability", "As many pods are ready as the rollout strategy promises."
    FIDELITY = "fidelity", "Everything that the user wrote for a service reaches its pods."
    EQUIVALENCE = (
        "equivalence",
        "A changed graph ends in the same state as a fresh deployment of it.",
    )
    RESTART = "restart", "A restart of the operator rewrites no child and ends in the same state."
    OPERATOR_HEALTH = "operator-health", "The operator neither exits nor panics on its own."
    VALIDITY = "validity", "The recorded history is complete enough to prove anything at all."

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
    """What a checker found. Times are seconds since the epoch."""

    checker: CheckerName
    verdict: Verdict
    """CONFORMS marks a fact that is only reported, such as the length of an allowed overlap."""
    subject: str
    """`Kind/name` of the object, or the service or graph, on which known failures match."""
    message: str
    """One sentence that names objects, owner, creator and times."""
    graph: str = ""
    step: str = ""
    first_at: float | None = None
    last_at: float | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gates(self) -> bool:
        """True if this finding keeps the case from conforming."""
        return self.verdict is not Verdict.CONFORMS
