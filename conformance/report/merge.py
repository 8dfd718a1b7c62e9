"""The results of n shards joined into one folder, whose report is that of the run without shards.

Nothing is taken on trust: each report is verified against its histories first, and all must be of one
run: the same operator, versions, options and bounds, each shard once, each case in its own shard.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.shard import Shard, owner
from conformance.report import collect, files, junit
from conformance.report.build import statistics, summary
from conformance.report.merge_run import is_of_run, joined
from conformance.report.model import CaseResult, ConformanceReport, HistoryFile, NotRun

SHARD = "shard"
"""The option under which a report says which share it is of."""
JUNIT = "junit.xml"
ALLURE = "allure-results"
LOGS = "logs"
_SAME = (
    "operator", "profile_sha256", "versions", "options", "bounds", "deviations", "cluster", "admin",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One shard's report of one operator."""

    path: Path
    report: ConformanceReport
    shard: Shard

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard})"


def merge(target: Path, folders: Sequence[Path]) -> list[ConformanceReport]:
    """Join the results folders of all shards in `target`; its reports, one an operator.

    Nothing is written unless all is well. Raises UsageError, one sentence, for folders that do not
    make up one run or whose report is not what its run wrote; OSError.
    """
    _check_target(target, folders)
    by_operator: dict[str, list[_Part]] = {}
    for folder in folders:
        for path in files.find(folder):
            part = _read(path)
            by_operator.setdefault(part.report.operator.name, []).append(part)
    for name, parts in by_operator.items():
        _check_shards(parts)
        _check_alike(parts)
        lacking = [f for f in folders if f not in {part.path.parent for part in parts}]
        if lacking:
            raise UsageError(f"{lacking[0]} holds no report of {name}, which {parts[0]} is about")
    cases = {name: _cases(parts) for name, parts in by_operator.items()}
    collect.begin(target)
    reports = []
    for name, parts in by_operator.items():
        merged = _report(parts, [_placed(target, *case) for case in cases[name]])
        for case in merged.cases:
            collect.write_case(target, case)
        stem = files.STEM if len(by_operator) == 1 else f"{files.STEM}-{name}"
        files.write(merged, target, stem=stem)
        reports.append(merged)
    _copy_beside(target, {part.path.parent: part.shard for p in by_operator.values() for part in p})
    return reports


def _check_target(target: Path, folders: Sequence[Path]) -> None:
    if not folders:
        raise UsageError("there is nothing to merge; give the results folder of each shard")
    place = target.resolve()
    for folder in folders:
        own = folder.resolve()
        if place == own or own in place.parents or place in own.parents:
            raise UsageError(f"{target} and {folder} lie in one another; merge into another folder")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is no folder; give one that is empty or not there yet")
    if target.is_dir() and any(target.iterdir()) and not any(target.glob(f"{files.STEM}*.json")):
        raise UsageError(f"{target} holds something else than results; merge into another folder")


def _read(path: Path) -> _Part:
    report = files.read(path)
    if SHARD not in report.options:
        raise UsageError(f"{path} is of no shard; merge results of runs with --shard=i/n")
    problems = files.verify(report, path.parent)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UsageError(f"{path} is not what its run wrote: {problems[0]}{more}")
    return _Part(path=path, report=report, shard=Shard.parse(report.options[SHARD]))


def _check_shards(parts: Sequence[_Part]) -> None:
    first = parts[0]
    found: dict[int, _Part] = {}
    for part in parts:
        if part.shard.count != first.shard.count:
            raise UsageError(
                f"{first} and {part} are shards of different runs: another number of them"
            )
        if part.shard.index in found:
            raise UsageError(
                f"{found[part.shard.index]} and {part} are the same shard; give it once"
            )
        found[part.shard.index] = part
    missing = [str(n) for n in range(1, first.shard.count + 1) if n not in found]
    if missing:
        raise UsageError(
            f"of {first.shard.count} shards of {first.report.operator.name} there is no "
            f"{', '.join(missing)}; give the results folder of each"
        )


def _check_alike(parts: Sequence[_Part]) -> None:
    first = parts[0]
    ours = _compared(first.report)
    for part in parts[1:]:
        for name, one, other in _unlike(ours, _compared(part.report)):
            raise UsageError(
                f"{first} and {part} are not of one run: {name} is {one} in the first and {other} in "
                "the second"
            )


def _compared(report: ConformanceReport) -> dict[str, Any]:
    data = report.model_dump(mode="json", include=set(_SAME))
    data["options"].pop(SHARD, None)
    return data


def _unlike(
    one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    for name in sorted({*one, *other}):
        a, b = one.get(name), other.get(name)
        if a == b:
            continue
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _unlike(a, b, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _said(a), _said(b)


def _said(value: object) -> str:
    return "not given" if value in (None, "") else str(value)


def _cases(parts: Sequence[_Part]) -> list[tuple[CaseResult, dict[str, Path]]]:
    """Each case as its own shard has it, with the files that its histories are to be copied from.
    Judgements of the whole run are joined."""
    count = parts[0].shard.count
    runs: dict[str, dict[str, tuple[CaseResult, Path]]] = {}
    ran: dict[str, _Part] = {}
    found: dict[str, tuple[CaseResult, Path]] = {}
    for part in parts:
        folder = part.path.parent
        for case in part.report.cases:
            if is_of_run(case):
                runs.setdefault(case.id, {})[str(part.shard)] = (case, folder)
                continue
            if case.not_run is not NotRun.DESELECTED:
                if case.id in ran:
                    raise UsageError(
                        f"case {case.id} is the same in {ran[case.id]} and {part}: twice"
                    )
                ran[case.id] = part
                if not part.shard.owns(case.id):
                    right = Shard(owner(case.id, count), count)
                    raise UsageError(f"case {case.id} of {part} belongs to shard {right}")
            if part.shard.owns(case.id):
                found[case.id] = (case, folder)
    _check_same_suite(parts, found)
    joint = [joined(shares) for shares in runs.values()]
    return [
        *((case, _histories(case, folder)) for case, folder in found.values()),
        *joint,
    ]


def _histories(case: CaseResult, folder: Path) -> dict[str, Path]:
    return {case.history.path: folder / case.history.path} if case.history else {}


def _check_same_suite(parts: Sequence[_Part], found: Mapping[str, tuple[CaseResult, Path]]) -> None:
    """All shards must have had the same cases to share out; one that the operator need not pass
    stands in its own shard alone."""
    for part in parts:
        listed = {case.id for case in part.report.cases if not is_of_run(case)}
        for case in sorted(listed - set(found)):
            right = Shard(owner(case, part.shard.count), part.shard.count)
            raise UsageError(f"{part} knows case {case}, and its own shard {right} does not")
        shared = {i for i, (case, _) in found.items() if case.not_run is not NotRun.UNSUPPORTED}
        for case in sorted(shared - listed):
            raise UsageError(
                f"{part} knows nothing of case {case}: it had other cases to share out"
            )


def _placed(target: Path, case: CaseResult, sources: Mapping[str, Path]) -> CaseResult:
    """The case, its histories copied into the merged folder."""
    for path, source in sources.items():
        place = target / collect.HISTORIES / Path(path).name
        if place.exists():
            raise UsageError(
                f"two shards have a history {place.name}; their results are not of one run"
            )
        shutil.copyfile(source, place)
    return case.model_copy(
        update={
            "history": _moved(case.history),
            "parts": [p.model_copy(update={"history": _moved(p.history)}) for p in case.parts],
        }
    )


def _moved(history: HistoryFile | None) -> HistoryFile | None:
    if history is None:
        return None
    path = f"{collect.HISTORIES}/{Path(history.path).name}"
    return history.model_copy(update={"path": path})


def _report(parts: Sequence[_Part], cases: Sequence[CaseResult]) -> ConformanceReport:
    listed = sorted(cases, key=lambda case: (case.feature, case.id))
    first = parts[0].report
    return first.model_copy(
        update={
            "date": max(part.report.date for part in parts),
            "options": {k: v for k, v in first.options.items() if k != SHARD},
            "verdict": summary(listed, deviates=bool(first.deviations)),
            "statistics": statistics(listed),
            "cases": listed,
        }
    )


def _copy_beside(target: Path, shards: Mapping[Path, Shard]) -> None:
    """What lies beside the reports: Allure results and JUnit XML of all, logs by shard."""
    for name in (ALLURE, LOGS):
        shutil.rmtree(target / name, ignore_errors=True)
    (target / JUNIT).unlink(missing_ok=True)
    for folder, shard in sorted(shards.items(), key=lambda item: item[1].index):
        if (folder / ALLURE).is_dir():
            shutil.copytree(folder / ALLURE, target / ALLURE, dirs_exist_ok=True)
        if (folder / LOGS).is_dir():
            shutil.copytree(
                folder / LOGS, target / LOGS / f"shard-{shard.index}", dirs_exist_ok=True
            )
    written = [folder / JUNIT for folder in shards if (folder / JUNIT).is_file()]
    if written:
        junit.merge(sorted(written), target / JUNIT)
