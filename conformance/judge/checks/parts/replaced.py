"""Pods that did not outlive a change of nothing but their number, which could have kept them. Part of
`availability`.

No budget is short where each old pod goes as a new one is ready, and yet every request that runs is cut
off, and every model is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.history.records import Step
from conformance.judge.case import Case
from conformance.judge.changes import Act, Change
from conformance.judge.checks.parts.readiness import Watched
from conformance.judge.findings import blame, finding
from conformance.judge.wording import by, count
from conformance.model.graph import Service
from conformance.model.kinds import Actor, of_platform, workload_kind
from conformance.model.verdict import CheckerName, Finding


def replaced(
    case: Case, steps: list[Step], row: Watched, services: Sequence[Service]
) -> Iterator[Finding]:
    """More pods lost than the steps need, where a template above them was written or a workload made
    again. A pod that goes by itself (a node went silent) proves nothing.

    `services` are the service before and after each step, in order.
    """
    groups = [service.groups for service in services]
    spare = max(0, groups[0] - min(groups)) * services[0].size
    if len(row.lost) <= spare:
        return
    cause = _cause(case, steps[0], row)
    if cause is None:
        return
    writer, name = case.log.writer(cause), services[-1].name
    yield finding(
        CheckerName.AVAILABILITY, blame(writer), name,
        f"{count(len(row.lost), 'pod')} of service {name} of {row.place.graph} did not outlive "
        f"{steps[0].name}, which changes nothing but their number and needs {spare} to go; "
        f"{by(writer)} wrote {cause}",
        graph=row.place.graph, step=steps[0].name,
        first_at=row.lost[0].at, last_at=row.lost[-1].at,
        pods=[event.obj.name for event in row.lost], needed=spare,
    )  # fmt: skip


def _cause(case: Case, first: Step, row: Watched) -> Change | None:
    """The first write by which the pods had to go."""
    pods = {lost.obj.uid for lost in row.lost}
    above = {owner.uid for uid in pods for owner in case.lineage.above(uid)}
    snapshot = case.snapshot(case.history.at(row.base), ())
    for change in case.log.changes(first.sent_at, row.lost[-1].at):
        # A StatefulSet that an LWS is made of comes and goes with its group.
        workload = snapshot.is_workload(change.obj) and not of_platform(change.obj)
        remade = workload and change.obj.uid in above and _remade(change)
        deleted = change.obj.uid in pods and change.act is Act.DELETED
        if remade or (deleted and case.log.writer(change) is Actor.OPERATOR):
            return change
    return None


def _remade(change: Change) -> bool:
    """True for a workload that got another pod template, or that was deleted."""
    row = workload_kind(change.obj)
    if row is None:
        return False
    if change.act is Act.DELETED:
        return True
    before = change.before
    return before is not None and row.templates_of(before) != row.templates_of(change.obj)
