"""Kinds that the suite could not see, and what may not be concluded then.

A kind that checkers read by name is needed: without ReplicaSets no pod has a graph above it, without
LeaderWorkerSets a service seems to have no workload. Both what seems right and what seems wrong is
then unproven, so every checker that reads objects says `unknown`. Other kinds are only not covered;
that is said once, at the end of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from conformance.history.records import Unseen
from conformance.judge.case import Case
from conformance.judge.findings import CheckResult, finding
from conformance.model.children import Gang
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.kinds import WORKLOADS
from conformance.model.profile import Profile
from conformance.model.verdict import CheckerName, Verdict

# Checkers that read no object: what they say stays.
_WITHOUT_OBJECTS = frozenset({CheckerName.OPERATOR_HEALTH, CheckerName.VALIDITY})

_ALWAYS = frozenset(
    {(GRAPH_KIND, GROUP), ("Pod", ""), ("ReplicaSet", "apps"), ("Service", ""),
     ("StatefulSet", "apps")}
)  # fmt: skip


def needed(profile: Profile, unseen: Iterable[Unseen]) -> list[Unseen]:
    """Those of the unseen kinds that checkers read by name, in order of name."""
    wanted = {*_ALWAYS, *((row.kind, row.group) for row in WORKLOADS.values())}
    if profile.supports(Feature.COMPONENT):
        wanted.add((COMPONENT_KIND, GROUP))
    gang = profile.multinode.gang_kind if profile.multinode.gang is not Gang.NONE else ""
    marks = {
        mark.resource: mark
        for mark in unseen
        if (mark.kind, mark.group) in wanted or (gang and mark.kind == gang)
    }
    return [marks[resource] for resource in sorted(marks)]


def blinded(
    case: Case, results: Mapping[CheckerName, CheckResult]
) -> dict[CheckerName, CheckResult]:
    """The results as they are if all needed kinds were seen. Else those of checkers that read
    objects are `unknown` without a finding, and validity alone says why."""
    lost = needed(case.profile, case.history.unseen)
    if not lost:
        return dict(results)
    reason = f"{', '.join(mark.kind for mark in lost)} may not be seen"
    made = {
        name: result
        if name in _WITHOUT_OBJECTS
        else CheckResult(checker=name, looked_at=result.looked_at, blind=reason)
        for name, result in results.items()
    }
    first = finding(
        CheckerName.VALIDITY, Verdict.UNKNOWN, f"kind/{lost[0].kind}",
        f"{reason} by the suite ({lost[0].reason}), so nothing that rests on objects can be judged; "
        "give its user the right to list and watch",
        kinds=[mark.resource for mark in lost],
    )  # fmt: skip
    validity = made[CheckerName.VALIDITY]
    made[CheckerName.VALIDITY] = dataclasses.replace(validity, findings=(first,))
    return made
