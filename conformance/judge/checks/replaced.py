"""Pods that did not outlive a change of nothing but their number, which could have kept them.

Part of `availability`: no budget is short where each old pod goes as a new one is ready, and yet
every request that runs is cut off, and every model is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.history.history import History
from conformance.history.records import Step
from conformance.judge.checks.family import family_of
from conformance.judge.checks.readiness import Watched
from conformance.judge.checks.words import by, plural
from conformance.judge.state.changes import Act, Change
from conformance.judge.state.view import is_workload
from conformance.judge.state.workloads import templates_of
from conformance.judge.state.writes import WriteLog, log_of
from conformance.model.graph import Service
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict


def replaced(
    history: History, steps: list[Step], row: Watched, services: Sequence[Service]
) -> Iterator[Finding]:
    """More pods lost than the steps need, where a template above them was written or a workload made
    again. A pod that goes by itself (a node went silent) proves nothing.

    `services` are the service before and after each step, in order.
    """
    groups = [service.groups for service in services]
    spare = max(0, groups[0] - min(groups)) * services[0].size
    if len(row.lost) <= spare:
        return
    family, log = family_of(history), log_of(history)
    above = {owner.uid for lost in row.lost for owner in family.chain(lost.obj.uid)[1:]}
    pods = {lost.obj.uid for lost in row.lost}
    causes = [
        change
        for change in log.changes(steps[0].sent_at, row.lost[-1].at)
        if (change.obj.uid in above and _remade(change)) or _by_hand(change, pods, log)
    ]
    if not causes:
        return
    writer = log.writer(causes[0])
    name = services[-1].name
    yield Finding(
        checker=CheckerName.AVAILABILITY,
        verdict=Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN,
        subject=name,
        message=f"{plural(len(row.lost), 'pod')} of service {name} of {row.place.graph} did not "
        f"outlive {steps[0].name}, which changes nothing but their number and needs {spare} to go; "
        f"{by(writer)} wrote {causes[0]}.",
        graph=row.place.graph,
        step=steps[0].name,
        first_at=row.lost[0].at,
        last_at=row.lost[-1].at,
        evidence={"pods": [event.obj.name for event in row.lost], "needed": spare},
    )


def _by_hand(change: Change, pods: set[str], log: WriteLog) -> bool:
    """True if the operator itself deleted one of these pods."""
    deleted = change.obj.uid in pods and change.act is Act.DELETED
    return deleted and log.writer(change) is Actor.OPERATOR


def _remade(change: Change) -> bool:
    """True for a workload that got another pod template, or that was deleted."""
    if not is_workload(change.obj):
        return False
    if change.act is Act.DELETED:
        return True
    return change.before is not None and templates_of(change.before) != templates_of(change.obj)
