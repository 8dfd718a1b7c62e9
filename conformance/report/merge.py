"""The results of all shards joined into one folder, whose report is that of the run without shards.

Nothing is taken on trust. Each report must agree with its histories, and all must have the same
operator, versions, options and bounds; each shard must be there once, and each case in its own shard.
"""

import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.evidence.changes import differences
from conformance.history import store
from conformance.model.errors import UsageError
from conformance.model.shard import Shard, owner
from conformance.model.verdict import Verdict, worst
from conformance.report import files, junit, verify
from conformance.report.build import totals
from conformance.report.model import CaseResult, ConformanceReport, HistoryFile, NotRun

_JUNIT = "junit.xml"
_ALLURE = "allure-results"
_LOGS = "logs"
_OPTION = "shard"
"""The option under which a report says which shard it is of."""
_SAME = {
    "operator", "profile_sha256", "versions", "options", "bounds", "deviations", "cluster",
    "cluster_admin",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One shard's report of one operator."""

    path: Path
    report: ConformanceReport
    shard: Shard

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard})"

    @property
    def cases(self) -> dict[str, CaseResult]:
        """By id, without the judgements of the whole run, of which each shard has its own."""
        return {case.id: case for case in self.report.cases if not case.of_run}

    @property
    def compared(self) -> dict[str, Any]:
        """What must be the same in all shards."""
        data = self.report.model_dump(mode="json", include=_SAME)
        data["options"].pop(_OPTION, None)
        return data

    def owner(self, case: str) -> Shard:
        """The shard to which the case of that id belongs."""
        return Shard(owner(case, self.shard.count), self.shard.count)


def merge(target: Path, folders: Sequence[Path]) -> list[ConformanceReport]:
    """Join the results folders of all shards in `target`; its reports, one an operator.

    Nothing is written unless the folders make up one run. Raises UsageError, one sentence, if they do
    not; OSError.
    """
    _check_target(target, folders)
    shares = [_read(path) for folder in folders for path in files.find(folder)]
    by_operator: dict[str, list[Share]] = defaultdict(list)
    for share in shares:
        by_operator[share.report.operator.name].append(share)
    owned = {name: _checked(name, own, folders) for name, own in by_operator.items()}
    files.begin(target)
    reports = {name: _joined(target, own, owned[name]) for name, own in by_operator.items()}
    for report in reports.values():
        for case in report.cases:
            files.write_case(target, case)
    files.write(reports, target)
    _copy_beside(target, shares)
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


def _read(path: Path) -> Share:
    report = files.read(path)
    if _OPTION not in report.options:
        raise UsageError(f"{path} is of no shard; merge results of runs with --shard=i/n")
    problems = verify.problems(report, path.parent)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UsageError(f"{path} is not what its run wrote: {problems[0]}{more}")
    return Share(path=path, report=report, shard=Shard.parse(report.options[_OPTION]))


def _checked(
    name: str, shares: Sequence[Share], folders: Sequence[Path]
) -> dict[str, tuple[Share, CaseResult]]:
    """Each case as its own shard has it. Raises UsageError unless the shares make up one run."""
    first, count = shares[0], shares[0].shard.count
    found: dict[int, Share] = {}
    for share in shares:
        if share.shard.count != count:
            raise UsageError(
                f"{first} and {share} are of different runs: there are {count} shards in one and "
                f"{share.shard.count} in the other"
            )
        twin = found.setdefault(share.shard.index, share)
        if twin is not share:
            raise UsageError(f"{twin} and {share} are the same shard; give it once")
    missing = [f"{n}/{count}" for n in range(1, count + 1) if n not in found]
    if missing:
        raise UsageError(
            f"{name} lacks shard {', '.join(missing)}; give the results folder of each of the {count} "
            "shards"
        )
    for share in shares:
        for field, *values in differences(first.compared, share.compared, ""):
            one, other = ("not given" if value in (None, "") else value for value in values)
            raise UsageError(
                f"{first} and {share} are not of one run: {field.removeprefix('.')} is {one} in "
                f"the first and {other} in the second"
            )
    there = {share.path.parent for share in shares}
    for folder in folders:
        if folder not in there:
            raise UsageError(f"{folder} holds no report of {name}, which {first} is about")
    return _owned(shares)


def _owned(shares: Sequence[Share]) -> dict[str, tuple[Share, CaseResult]]:
    ran: dict[str, Share] = {}
    found: dict[str, tuple[Share, CaseResult]] = {}
    for share in shares:
        for name, case in share.cases.items():
            mine = share.shard.owns(name)
            if case.not_run is not NotRun.DESELECTED:
                if name in ran:
                    raise UsageError(f"case {name} is in {ran[name]} and again in {share}")
                if not mine:
                    raise UsageError(f"case {name} of {share} belongs to shard {share.owner(name)}")
                ran[name] = share
            if mine:
                found[name] = (share, case)
    # A case that the operator does not support is listed by its own shard alone.
    shared = {name for name, (_, c) in found.items() if c.not_run is not NotRun.UNSUPPORTED}
    for share in shares:
        listed = share.cases.keys()
        for name in sorted(listed - found.keys()):
            own = share.owner(name)
            raise UsageError(f"{share} knows case {name}, and its own shard {own} does not")
        for name in sorted(shared - listed):
            raise UsageError(f"{share} knows nothing of case {name}: it shared out other cases")
    return found


def _joined(
    target: Path, shares: Sequence[Share], owned: dict[str, tuple[Share, CaseResult]]
) -> ConformanceReport:
    cases = [_copied(target, share, case) for share, case in owned.values()]
    of_run: dict[str, list[CaseResult]] = defaultdict(list)
    for share in sorted(shares, key=lambda share: share.shard.index):
        for case in share.report.cases:
            if case.of_run:
                of_run[case.id].append(_copied(target, share, case))
    cases += [joined(judgements) for judgements in of_run.values()]
    first = shares[0].report
    return first.model_copy(
        update={
            "date": max(share.report.date for share in shares),
            "options": {k: v for k, v in first.options.items() if k != _OPTION},
            **totals(cases, deviates=bool(first.deviations)),
        }
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


def joined(cases: Sequence[CaseResult]) -> CaseResult:
    """What the shards' judgements of the whole run amount to: the worst of them, with all findings.

    A known failure that one shard shows has shown: only one that no shard shows is missed.
    """
    ran = [case for case in cases if case.not_run is None] or cases
    verdicts = [case.verdict or Verdict.UNKNOWN for case in ran]
    verdict = worst(verdicts)
    missed = set.intersection(*(set(case.unexpected_passes) for case in ran))
    # Shards that found the same did so at different times.
    found = [finding for case in ran for finding in case.findings]
    told = [finding.model_dump_json(exclude={"first_at", "last_at"}) for finding in found]
    return ran[verdicts.index(verdict)].model_copy(
        update={
            "verdict": verdict,
            "findings": [one for n, one in enumerate(found) if told[n] not in told[:n]],
            "duration": max(case.duration for case in ran),
            "error": "; ".join(dict.fromkeys(case.error for case in ran if case.error)),
            "unexpected_passes": sorted(missed),
            "shards": list(cases) if len(cases) > 1 else [],
        }
    )


def _copy_beside(target: Path, shares: Sequence[Share]) -> None:
    """What lies beside the reports: Allure results and JUnit XML of all, logs by shard."""
    for name in (_ALLURE, _LOGS):
        shutil.rmtree(target / name, ignore_errors=True)
    (target / _JUNIT).unlink(missing_ok=True)
    written = []
    folders = {share.path.parent: share.shard.index for share in shares}
    for folder, index in sorted(folders.items(), key=lambda item: item[1]):
        for source, place in ((_ALLURE, _ALLURE), (_LOGS, f"{_LOGS}/shard-{index}")):
            if (folder / source).is_dir():
                shutil.copytree(folder / source, target / place, dirs_exist_ok=True)
        if (folder / _JUNIT).is_file():
            written.append(folder / _JUNIT)
    if written:
        junit.merge(written, target / _JUNIT)
