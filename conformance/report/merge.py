"""The results of all shards joined into one folder, whose report is that of the run without shards."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.history import store
from conformance.model.errors import UsageError
from conformance.model.verdict import Verdict, worst
from conformance.report import files, junit, shards
from conformance.report.build import totals
from conformance.report.model import CaseResult, ConformanceReport, HistoryFile, ReportedFinding
from conformance.report.shards import Share

JUNIT = "junit.xml"
ALLURE = "allure-results"
LOGS = "logs"


def merge(target: Path, folders: Sequence[Path]) -> list[ConformanceReport]:
    """Join the results folders of all shards in `target`; its reports, one an operator.

    Nothing is written unless the folders make up one run. Raises UsageError, one sentence, if they do
    not; OSError.
    """
    _check_target(target, folders)
    by_operator = shards.read(folders)
    owned = {name: shards.owned(shares) for name, shares in by_operator.items()}
    files.begin(target)
    reports = {}
    for name, shares in by_operator.items():
        cases = [_copied(target, share, case) for share, case in owned[name]]
        reports[name] = _report(shares, [*cases, *_of_run(target, shares)])
        for case in reports[name].cases:
            files.write_case(target, case)
    files.write(reports, target)
    _copy_beside(target, [share for shares in by_operator.values() for share in shares])
    return list(reports.values())


def _check_target(target: Path, folders: Sequence[Path]) -> None:
    if not folders:
        raise UsageError("there is nothing to merge; give the results folder of each shard")
    place = target.resolve()
    for folder in folders:
        own = folder.resolve()
        if place == own or own in place.parents or place in own.parents:
            raise UsageError(
                f"{target} and {folder} lie in one another; merge into a separate folder"
            )
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is no folder; give one that is empty or not there yet")
    if any(target.iterdir()) and not any(target.glob(f"{files.STEM}*.json")):
        raise UsageError(
            f"{target} holds something else than results; merge into a separate folder"
        )


def _copied(target: Path, share: Share, case: CaseResult) -> CaseResult:
    if case.history is None:
        return case
    name = Path(case.history.path).name
    if case.of_run:
        # Each shard judges the whole run.
        suffix = f".shard-{share.shard.index}{store.SUFFIX}"
        name = name.removesuffix(store.SUFFIX) + suffix
    path = target / files.HISTORIES / name
    if path.exists():
        raise UsageError(f"two shards have a history {name}; their results are not of one run")
    shutil.copyfile(share.path.parent / case.history.path, path)
    history = HistoryFile(path=f"{files.HISTORIES}/{name}", sha256=case.history.sha256)
    return case.model_copy(update={"history": history})


def _of_run(target: Path, shares: Iterable[Share]) -> list[CaseResult]:
    by_id: dict[str, list[CaseResult]] = {}
    for share in sorted(shares, key=lambda share: share.shard.index):
        for case in share.report.cases:
            if case.of_run:
                by_id.setdefault(case.id, []).append(_copied(target, share, case))
    return [joined(cases) for cases in by_id.values()]


def joined(cases: Sequence[CaseResult]) -> CaseResult:
    """What the shards' judgements of the whole run amount to: the worst of them, with all findings.

    A known failure that one shard shows has shown: only one that no shard shows is missed.
    """
    ran = [case for case in cases if case.not_run is None] or cases
    verdicts = [case.verdict or Verdict.UNKNOWN for case in ran]
    verdict = worst(verdicts)
    # Shards that found the same did so at different times.
    findings: dict[str, ReportedFinding] = {}
    for finding in (finding for case in ran for finding in case.findings):
        findings.setdefault(finding.model_dump_json(exclude={"first_at", "last_at"}), finding)
    return ran[verdicts.index(verdict)].model_copy(
        update={
            "verdict": verdict,
            "findings": list(findings.values()),
            "duration": max(case.duration for case in ran),
            "error": "; ".join(dict.fromkeys(case.error for case in ran if case.error)),
            "unexpected_passes": sorted(
                set.intersection(*(set(case.unexpected_passes) for case in ran))
            ),
            "shards": list(cases) if len(cases) > 1 else [],
        }
    )


def _report(shares: Sequence[Share], cases: Iterable[CaseResult]) -> ConformanceReport:
    first = shares[0].report
    return first.model_copy(
        update={
            "date": max(share.report.date for share in shares),
            "options": {k: v for k, v in first.options.items() if k != shards.OPTION},
            **totals(cases, deviates=bool(first.deviations)),
        }
    )


def _copy_beside(target: Path, shares: Iterable[Share]) -> None:
    """What lies beside the reports: Allure results and JUnit XML of all, logs by shard."""
    for name in (ALLURE, LOGS):
        shutil.rmtree(target / name, ignore_errors=True)
    (target / JUNIT).unlink(missing_ok=True)
    written = []
    folders = {share.path.parent: share.shard.index for share in shares}
    for folder, index in sorted(folders.items(), key=lambda item: item[1]):
        for source, place in ((ALLURE, ALLURE), (LOGS, f"{LOGS}/shard-{index}")):
            if (folder / source).is_dir():
                shutil.copytree(folder / source, target / place, dirs_exist_ok=True)
        if (folder / JUNIT).is_file():
            written.append(folder / JUNIT)
    if written:
        junit.merge(written, target / JUNIT)
