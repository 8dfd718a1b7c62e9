"""Fidelity: what the user wrote is on the children, in both shapes (containment).

Judged at each judged checkpoint that was reconciled or ran into its deadline, on the workloads' pod
templates and on the live pods: an image that never reached a pod is a finding too. Exceptions stand
in the profile, by field and shape, with a reason. At every judged checkpoint the graph itself must
still be what the user wrote.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.containment import Difference, pod_differences
from conformance.judge.checks.users_graph import users_graph
from conformance.judge.checks.windows import judged_checkpoints
from conformance.judge.checks.words import listing, named, origin, seconds, subject
from conformance.judge.state.base import Sight, Wanted
from conformance.judge.state.view import Part, View
from conformance.judge.state.workloads import right
from conformance.model.graph import GRAPH_KIND, Service
from conformance.model.kinds import LWS_WORKER_INDEX_LABEL
from conformance.model.profile import Profile
from conformance.model.state import Obj, State
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.FIDELITY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A pod spec to compare, and the object that shows it."""

    obj: Obj
    where: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    leads: bool
    """False for the followers of a group, whose command is the operator's affair."""


def check(history: History) -> CheckResult:
    """Compare every service with its workloads and pods at every judged checkpoint."""
    findings: list[Finding] = []
    looked_at = 0
    for checkpoint in judged_checkpoints(history):
        if checkpoint.end is CheckpointEnd.INTERRUPTED:
            continue
        findings += users_graph(history, checkpoint)
        if checkpoint.blocked:
            continue
        state = history.at_checkpoint(checkpoint)
        wanted = Wanted(
            namespace=history.namespace,
            graphs=checkpoint.graphs,
            components=checkpoint.components,
            profile=history.profile,
            others=frozenset(foreign.uid for foreign in history.foreign),
        )
        for part in View(Sight(state=state, wanted=wanted)).parts:
            shown = list(_shown(part, history.profile))
            looked_at += len(shown)
            if not shown and part.service.groups:
                findings.append(_nothing(part, checkpoint))
            findings += _part(history, checkpoint, state, part, shown)
        if not any(finding.gates for finding in findings):
            findings += _disagreed(checkpoint)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=looked_at)


def _nothing(part: Part, checkpoint: Checkpoint) -> Finding:
    return Finding(
        checker=_NAME,
        verdict=Verdict.UNKNOWN,
        subject=part.name,
        message=f"Service {part.name} of {part.graph.name} has no workload of the wanted kind at "
        f"{checkpoint.name}, so there is nothing to compare with what the user wrote.",
        graph=part.graph.name,
        last_at=checkpoint.at,
    )


def _disagreed(checkpoint: Checkpoint) -> Iterator[Finding]:
    for kind, difference in checkpoint.disagreed.items():
        yield Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN,
            subject=checkpoint.name,
            message=f"The record of {kind} disagreed with a list at {checkpoint.name} ({difference}), "
            "so what the children carried is not known.",
            last_at=checkpoint.at,
        )


# What there is to compare ---------------------------------------------------------------------


def _shown(part: Part, profile: Profile) -> Iterator[_Shown]:
    workloads = [w for w in right(part, profile) if not w.deleting]
    if not part.service.groups:
        # At zero replicas no workload, or an empty one, is right; an empty one runs nothing.
        return
    for workload in workloads:
        yield from _templates(workload)
    for pod in part.live_pods:
        leads = pod.labels.get(LWS_WORKER_INDEX_LABEL, "0") == "0"
        yield _Shown(
            obj=pod, where="", spec=pod.spec, labels=pod.labels, annotations=pod.annotations,
            leads=leads,
        )  # fmt: skip


def _templates(workload: Obj) -> Iterator[_Shown]:
    groups = workload.at("spec", "leaderWorkerTemplate")
    if groups is None:
        template = workload.at("spec", "template")
        if template is not None:
            yield _template(workload, template, where=" template", leads=True)
        return
    worker = groups.get("workerTemplate") or {}
    # Without a leader template the worker's is used for leaders, too (LWS API).
    leader = groups.get("leaderTemplate")
    yield _template(workload, leader or worker, where=" leader template", leads=True)
    if leader:
        yield _template(workload, worker, where=" worker template", leads=False)


def _template(workload: Obj, template: Mapping[str, Any], *, where: str, leads: bool) -> _Shown:
    metadata = template.get("metadata") or {}
    return _Shown(
        obj=workload, where=where, spec=template.get("spec") or {}, leads=leads,
        labels=metadata.get("labels") or {}, annotations=metadata.get("annotations") or {},
    )  # fmt: skip


# Comparing ------------------------------------------------------------------------------------


def _part(
    history: History, checkpoint: Checkpoint, state: State, part: Part, shown: list[_Shown]
) -> Iterator[Finding]:
    by_field: dict[str, list[tuple[_Shown, Difference]]] = {}
    for row in shown:
        for difference in _differences(part.service, row, history.profile):
            by_field.setdefault(difference.field, []).append((row, difference))
    rolling = checkpoint.end is CheckpointEnd.DEADLINE and _rolling(state, part, history.profile)
    for field, rows in by_field.items():
        first, difference = rows[0]
        objects = listing(dict.fromkeys(f"{named(r.obj)}{r.where}" for r, _ in rows), limit=3)
        late = seconds(checkpoint.at - checkpoint.since)
        unfinished = "; the graph's status reports a rollout in progress" if rolling else ""
        yield Finding(
            checker=_NAME,
            verdict=Verdict.UNKNOWN if rolling else Verdict.VIOLATES,
            subject=subject(first.obj),
            message=f"{objects} of service {part.name} of {part.graph.name} lacks what the user "
            f"wrote {late} after the last change: {difference}; it is "
            f"{origin(history, state, first.obj)}{unfinished}.",
            graph=part.graph.name,
            first_at=checkpoint.since,
            last_at=checkpoint.at,
            evidence={"field": field, "wanted": difference.wanted, "found": difference.found},
        )


def _differences(service: Service, row: _Shown, profile: Profile) -> Iterator[Difference]:
    found = pod_differences(
        service,
        spec=row.spec,
        labels=row.labels,
        annotations=row.annotations,
        reserved=profile.labels.reserved,
        runs=row.leads,
    )
    for difference in found:
        if not _excepted(difference.field, service, profile):
            yield difference


def _excepted(field: str, service: Service, profile: Profile) -> bool:
    shape = "multinode" if service.multinode else "single"
    for exception in profile.fidelity_exceptions:
        if exception.shape not in (shape, "both"):
            continue
        inside = field.startswith(f"{exception.field}.")
        if inside or fnmatch.fnmatchcase(field, exception.field):
            return True
    return False


def _rolling(state: State, part: Part, profile: Profile) -> bool:
    """True while the graph's status reports a rollout in progress, which excuses old pods."""
    if part.root is None or part.root.kind != GRAPH_KIND:
        return False
    root = state.get(part.root.uid)
    return any(
        root is not None and str(root.at(*rollout.path)) in rollout.values
        for rollout in profile.rollouts
    )
