"""Fidelity: what the user wrote is on the children, in both shapes (containment).

Judged at each judged checkpoint that was reconciled or ran into its deadline, on the workloads' pod
templates and on the live pods: an image that never reached a pod is a finding too. Exceptions stand
in the profile, by field and shape, with a reason. At every judged checkpoint the graph itself must
still be what the user wrote.
"""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.history.records import CheckpointEnd
from conformance.judge.case import Case, CasePoint
from conformance.judge.checks.parts.users_graph import users_graph
from conformance.judge.compare.containment import Difference, pod_differences
from conformance.judge.findings import CheckResult, finding
from conformance.judge.sentences import origin
from conformance.judge.snapshot import ServiceSnapshot
from conformance.judge.wording import join, noun, seconds
from conformance.model.graph import GRAPH_KIND, Service
from conformance.model.kinds import WORKLOADS, takes_requests
from conformance.model.profile import Profile
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FIDELITY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A pod spec to compare, and the object that shows it. `leads` is False for the followers of a
    group, whose command is the operator's affair."""

    obj: Obj
    where: str = ""
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    leads: bool


def check(case: Case) -> CheckResult:
    """Compare every service with its workloads and pods at every judged checkpoint."""
    findings: list[Finding] = []
    looked_at = 0
    for point in case.judged:
        if point.interrupted:
            continue
        findings += users_graph(point)
        if point.checkpoint.blocked:
            continue
        for service in point.snapshot.services:
            shown = list(_shown(service))
            looked_at += len(shown)
            findings += _compared(point, service, shown)
        if not any(one.gates for one in findings):
            findings += _disagreed(point)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _disagreed(point: CasePoint) -> Iterator[Finding]:
    for kind, difference in point.checkpoint.disagreed.items():
        text = (
            f"The record of {kind} disagreed with a list at {point.name} ({difference}), so it is not "
            "known what the children carried"
        )
        yield finding(_NAME, Verdict.UNKNOWN, point.name, text, last_at=point.at)


def _shown(service: ServiceSnapshot) -> Iterator[_Shown]:
    """What there is to compare. At zero replicas no workload, or an empty one, is right; an empty one
    runs nothing."""
    if not service.service.groups:
        return
    for workload in service.right:
        rows = [] if workload.deleting else WORKLOADS[workload.kind].templates_of(workload)
        for place, template in rows:
            metadata = template.get("metadata") or {}
            yield _Shown(
                obj=workload, where=f" {place.name}", spec=template.get("spec") or {},
                labels=metadata.get("labels") or {}, annotations=metadata.get("annotations") or {},
                leads=place.leads,
            )  # fmt: skip
    for pod in service.live_pods:
        yield _Shown(
            obj=pod, spec=pod.spec, labels=pod.labels, annotations=pod.annotations,
            leads=takes_requests(pod),
        )  # fmt: skip


def _compared(point: CasePoint, service: ServiceSnapshot, shown: list[_Shown]) -> Iterator[Finding]:
    if not shown and service.service.groups:
        text = (
            f"Service {service.name} of {service.graph.name} has no workload of the wanted kind at "
            f"{point.name}, so there is nothing to compare with what the user wrote"
        )
        graph = service.graph.name
        yield finding(_NAME, Verdict.UNKNOWN, service.name, text, graph=graph, last_at=point.at)
    by_field: dict[str, list[tuple[_Shown, Difference]]] = defaultdict(list)
    profile = point.case.profile
    for row in shown:
        for difference in pod_differences(
            service.service, spec=row.spec, labels=row.labels, annotations=row.annotations,
            reserved=profile.labels.reserved, runs=row.leads,
        ):  # fmt: skip
            if not _excepted(difference.field, service.service, profile):
                by_field[difference.field].append((row, difference))
    for rows in by_field.values():
        yield _lacking(point, service, rows)


def _lacking(
    point: CasePoint, service: ServiceSnapshot, rows: list[tuple[_Shown, Difference]]
) -> Finding:
    first, difference = rows[0]
    objects = list(dict.fromkeys(f"{noun(row.obj)}{row.where}" for row, _ in rows))
    verb = "lacks" if len(objects) == 1 else "lack"
    rolling = point.checkpoint.end is CheckpointEnd.DEADLINE and _rolling(service)
    unfinished = "; the graph's status reports a rollout in progress" if rolling else ""
    return finding(
        _NAME, Verdict.UNKNOWN if rolling else Verdict.VIOLATES, first.obj,
        f"{join(objects)} of service {service.name} of {service.graph.name} {verb} what the user "
        f"wrote {seconds(point.at - point.checkpoint.since)} after the last change: {difference}; "
        f"{origin(point.case, point.state, [first.obj])}{unfinished}",
        graph=service.graph.name, first_at=point.checkpoint.since, last_at=point.at,
        field=difference.field, wanted=difference.wanted, found=difference.found,
    )  # fmt: skip


def _excepted(field: str, service: Service, profile: Profile) -> bool:
    shape = "multinode" if service.multinode else "single"
    return any(
        exception.shape in (shape, "both")
        and (field.startswith(f"{exception.field}.") or fnmatch.fnmatchcase(field, exception.field))
        for exception in profile.fidelity_exceptions
    )


def _rolling(service: ServiceSnapshot) -> bool:
    """True while the graph's status reports a rollout in progress, which excuses old pods."""
    root, rollouts = service.root, service.profile.rollouts
    if root is None or root.kind != GRAPH_KIND:
        return False
    return any(str(root.at(*rollout.path)) in rollout.values for rollout in rollouts)
