"""The ConformanceReport: a versioned, typed document that says what was run and what it showed, with
a digest of each stored history, so that its claims can be computed again."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from pydantic import Field

from conformance.model.explained import Explained
from conformance.model.field_types import Strict
from conformance.model.profile import Identity
from conformance.model.run_cases import PREFIX
from conformance.model.verdict import CheckerName, Outcome, Verdict

API_VERSION: Literal["conformance.dgd.dev/v1alpha2"] = "conformance.dgd.dev/v1alpha2"


class Summary(enum.StrEnum):
    """The verdict of a whole run."""

    CONFORMS = "conforms"
    PARTIAL = "partial"
    """No violation, but not everything was tried: known failures, changed bounds, or required cases
    that were deselected or not supported. Required are those of the core (topology changes, restarts)
    and all others that the profile does not leave out with a reason."""
    UNKNOWN = "unknown"
    VIOLATES = "violates"


class NotRun(Explained):
    """Why a case has no verdict."""

    UNSUPPORTED = "unsupported", "The profile or the live cluster lacks a feature that it needs."
    DESELECTED = "deselected", "The person who ran the suite left it out."
    NOTHING_TO_JUDGE = "nothing-to-judge", "No case came to rest, say."


class ConcessionKind(Explained):
    """How a profile has less judged, or more allowed."""

    RETAINED = "retained-object", "Objects that may outlive a graph."
    MASK = "mask", "Fields in which a changed and a freshly deployed graph may differ."
    FIDELITY_EXCEPTION = (
        "fidelity-exception",
        "Fields that the user set and the operator may change.",
    )
    SERVICE_RULE = "service-rule", "Services whose pods are not judged."
    ROLLOUT = "rollout", "A status that excuses two generations of a workload."
    REFUSAL_WORD = "refusal-word", "Words that make a refusal clear without field or service."
    RESERVED_LABEL = "reserved-label", "Prefixes of a user's labels that need not reach the pods."
    STATUS = "status", "Parts of the status that are not read, or read elsewhere."
    EITHER_PROMISE = "either-promise", "Changes that the operator may reconcile or refuse."
    UNDECLARED_FEATURE = "undeclared-feature", "Features whose cases were not run."
    KNOWN_FAILURE = "known-failure", "Violations that do not fail the run."

    @property
    def noun(self) -> str:
        """How a sentence names one of them: `retained object`."""
        return "status exception" if self is ConcessionKind.STATUS else self.replace("-", " ")


class Concession(Strict):
    """What the profile concedes, with the reason that it gives."""

    kind: ConcessionKind
    what: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.what} ({self.reason})" if self.reason else self.what


class Deviation(Strict):
    """A bound that is not the default: such a run proves less than the suite claims."""

    value: float
    default: float


class ReportedFinding(Strict):
    """One gating or reported finding. Times are seconds since the epoch."""

    checker: CheckerName
    verdict: Verdict
    subject: str
    message: str
    step: str = ""
    first_at: float | None = None
    last_at: float | None = None
    known_failure: str = ""
    """Link of the known failure that this is, empty if it is not one."""

    @property
    def gates(self) -> bool:
        return self.verdict is not Verdict.CONFORMS and not self.known_failure


class StepResult(Strict):
    """How one step ended."""

    name: str
    outcome: Outcome
    door: str = ""
    judged: bool = True
    seconds: float | None = None
    """From the API's answer to the instant from which everything matched; None if it never did."""


class HistoryFile(Strict):
    """A stored history, relative to the report's folder."""

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Attempt(Strict):
    """An earlier look at a case, which could not decide it. `duration` is in seconds."""

    verdict: Verdict
    why: str
    """What kept it from being decided."""
    sentence: str = ""
    duration: float = 0.0
    history: HistoryFile | None = None


class CaseResult(Strict):
    """What one case showed. `duration` is in seconds, from its start to its judgement."""

    id: str
    feature: str
    title: str = ""
    operator: str = ""
    nodeid: str = ""
    """The id by which pytest runs it again."""
    verdict: Verdict | None = None
    """As judged, known failures included; None if the case was not run."""
    outcome: Outcome | None = None
    steps: list[StepResult] = []
    findings: list[ReportedFinding] = []
    duration: float = 0.0
    error: str = ""
    """What kept the suite from judging the case; the verdict is then at best unknown."""
    not_run: NotRun | None = None
    reason: str = ""
    """Why the case was not run."""
    required: bool = True
    """False if the case was not run because it needs an API version or a kind that is not served, or
    a feature that the profile leaves out with a reason. That makes no run partial."""
    unexpected_passes: list[str] = []
    """Links of known failures that this case did not show: the profile is out of date."""
    history: HistoryFile | None = None
    attempts: list[Attempt] = []
    """Looks at the case before this one, which is the one that stands."""
    shards: list[CaseResult] = []
    """In a merged report, of a judgement of the whole run: what the run of each shard showed."""

    @property
    def of_run(self) -> bool:
        """True if it judges the whole run and no test is behind it: each shard has one of its own."""
        return self.id.startswith(PREFIX) and not self.nodeid

    @property
    def histories(self) -> list[HistoryFile]:
        """Its stored history, and those of earlier looks and of each shard."""
        found = [one.history for one in (self, *self.shards)]
        found += [one.history for one in self.attempts]
        return [history for history in found if history is not None]

    @property
    def known(self) -> bool:
        """True if known failures are all that keeps it from conforming."""
        found = [f for f in self.findings if f.verdict is not Verdict.CONFORMS]
        return bool(found) and not self.error and not any(f.gates for f in found)

    @property
    def gates(self) -> bool:
        """True if this case makes the run fail."""
        failed = self.verdict is not Verdict.CONFORMS and not self.known
        return self.not_run is None and (failed or bool(self.unexpected_passes))

    @property
    def sentence(self) -> str:
        """Why it fails: the message of the worst finding that is not known, else the error."""
        gating = [finding for finding in self.findings if finding.gates]
        if gating:
            return max(gating, key=lambda finding: finding.verdict.rank).message
        links = ", ".join(self.unexpected_passes)
        if self.error or not links:
            return self.error
        return f"it passed, but the profile lists it as a known failure ({links}); remove the entry"


class Statistics(Strict):
    """Counts of cases. The first five after `cases` add up to it; the rest are within the others."""

    cases: int = 0
    conforms: int = 0
    violates: int = 0
    unknown: int = 0
    known_failures: int = 0
    not_run: int = 0
    unexpected_passes: int = 0
    unsupported: int = 0
    """Not run, because the profile does not declare what they need."""
    second_looks: int = 0
    """Decided only when they were run again alone; counted among the above by what that showed."""
    required_not_run: int = 0
    """Not run, although the operator has to pass them: such a run is partial."""


class ConformanceReport(Strict):
    """What was run, and what it showed. `verify.problems` checks its counts, verdict and digests."""

    apiVersion: Literal["conformance.dgd.dev/v1alpha2"] = API_VERSION  # noqa: N815 - Kubernetes' spelling
    kind: Literal["ConformanceReport"] = "ConformanceReport"
    date: str
    """When the run ended, ISO 8601 in UTC."""
    operator: Identity
    profile_sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Digest of the profile's file, as sha256sum prints it."""
    concessions: list[Concession] = []
    """Everything in the profile that has less judged, or more allowed."""
    versions: dict[str, str] = {}
    """suite, python, kubernetes, etcd, lws, kwok: what really ran."""
    options: dict[str, str] = {}
    """Options of the run that were given, as given."""
    bounds: dict[str, float] = {}
    """Every bound of the run; times in seconds."""
    deviations: dict[str, Deviation] = {}
    cluster: str = ""
    cluster_admin: bool = False
    """True if the operator ran as cluster admin instead of under RBAC of its own."""
    verdict: Summary
    statistics: Statistics
    cases: list[CaseResult]
