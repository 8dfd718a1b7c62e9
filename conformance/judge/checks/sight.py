"""Kinds that the suite could not see, and what may not be concluded then.

A kind that checkers read by name is needed: without ReplicaSets no pod has a graph above it, without
LeaderWorkerSets a service seems to have no workload. Both what seems right and what seems wrong is
then unproven, so every checker that reads objects says `unknown`. Other kinds are only not covered;
that is said once, at the end of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from conformance.history.history import History
from conformance.history.records import Unseen
from conformance.judge.checks.base import CheckResult
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.kinds import WORKLOADS
from conformance.model.profile import Feature, Gang, Profile
from conformance.model.verdict import CheckerName, Finding, Verdict

# Checkers that read no object: what they say stays.
SIGHTLESS = frozenset({CheckerName.OPERATOR_HEALTH, CheckerName.VALIDITY})

_ALWAYS = {
    (GRAPH_KIND, GROUP),
    ("Pod", ""),
    ("ReplicaSet", "apps"),
    ("Service", ""),
    ("StatefulSet", "apps"),
    *((row.kind, row.group) for row in WORKLOADS.values()),
}


def needed(profile: Profile, unseen: Iterable[Unseen]) -> list[Unseen]:
    """Those of the unseen kinds that checkers read by name, in order of name."""
    wanted = set(_ALWAYS)
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
    history: History, results: Mapping[CheckerName, CheckResult]
) -> dict[CheckerName, CheckResult]:
    """The results as they are if all needed kinds were seen. Else those of checkers that read
    objects are `unknown` without a finding, and validity alone says why."""
    lost = needed(history.profile, history.unseen)
    if not lost:
        return dict(results)
    kinds = ", ".join(mark.kind for mark in lost)
    reason = f"{kinds} may not be seen"
    made = {
        name: result
        if name in SIGHTLESS
        else CheckResult(checker=name, looked_at=result.looked_at, blind=reason)
        for name, result in results.items()
    }
    validity = made[CheckerName.VALIDITY]
    first = Finding(
        checker=CheckerName.VALIDITY,
        verdict=Verdict.UNKNOWN,
        subject=f"kind/{lost[0].kind}",
        message=f"{reason} by the suite ({lost[0].reason}), so nothing that rests on objects can be "
        "judged; give its user the right to list and watch",
        evidence={"kinds": [mark.resource for mark in lost]},
    )
    made[CheckerName.VALIDITY] = dataclasses.replace(validity, findings=(first,))
    return made
