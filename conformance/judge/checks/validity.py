"""Validity: is the history good enough to prove anything? What is found here is `unknown`."""

from collections.abc import Iterator

from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import blind_spots, unknown
from conformance.judge.findings import CheckResult
from conformance.judge.wording import join
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.verdict import CheckerName, Finding

_NAME = CheckerName.VALIDITY


def check(case: Case) -> CheckResult:
    """Judged checkpoints, their proof by lists, and gaps."""
    found: list[Finding] = []
    if not case.judged:
        text = "no checkpoint of this case is judged, so nothing is proven"
        found.append(unknown(_NAME, "history", text))
    for point in case.points:
        if point.interrupted:
            text = f"{point.name} was interrupted before the state could be judged"
            found.append(unknown(_NAME, point.name, text, point))
    for step in case.history.steps:
        if step.judged and case.point_of(step) is None:
            text = f"step {step.name} has no checkpoint, so what became of it is not proven"
            found.append(unknown(_NAME, f"step/{step.name}", text))
    found += [one for point in case.seen for one in _unproven(point)]
    found += blind_spots(case, _NAME)
    return CheckResult(checker=_NAME, findings=tuple(found), looked_at=len(case.points))


def _unproven(point: CasePoint) -> Iterator[Finding]:
    """What a list at the checkpoint did not show as it was recorded, and what was not listed."""
    checkpoint, profile = point.checkpoint, point.case.profile
    for kind, difference in checkpoint.disagreed.items():
        text = f"a list of {kind} at {point.name} differs from the record: {difference}"
        yield unknown(_NAME, f"kind/{kind}", text, point)
    needed = {GRAPH_KIND, profile.single_node.kind, "Pod", "Service"}
    if profile.supports(Feature.MULTINODE):
        needed.add(profile.multinode.kind)
    if profile.supports(Feature.COMPONENT):
        needed.add(COMPONENT_KIND)
    # Keys may carry the group behind the kind, as in `Deployment.apps`.
    listed = {kind.partition(".")[0] for kind in (*checkpoint.verified, *checkpoint.disagreed)}
    missing = sorted(needed - listed)
    if checkpoint.judged and missing:
        verb = "was" if len(missing) == 1 else "were"
        kinds = join(missing, most=len(missing))
        text = f"{kinds} {verb} not listed at {point.name}, so the record is not proven"
        yield unknown(_NAME, point.name, text, point)
