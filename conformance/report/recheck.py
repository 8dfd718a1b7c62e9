"""Stored histories judged again, without a cluster, and compared with the verdicts of their run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.history import store
from conformance.judge.verdict import judge
from conformance.model.errors import ConformanceError
from conformance.model.verdict import Verdict
from conformance.report import files
from conformance.report.build import case_result
from conformance.report.model import CaseResult
from conformance.report.table import verdict_table

PATTERN = f"*{store.SUFFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """One stored history, judged again. `problem` says why it could not be judged or compared."""

    path: str
    case: str = ""
    operator: str = ""
    now: CaseResult | None = None
    stored: CaseResult | None = None
    problem: str = ""

    @property
    def difference(self) -> list[str]:
        """Findings that gate in only one of the two judgements."""
        if self.now is None or self.stored is None:
            return []
        now, stored = _gating(self.now), _gating(self.stored)
        found = [f"only now: {text}" for text in sorted(now - stored)]
        return found + [f"only in the run: {text}" for text in sorted(stored - now)]

    @property
    def same(self) -> bool | None:
        """If the verdict, and all findings that gate, are those of the run; None if not compared."""
        if self.now is None or self.stored is None:
            return None
        return self.now.verdict is self.stored.verdict and not self.difference

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {
            **{name: getattr(self, name) for name in ("path", "case", "operator", "problem")},
            "verdict": str(self.now.verdict) if self.now else None,
            "stored_verdict": str(self.stored.verdict) if self.stored else None,
            "same": bool(self.same),
            "difference": self.difference,
        }


def _gating(case: CaseResult) -> set[str]:
    return {
        f"{f.checker} {f.verdict} {f.subject}"
        for f in case.findings
        if f.verdict is not Verdict.CONFORMS
    }


def recheck(folder: Path) -> list[Recheck]:
    """Judge every stored history of a results folder, of another folder with histories, or the one
    file given, in order of path. Copies among a run's Allure results are left out."""
    results = folder.parent.parent if folder.is_file() else folder
    histories = folder / files.HISTORIES
    place = histories if histories.is_dir() else folder
    found = [folder] if folder.is_file() else sorted(place.rglob(PATTERN))
    stored = _stored(results)
    return [_one(path, results, stored) for path in found]


def _stored(results: Path) -> dict[tuple[str, ...], CaseResult]:
    """The run's own results by path of the history, and by operator and case."""
    cases = files.read_cases(results)
    if not cases:
        for path in sorted(results.glob(f"{files.STEM}*.json")):
            cases += files.read(path).cases
    found: dict[tuple[str, ...], CaseResult] = {(case.operator, case.id): case for case in cases}
    for case in cases:
        for one in (case, *case.shards):
            if one.history is not None:
                found[(one.history.path,)] = one
    return found


def _one(path: Path, results: Path, stored: dict[tuple[str, ...], CaseResult]) -> Recheck:
    name = path.relative_to(results).as_posix() if path.is_relative_to(results) else str(path)
    try:
        history = store.read(path)
        judgement = judge(history)
    except (ConformanceError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        return Recheck(path=name, problem=f"{name} cannot be judged: {reason}")
    case, operator = history.header.case, history.header.operator
    before = stored.get((name,)) or stored.get((operator, case))
    # What kept the case from being judged then is not in its history.
    duration, interrupted = (before.duration, before.error) if before else (0.0, "")
    return Recheck(
        path=name,
        case=case,
        operator=operator,
        now=case_result(history, judgement, duration=duration, error=interrupted),
        stored=before,
        problem="" if before else f"case {case} has no stored verdict to compare with",
    )


def render(checks: Iterable[Recheck], *, width: int = 100, color: bool = False) -> str:
    """The verdict table, then what differs, then one line that counts."""
    listed = list(checks)
    if not listed:
        return f"there is no stored history ({PATTERN}), so nothing was judged"
    judged = [check.now for check in listed if check.now is not None]
    lines = []
    for check in listed:
        if check.same is False and check.now and check.stored:
            then, now = check.stored.verdict, check.now.verdict
            lines.append(f"differs  {check.case}: {then} in the run, {now} now")
            lines += [f"    {text}" for text in check.difference]
        elif check.problem:
            lines.append(f"not compared  {check.problem}")
    same = sum(bool(check.same) for check in listed)
    histories = "history" if len(listed) == 1 else "histories"
    parts = [
        verdict_table(judged, width=width, color=color) if judged else "",
        "\n".join(lines),
        f"{same} of {len(listed)} {histories} judged as in the run",
    ]
    return "\n\n".join(filter(None, parts))
