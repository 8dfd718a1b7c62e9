"""Exemptions that a profile may claim, and those that it may not: one that excuses everything would
make `conforms` mean nothing.

The report lists each of them (`conformance.report.concessions`), so that a reader can disagree.
"""

from __future__ import annotations

import enum
import fnmatch
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from conformance.model.field_types import Expression, Reason, Strict, Url
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import POD_GROUP, WORKLOADS
from conformance.model.verdict import CheckerName

LONGEST_ROLLOUT = 300.0
"""Seconds for which a rollout may be excused. A case waits for two deadlines (60 s) at most, so a
longer bound would excuse anything; this is five times that, for machines that need
--timeout-factor=5."""

_NEVER_RETAINED = frozenset(
    {
        *WORKLOADS, "ReplicaSet", "DaemonSet", "Job", "CronJob", "Pod", "PodClique",
        "PodCliqueScalingGroup", "PodGang", POD_GROUP, GRAPH_KIND, COMPONENT_KIND,
    }
)  # fmt: skip
"""Kinds that run pods, hold resources for them, or are the graph itself: the suite exists to find
those that are left over."""

_IMAGE = ("spec", "containers", "main", "image")
_NEVER_MASKED = tuple(
    ".".join(path)
    for row in WORKLOADS.values()
    for path in (row.groups, row.size, *((*t.path, *_IMAGE) for t in row.templates), _IMAGE)
    if path is not None
)
"""How many pods there are, and what they run."""

_LITERAL = 3
"""Letters and digits in a row that a pattern with wildcards must hold."""

_USERS_KEY = "example.com/note"
"""A key such as the suite puts on graphs and pods in the user's name."""

_ANY_REFUSALS = (
    "",
    'admission webhook "validate.example.com" denied the request: no',
    'DynamoGraphDeployment.nvidia.com "agg" is invalid: spec: Forbidden: no',
)
"""Refusals that say nothing of what was refused."""

_OVER = frozenset(
    {"", "complete", "completed", "done", "idle", "none", "ready", "succeeded", "successful"}
)
"""Status values that mean, in lower case, that a rollout is over."""


def _names_something(pattern: str) -> str:
    """Raises ValueError for an empty pattern, and for one that is little but wildcards."""
    plain = re.sub(r"\[[^\]]*\]", "*", pattern)
    literal = max((len(run) for run in re.findall(r"[A-Za-z0-9{}]+", plain)), default=0)
    if not pattern or (set(plain) & set("*?") and literal < _LITERAL):
        raise ValueError(
            "would match nearly everything; expected a name, or a pattern that holds at least "
            f"{_LITERAL} letters or digits in a row"
        )
    return pattern


def _masks_no_essential(path: str) -> str:
    hidden = [
        field
        for field in _NEVER_MASKED
        if fnmatch.fnmatchcase(field, path) or field.startswith(f"{path}.")
    ]
    if hidden:
        raise ValueError(
            f"would hide {hidden[0]}; a mask may not cover how many pods there are or what they run"
        )
    return path


def _word_of_its_own(expression: str) -> str:
    if any(re.search(expression, text) for text in _ANY_REFUSALS):
        raise ValueError("would match any refusal; expected words of this operator's own")
    return expression


def _not_the_users(prefix: str) -> str:
    if _USERS_KEY.startswith(prefix.strip()):
        raise ValueError(
            "would cover the keys that the suite writes as a user; expected a prefix of the "
            "operator's own, such as nvidia.com/"
        )
    return prefix


def _name_template(text: str) -> str:
    try:
        text.format(component="", graph="", service="")
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError("may name {component}, {graph} and {service} only") from error
    return text


Pattern = Annotated[str, AfterValidator(_names_something)]
RefusalWord = Annotated[Expression, AfterValidator(_word_of_its_own)]
ReservedPrefix = Annotated[str, AfterValidator(_not_the_users)]


class Overlap(Strict):
    """Whether the old and the new workload of a service may exist side by side before the deadline."""

    allowed: bool = True
    reason: str = "new before old keeps the service answering"


class Rollout(Strict):
    """A status that announces a rollout, which then excuses two generations for some time."""

    path: Annotated[list[str], Field(min_length=2)]
    """Path in the graph, such as [status, rollingUpdate, phase]."""
    values: Annotated[list[str], Field(min_length=1)]
    bound: Annotated[float, Field(gt=0, le=LONGEST_ROLLOUT)] = 60.0
    """Seconds that the rollout may last."""

    @model_validator(mode="after")
    def _tells_of_a_rollout(self) -> Rollout:
        if self.path[0] != "status":
            raise ValueError("`path` must start with status: nothing else tells of a rollout")
        over = [value for value in self.values if value.strip().lower() in _OVER]
        if over:
            raise ValueError(f"`values` lists {over[0]!r}: a rollout that is over excuses nothing")
        return self


class ServiceClass(enum.StrEnum):
    """What a Service of the operator is for, and so which pods it must select."""

    COMPONENT = "component"
    """All ready routable pods of its own service, and no others."""
    SHARED = "shared"
    """Pods of several services or graphs; which ones is not judged."""
    DEBUG = "debug"
    """May select nothing."""


class ServiceRule(Strict):
    """How one class of Service is recognised. The first rule that matches decides.

    A rule of another class than `component` takes Services out of judgement, so it needs a reason,
    and may not match a Service of its component's own name.
    """

    use: ServiceClass
    name: Annotated[str, AfterValidator(_name_template)] = ""
    """Template over {component}, {graph}, {service} (lower case) with `*` as wildcard."""
    labels: dict[str, str] = {}
    """Labels that the Service carries."""
    reason: str = ""

    @model_validator(mode="after")
    def _leaves_the_component_service(self) -> ServiceRule:
        if self.use is ServiceClass.COMPONENT:
            return self
        if not self.reason:
            raise ValueError(f"use {self.use} needs a `reason`: its pods are then not judged")
        if not self.labels:
            if not self.name:
                raise ValueError(f"use {self.use} needs a `name` or `labels`; else it matches all")
            _names_something(self.name)
            name = self.name.format(component="agg-worker", graph="agg", service="worker")
            if fnmatch.fnmatchcase("agg-worker", name):
                raise ValueError(
                    f"use {self.use} with the name {self.name!r} would match every component's own "
                    "Service; expected a narrower name, or `labels`"
                )
        return self


class Retained(Strict):
    """An object that may outlive a graph. `name` may have `*` as wildcard."""

    kind: str
    name: Pattern
    reason: Reason

    @model_validator(mode="after")
    def _is_no_child_of_a_graph(self) -> Retained:
        if self.kind in _NEVER_RETAINED:
            raise ValueError(
                f"a {self.kind} may not outlive its graph, whatever its name; expected a kind that "
                "runs no pods and holds nothing for them"
            )
        return self


class Mask(Strict):
    """A field in which a transitioned and a fresh state may differ. `path` has `*` as wildcard."""

    kind: str = "*"
    path: Annotated[Pattern, AfterValidator(_masks_no_essential)]
    reason: Reason


class FidelityException(Strict):
    """A field of the user that the operator may change, and in which shape."""

    field: Pattern
    shape: Literal["single", "multinode", "both"] = "both"
    reason: Reason


class StatusNames(Strict):
    """Where the status of a graph says what."""

    ready_condition: str = "Ready"
    service_maps: list[str] = ["components", "services"]
    """Keys of status under which a map service → state may stand. One that is not there claims
    nothing, so the default suits an operator that has neither."""
    reason: str = ""
    """Why there are no `service_maps`, if the list is empty."""

    @model_validator(mode="after")
    def _says_why_nothing_is_read(self) -> StatusNames:
        if not self.service_maps and not self.reason:
            raise ValueError(
                "an empty `service_maps` needs a `reason`: what the status says of services is then "
                "not judged"
            )
        return self


class KnownFailure(Strict):
    """A violation that is known and reported. Anything else still fails, and so does an unexpected
    pass."""

    case: str
    """Case id as printed, `*` as wildcard."""
    checker: CheckerName
    subject: str = "*"
    link: Url
    """The public issue."""
    sometimes: bool = False
    """Only for a case marked as a race."""
