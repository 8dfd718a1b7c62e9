"""What a report amounts to in sentences, and all that the terminal shows at the end of a run."""

import shlex
from collections import defaultdict
from collections.abc import Iterable

from conformance.judge.wording import count, join
from conformance.report import concessions
from conformance.report.model import CaseResult, ConformanceReport, NotRun, Summary
from conformance.report.table import verdict_table, word

_MOST_FAILURES = 20
_REPEATABLE = ("fault",)


def failures(cases: Iterable[CaseResult]) -> tuple[list[tuple[str, str, str]], str]:
    """The first failures (the word for the verdict, which cases, and their sentence), and a line that
    counts the rest (empty if there is none).

    Cases with the same error are one: what broke a run off is not told again for each case that did
    not come to run.
    """
    alike: dict[tuple[str, str], list[CaseResult]] = defaultdict(list)
    for case in cases:
        if case.gates:
            key = case.id if case.findings else case.sentence
            alike[word(case), key].append(case)
    found = [
        (verdict, join(case.id for case in group), group[0].sentence)
        for (verdict, _), group in alike.items()
    ]
    more = len(found) - _MOST_FAILURES
    rest = f"… and {more} more; report.yaml holds all of them" if more > 0 else ""
    return found[:_MOST_FAILURES], rest


def conclusion(report: ConformanceReport) -> str:
    """One line: the operator, the verdict, and why it is not better."""
    counts = report.statistics
    name, cases = report.operator.name, count(counts.cases, "case")
    unsupported = f"{counts.unsupported} of {cases} not supported by the profile"
    if report.verdict is Summary.CONFORMS:
        excused = f" ({unsupported})" if counts.unsupported else ""
        return f"{name} conforms: {count(counts.conforms, 'case')}{excused}"
    deselected = sum(case.not_run is NotRun.DESELECTED for case in report.cases)
    required = sum(case.not_run is NotRun.UNSUPPORTED and case.required for case in report.cases)
    if required:
        unsupported += f", {required} of them required"
    violate = "violates" if counts.violates == 1 else "violate"
    passed = count(counts.unexpected_passes, "case")
    bounds = ", ".join(f"{name} {d.value:g} s" for name, d in report.deviations.items())
    reasons = [
        (counts.violates, f"{counts.violates} of {cases} {violate}"),
        (counts.unknown, f"{count(counts.unknown, 'case')} could not be judged"),
        (counts.unexpected_passes, f"{passed} passed although listed as known to fail"),
        (counts.known_failures, count(counts.known_failures, "known failure")),
        (bounds, f"bounds changed: {bounds}"),
        (counts.unsupported, unsupported),
        (deselected, f"{count(deselected, 'required case')} deselected"),
    ]
    why = "; ".join(text for applies, text in reasons if applies)
    return f"{name}: {report.verdict} ({why or 'nothing was judged'})"


def second_looks(report: ConformanceReport) -> str:
    """One line: the cases that were decided, or not, only when they ran again alone; empty if none."""
    looks = [f"{case.id} {word(case)}" for case in report.cases if case.attempts]
    if not looks:
        return ""
    could = f"second look: {count(len(looks), 'case')} could not be decided beside the others"
    return f"{could} and ran again alone: {join(looks, most=_MOST_FAILURES)}"


def next_command(report: ConformanceReport, *, results: str) -> str:
    """The one command to run next: the first case that fails, with the options of this run, into
    another folder so that the evidence of this one stays."""
    failing = [case for case in report.cases if case.gates]
    if not failing:
        return f"python -m conformance report verify {shlex.quote(results)}"
    given = {"operator": report.operator.name, **report.options, "results": f"{results}-again"}
    options = [
        shlex.quote(f"--{name}={value}" if value else f"--{name}")
        for name, values in given.items()
        for value in (values.split(",") if name in _REPEATABLE else [values])
    ]
    # A judgement of the whole run needs the whole run.
    again = [shlex.quote(case.nodeid or case.id) for case in failing if not case.of_run]
    return " ".join(["pytest", *options, *again[:1]])


def summary(
    report: ConformanceReport,
    *,
    results: str,
    width: int = 100,
    color: bool = False,
    again: bool = True,
) -> str:
    """All that is printed at the end of a run.

    There is no table if no case came to run, and nothing to run next if `again` is False: then the
    command itself has to be corrected.
    """
    ran = any(case.history or case.findings or case.duration for case in report.cases)
    listed, more = failures(report.cases)
    failing = [line for word, who, why in listed for line in (f"{word}  {who}", f"    {why}")]
    parts = [
        [verdict_table(report.cases, width=width, color=color) if ran else ""],
        [*failing, more],
        [
            conclusion(report),
            second_looks(report),
            concessions.line(report) if ran else "",
            f"next: {next_command(report, results=results)}" if again else "",
        ],
    ]
    return "\n\n".join(filter(None, ("\n".join(filter(None, lines)) for lines in parts)))
