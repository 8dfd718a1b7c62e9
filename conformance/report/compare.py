"""Two reports case by case, apart from times: with and without shards, process and pods, versions."""

from conformance.model.verdict import Verdict
from conformance.report.model import CaseResult, ConformanceReport


def differences(one: ConformanceReport, other: ConformanceReport) -> list[str]:
    """Where the second report differs from the first, one sentence each.

    Compared are the verdict of the whole, what the profiles concede, and for each case its verdict,
    its outcome, the outcome of each step, and which checkers found something. Not compared are times,
    texts of findings (they hold times), findings that do not gate, versions, and histories.
    """
    found = []
    if one.verdict is not other.verdict:
        found.append(f"the verdict is {one.verdict} in the first and {other.verdict} in the second")
    # Another reason for the same concession is no difference.
    for place, mine, others in (("first", one, other), ("second", other, one)):
        known = {(concession.kind, concession.what) for concession in others.concessions}
        found += [
            f"only the {place} concedes the {concession.kind.noun} {concession.what}"
            for concession in mine.concessions
            if (concession.kind, concession.what) not in known
        ]
    ours, theirs = ({case.id: _compared(case) for case in report.cases} for report in (one, other))
    for case in sorted({*ours, *theirs}):
        if case not in ours or case not in theirs:
            found.append(f"only the {'first' if case in ours else 'second'} has case {case}")
            continue
        for name, first in ours[case].items():
            second = theirs[case][name]
            if first != second:
                texts = f"{first or 'none'} in the first, {second or 'none'} in the second"
                found.append(f"case {case}: {name}: {texts}")
    return found


def _compared(case: CaseResult) -> dict[str, str]:
    # A finding that conforms depends on how two programs happened to be in step.
    findings = {
        f"{f.checker} ({f.verdict}{', known' if f.known_failure else ''})"
        for f in case.findings
        if f.verdict is not Verdict.CONFORMS
    }
    return {
        "not run": f"{case.not_run} ({case.reason})" if case.not_run else "",
        "verdict": str(case.verdict or ""),
        "outcome": str(case.outcome or ""),
        "steps": ", ".join(f"{step.name} {step.outcome}" for step in case.steps),
        "findings": ", ".join(sorted(findings)),
        "unexpected passes": ", ".join(case.unexpected_passes),
        "required": "yes" if case.required else "no",
    }
