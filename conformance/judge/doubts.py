"""What keeps a claim from being proven: gaps in the record, lists that disagree with it, interruptions,
graphs of which nothing was recorded, and kinds that the suite may not see. All of it is `unknown`,
never a pass."""

import dataclasses
from collections.abc import Iterable, Mapping

from conformance.history.records import Gap, Unseen
from conformance.judge.case import Case, CasePoint, Window
from conformance.judge.findings import CheckResult, finding
from conformance.model.children import Gang
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.kinds import WORKLOADS
from conformance.model.profile import Profile
from conformance.model.verdict import CheckerName, Finding, Verdict

# Checkers that read no object: what they say stays.
_WITHOUT_OBJECTS = frozenset({CheckerName.OPERATOR_HEALTH, CheckerName.VALIDITY})

_ALWAYS = frozenset(
    {(GRAPH_KIND, GROUP), ("Pod", ""), ("ReplicaSet", "apps"), ("Service", ""),
     ("StatefulSet", "apps")}
)  # fmt: skip


def unknown(
    checker: CheckerName, about: str, message: str, point: CasePoint | None = None
) -> Finding:
    """A finding that says that something could not be told."""
    step = point.last_step if point is not None else ""
    at = point.at if point is not None else None
    return finding(checker, Verdict.UNKNOWN, about, message, step=step, last_at=at)


def missed(gap: Gap) -> str:
    """`the record has a gap for Pod (the watch expired)`."""
    return f"the record has a gap for {gap.kind or 'every kind'} ({gap.reason})"


def doubts(
    case: Case, checker: CheckerName, point: CasePoint, window: Window, *, claim: str
) -> list[Finding]:
    """Why `claim` ("nothing was written") cannot be proven in the window. Empty if it can."""
    reasons = []
    if point.interrupted:
        reasons.append("the wait was interrupted, because the platform or the operator failed")
    gap = case.gap_in(window)
    if gap is not None:
        reasons.append(missed(gap))
    for kind, difference in point.checkpoint.disagreed.items():
        reasons.append(f"the record of {kind} disagreed with a list at the end ({difference})")
    text = f"It cannot be told whether {claim} until {point.name}"
    return [
        finding(
            checker, Verdict.UNKNOWN, point.name, f"{text}: {reason}",
            first_at=window.start, last_at=window.end,
        )
        for reason in reasons
    ]  # fmt: skip


def blind_spots(case: Case, checker: CheckerName) -> list[Finding]:
    """UNKNOWN findings for what a checker of states could not see: nothing recorded, or a gap."""
    if not case.seen:
        return [unknown(checker, "history", "no checkpoint was reached, so nothing is proven")]
    lives = case.history.lives.values()
    recorded = {(o.kind, o.name) for life in lives if (o := life.last).namespace == case.namespace}
    found = []
    for point in case.seen:
        graphs = [(GRAPH_KIND, graph.name) for graph in point.checkpoint.graphs]
        graphs += [(COMPONENT_KIND, graph.name) for graph in point.checkpoint.components]
        missing = next((graph for graph in graphs if graph not in recorded), None)
        if missing:
            what = " ".join(missing)
            text = f"nothing of {what} was recorded until {point.name}: nothing is proven"
            found.append(unknown(checker, "history", text, point))
        gap = case.gap_in(point.way)
        if gap is not None:
            text = f"{missed(gap)} before {point.name}, so changes may have been missed"
            found.append(unknown(checker, "history", text, point))
    return found


# Kinds that the suite may not see ----------------------------------------------------------------


def needed(profile: Profile, unseen: Iterable[Unseen]) -> list[Unseen]:
    """Those of the unseen kinds that checkers read by name, in order of name: without ReplicaSets
    no pod has a graph above it, so neither what seems right nor what seems wrong is proven. Other
    kinds are only not covered."""
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
