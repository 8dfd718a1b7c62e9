"""Fidelity: what the user wrote is on the children, in both shapes (containment): on the workloads' pod
templates and on the live pods. Exceptions stand in the profile, by field and shape, with a reason. At
every judged checkpoint the graph itself must still be what the user wrote."""

import fnmatch
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

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


_Compared = tuple[Obj, str, list[Difference]]
"""An object, which of its pod specs was compared, and what that lacks."""


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
            compared = list(_compared(service))
            looked_at += len(compared)
            findings += _lacking(point, service, compared)
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


def _compared(service: ServiceSnapshot) -> Iterator[_Compared]:
    if not service.service.groups:
        # No workload, or an empty one, is right; an empty one runs nothing.
        return
    reserved = service.profile.labels.reserved
    lacks = partial(pod_differences, service.service, reserved=reserved)
    for workload in service.right:
        rows = [] if workload.deleting else WORKLOADS[workload.kind].templates_of(workload)
        for place, template in rows:
            metadata = template.get("metadata") or {}
            found = lacks(
                spec=template.get("spec") or {}, labels=metadata.get("labels") or {},
                annotations=metadata.get("annotations") or {}, runs=place.leads,
            )  # fmt: skip
            yield workload, f" {place.name}", list(found)
    for pod in service.live_pods:
        kept, runs = pod.annotations, takes_requests(pod)
        found = lacks(spec=pod.spec, labels=pod.labels, annotations=kept, runs=runs)
        yield pod, "", list(found)


def _lacking(
    point: CasePoint, service: ServiceSnapshot, compared: list[_Compared]
) -> Iterator[Finding]:
    name, graph = service.name, service.graph.name
    if not compared and service.service.groups:
        text = (
            f"Service {name} of {graph} has no workload of the wanted kind at {point.name}, so there "
            "is nothing to compare with what the user wrote"
        )
        yield finding(_NAME, Verdict.UNKNOWN, name, text, graph=graph, last_at=point.at)
    rows: dict[str, list[tuple[Obj, str, Difference]]] = defaultdict(list)
    for obj, where, differences in compared:
        for one in differences:
            if not _excepted(one.field, service.service, service.profile):
                rows[one.field].append((obj, f"{noun(obj)}{where}", one))
    rolling = point.missed and _rolling(service)
    unfinished = "; the graph's status reports a rollout in progress" if rolling else ""
    for field, found in rows.items():
        first, _, lacks = found[0]
        objects = list(dict.fromkeys(what for _, what, _ in found))
        verb = "lacks" if len(objects) == 1 else "lack"
        yield finding(
            _NAME, point.still_wrong(blamed=not rolling), first,
            f"{join(objects)} of service {name} of {graph} {verb} what the user wrote "
            f"{seconds(point.at - point.checkpoint.since)} after the last change: {lacks}; "
            f"{origin(point.case, point.state, [first])}{unfinished}",
            graph=graph, first_at=point.checkpoint.since, last_at=point.at,
            field=field, wanted=lacks.wanted, found=lacks.found,
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
    if service.root is None or service.root.kind != GRAPH_KIND:
        return False
    return any(str(service.root.at(*one.path)) in one.values for one in service.profile.rollouts)
