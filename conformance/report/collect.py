"""Results of cases travel as files: each xdist worker writes its own, the controller merges them.

A file a case, because a worker that dies takes everything in its memory with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from conformance.model.errors import InfraError
from conformance.model.verdict import Verdict
from conformance.report import files
from conformance.report.build import RunFacts, report
from conformance.report.merge_run import is_of_run
from conformance.report.model import CaseResult, ConformanceReport

CASES = "cases"
_END_LOST = (
    "the judgement of the run's end was lost, although the run came to its end; run it again"
)
HISTORIES = "histories"


def slug(case: str, operator: str = "") -> str:
    """A file name for a case: `add-worker[replace-v1alpha1]` → `add-worker-replace-v1alpha1`."""
    text = re.sub(r"[^A-Za-z0-9._]+", "-", case).strip("-.")
    return f"{operator}--{text}" if operator else text


def history_path(results: Path, case: str, operator: str = "") -> Path:
    """Where the history of a case is stored."""
    return results / HISTORIES / f"{slug(case, operator)}.jsonl.zst"


def begin(results: Path) -> None:
    """Make the results folder ready for a new run: old results of cases must not count in it.

    Only files that a run of the suite writes are removed. For the controller alone: workers of a
    running session have files there. Raises OSError.
    """
    for folder, pattern in ((CASES, "*.json"), (HISTORIES, "*.jsonl.zst")):
        (results / folder).mkdir(parents=True, exist_ok=True)
        for old in (results / folder).glob(pattern):
            old.unlink()
    for pattern in (f"{files.STEM}*.json", f"{files.STEM}*.yaml"):
        for old in results.glob(pattern):
            old.unlink()


def write_case(results: Path, case: CaseResult) -> Path:
    """Store the result of one case, whole or not at all. Raises OSError."""
    folder = results / CASES
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(case.id, case.operator)}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(case.model_dump_json(indent=2) + "\n", encoding="utf-8")
    part.replace(path)
    return path


def read_cases(results: Path) -> list[CaseResult]:
    """The results of all cases. Raises InfraError naming a file that is not one."""
    cases = []
    for path in sorted((results / CASES).glob("*.json")):
        try:
            cases.append(CaseResult.model_validate_json(path.read_text(encoding="utf-8")))
        except (OSError, ValidationError) as error:
            reason = " ".join(str(error).split())
            raise InfraError(f"{path} is not the result of a case: {reason}") from None
    return cases


def lost(
    expected: Iterable[CaseResult], found: Iterable[CaseResult], *, broken_off: str = ""
) -> list[CaseResult]:
    """Cases that were to be run and left no result (their worker died): unknown, never forgotten.

    `expected` need hold no more than id, feature, title, operator and node. `broken_off` says why the
    whole run ended before its time, if it did.
    """
    there = {(case.operator, case.id) for case in found}
    why = (
        f"left no result, since the run was broken off: {broken_off}"
        if broken_off
        else "left no result: its worker process died, or the run was stopped before it; run it "
        "again alone"
    )
    return [
        case.model_copy(
            update={
                "verdict": Verdict.UNKNOWN,
                "error": _END_LOST if is_of_run(case) else why,
            }
        )
        for case in expected
        if (case.operator, case.id) not in there
    ]


def collect(
    results: Path,
    facts: Mapping[str, RunFacts],
    *,
    expected: Iterable[CaseResult] = (),
    broken_off: str = "",
) -> list[ConformanceReport]:
    """Merge what the workers wrote and write the reports, one an operator, at the session's end.

    `facts` is by operator name. A single operator's report is `report.yaml` and `report.json`, with
    several each is `report-NAME.*`. Raises OSError, InfraError.
    """
    cases = read_cases(results)
    cases += lost(expected, cases, broken_off=broken_off)
    reports = []
    for name, fact in facts.items():
        merged = report([case for case in cases if case.operator == name], fact)
        stem = files.STEM if len(facts) == 1 else f"{files.STEM}-{name}"
        files.write(merged, results, stem=stem)
        reports.append(merged)
    return reports
