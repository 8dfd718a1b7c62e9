"""The ConformanceReport: a versioned, typed document that says what was run and what it showed.

It holds what other suites' reports lack: durations, effective bounds, options, versions, the text
of each finding, and a digest of each stored history, so that its claims can be computed again.
"""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from conformance.model.verdict import CheckerName, Outcome, Verdict

API_VERSION: Literal["conformance.dgd.dev/v1alpha1"] = "conformance.dgd.dev/v1alpha1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Summary(enum.StrEnum):
    """What the whole run says. `partial` is no pass of everything and never called conforms."""

    CONFORMS = "conforms"
    PARTIAL = "partial"
    """Known failures, changed bounds, or required cases that were not run or not supported: those of
    the core (topology changes, restarts), and others that the profile leaves out without a reason."""
    UNKNOWN = "unknown"
    VIOLATES = "violates"


class NotRun(enum.StrEnum):
    """Why a case has no verdict."""

    UNSUPPORTED = "unsupported"
    """The operator's profile, or the live cluster, lacks a feature that the case needs."""
    DESELECTED = "deselected"
    """The person who ran the suite left it out."""
    NOTHING_TO_JUDGE = "nothing-to-judge"
    """No case came to rest, say."""


class ConcessionKind(enum.StrEnum):
    """In what way a profile has less judged, or more allowed."""

    RETAINED = "retained-object"
    """Objects that may outlive a graph."""
    MASK = "mask"
    """Fields in which a changed and a freshly deployed graph may differ."""
    FIDELITY_EXCEPTION = "fidelity-exception"
    """Fields of the user's that the operator may change."""
    SERVICE_RULE = "service-rule"
    """Services whose pods are not judged."""
    ROLLOUT = "rollout"
    """A status that excuses two generations of a workload."""
    REFUSAL_WORD = "refusal-word"
    """Words by which a refusal may go that names neither field nor service."""
    RESERVED_LABEL = "reserved-label"
    """Prefixes under which a user's labels are not looked for, beyond the default."""
    STATUS = "status"
    """What the status says and is not read, or read elsewhere."""
    EITHER_PROMISE = "either-promise"
    """Kinds of change of which nothing is promised."""
    UNDECLARED_FEATURE = "undeclared-feature"
    """Features whose cases were not run."""
    KNOWN_FAILURE = "known-failure"
    """Violations that do not fail the run."""

    @property
    def noun(self) -> str:
        """As text names one of them."""
        if self is ConcessionKind.STATUS:
            return "status exception"
        return self.replace("-", " ")


class Concession(_Part):
    """One of them, as the profile says it. `reason` is the profile's own."""

    kind: ConcessionKind
    what: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.what} ({self.reason})" if self.reason else self.what


class OperatorIdentity(_Part):
    """Who was under test, as its profile says."""

    name: str
    title: str = ""
    organization: str = ""
    url: str = ""
    version: str = ""


class Deviation(_Part):
    """A bound that is not the default; such a run proves less, or other, than the suite claims."""

    value: float
    default: float


class ReportedFinding(_Part):
    """One gating or reported finding. Times are seconds since the epoch."""

    checker: CheckerName
    verdict: Verdict
    subject: str
    message: str
    step: str = ""
    first_at: float | None = None
    last_at: float | None = None
    known: str = ""
    """Link of the known failure that this is, empty if it is not one."""

    @property
    def gates(self) -> bool:
        """True if it keeps the case from passing: not merely reported, and not known."""
        return self.verdict is not Verdict.CONFORMS and not self.known


class StepResult(_Part):
    """How one step ended."""

    name: str
    outcome: Outcome
    door: str = ""
    judged: bool = True
    seconds: float | None = None
    """From the API's answer to the checkpoint from which everything matched; None if it never did."""


class HistoryFile(_Part):
    """A stored history, relative to the report's folder."""

    path: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class CaseResult(_Part):
    """What one case showed. `duration` is in seconds, from its start to its judgement."""

    id: str
    feature: str
    title: str = ""
    operator: str = ""
    node: str = ""
    """The id by which pytest runs it again."""
    verdict: Verdict | None = None
    """As judged, known failures included; None if it was not run."""
    outcome: Outcome | None = None
    steps: list[StepResult] = []
    findings: list[ReportedFinding] = []
    duration: float = 0.0
    error: str = ""
    """What kept the suite from judging it; the verdict is then at best unknown."""
    not_run: NotRun | None = None
    reason: str = ""
    """Why it was not run."""
    required: bool = True
    """False: it was not run since the operator cannot have what it needs, and no run is partial for
    that: an API version or a kind that is not served, or a feature left out with a reason."""
    unexpected_passes: list[str] = []
    """Links of known failures of this case that did not show: the profile is out of date."""
    history: HistoryFile | None = None
    parts: list[CaseResult] = []
    """In a merged report, of a judgement of the whole run: what each shard's run showed."""

    @property
    def known(self) -> bool:
        """True if it does not conform, and known failures are all that is wrong with it."""
        found = [f for f in self.findings if f.verdict is not Verdict.CONFORMS]
        return bool(found) and not self.error and not any(f.gates for f in found)

    @property
    def gates(self) -> bool:
        """True if this case makes the run fail."""
        if self.not_run is not None:
            return False
        failed = self.verdict is not Verdict.CONFORMS and not self.known
        return failed or bool(self.unexpected_passes)

    @property
    def sentence(self) -> str:
        """Why it fails, in one sentence: the worst finding that is not known, else the error."""
        gating = sorted((f for f in self.findings if f.gates), key=lambda f: -f.verdict.rank)
        if gating:
            return gating[0].message
        if self.error:
            return self.error
        if self.unexpected_passes:
            links = ", ".join(self.unexpected_passes)
            return (
                f"passed although the profile calls it a known failure ({links}); remove that entry"
            )
        return ""


class Statistics(_Part):
    """Counts of cases. The first five after `cases` add up to it; the rest are within the others."""

    cases: int = 0
    conforms: int = 0
    violates: int = 0
    unknown: int = 0
    known_failures: int = 0
    not_run: int = 0
    unexpected_passes: int = 0
    unsupported: int = 0
    """Not run, since the profile does not declare what they need."""
    lacking: int = 0
    """Not run, though the operator would have to pass them: such a run is partial."""


class ConformanceReport(_Part):
    """The document. `verify` says whether its own counts, verdict and digests are true."""

    apiVersion: Literal["conformance.dgd.dev/v1alpha1"] = API_VERSION  # noqa: N815 - Kubernetes' spelling
    kind: Literal["ConformanceReport"] = "ConformanceReport"
    date: str
    """When the run ended, ISO 8601 in UTC."""
    operator: OperatorIdentity
    profile_sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Digest of the profile's file, as sha256sum prints it."""
    concessions: list[Concession] = []
    """Everything by which the profile has less judged, or more allowed, than without it."""
    versions: dict[str, str] = {}
    """suite, python, kubernetes, etcd, lws, kwok: what was really running."""
    options: dict[str, str] = {}
    """Options of the run that were given, as given."""
    bounds: dict[str, float] = {}
    """Every bound that was in force; times in seconds."""
    deviations: dict[str, Deviation] = {}
    cluster: str = ""
    admin: bool = False
    """True if the operator ran as cluster admin instead of under RBAC of its own."""
    verdict: Summary
    statistics: Statistics
    cases: list[CaseResult]
