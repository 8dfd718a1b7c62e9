"""Two reports case by case, times aside: shards and no shards, a process and pods, two versions."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.model.verdict import Verdict
from conformance.report.model import CaseResult, ConformanceReport


def differences(one: ConformanceReport, other: ConformanceReport) -> list[str]:
    """What the second says otherwise than the first, one sentence each; empty if nothing.

    Compared are what was judged and how: each case's verdict and outcome, the outcome of each step,
    which checkers found something, the verdict of the whole, and what the profiles concede. Not
    compared are times, texts of findings (they hold times), what is merely reported, versions, and
    histories.
    """
    found = []
    if one.verdict is not other.verdict:
        found.append(f"the verdict is {one.verdict} in the first and {other.verdict} in the second")
    found += _conceded(one, other)
    ours = {case.id: case for case in one.cases}
    theirs = {case.id: case for case in other.cases}
    for case in sorted({*ours, *theirs}):
        if case not in theirs:
            found.append(f"case {case} is in the first alone")
        elif case not in ours:
            found.append(f"case {case} is in the second alone")
        else:
            found += list(_case(ours[case], theirs[case]))
    return found


def _conceded(one: ConformanceReport, other: ConformanceReport) -> Iterator[str]:
    """Reasons aside: who words one anew concedes no more."""
    ours = {(c.kind, c.what): None for c in one.concessions}
    theirs = {(c.kind, c.what): None for c in other.concessions}
    for place, own, others in (("first", ours, theirs), ("second", theirs, ours)):
        for kind, what in own:
            if (kind, what) not in others:
                yield f"the {kind.noun} {what} is conceded in the {place} alone"


def _case(one: CaseResult, other: CaseResult) -> Iterator[str]:
    said, says = _told(one), _told(other)
    for name in said:
        if said[name] != says[name]:
            yield (
                f"case {one.id}: {name} {said[name] or 'nothing'} in the first and "
                f"{says[name] or 'nothing'} in the second"
            )


def _told(case: CaseResult) -> dict[str, str]:
    return {
        "it was not run, since": f"{case.not_run}: {case.reason}" if case.not_run else "",
        "its verdict is": str(case.verdict or ""),
        "its outcome is": str(case.outcome or ""),
        "its steps ended as": ", ".join(f"{step.name} {step.outcome}" for step in case.steps),
        "its findings are of": ", ".join(
            sorted(
                {
                    f"{f.checker} ({f.verdict}{', known' if f.known else ''})"
                    for f in case.findings
                    # What is merely reported depends on how two programs were in step.
                    if f.verdict is not Verdict.CONFORMS
                }
            )
        ),
        "known failures that did not show are": ", ".join(case.unexpected_passes),
        "it is required:": "yes" if case.required else "no",
    }
