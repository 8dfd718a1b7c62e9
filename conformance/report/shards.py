"""The reports of all shards of one run: read, verified, and checked to be of one run.

Nothing is taken on trust. Each report must agree with its histories, and all must have the same
operator, versions, options and bounds; each shard must be there once, and each case in its own shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.evidence.changes import differences
from conformance.model.errors import UsageError
from conformance.model.shard import Shard, owner
from conformance.report import files, verify
from conformance.report.model import CaseResult, ConformanceReport, NotRun

OPTION = "shard"
"""The option under which a report says which shard it is of."""
_SAME = (
    "operator", "profile_sha256", "versions", "options", "bounds", "deviations", "cluster",
    "cluster_admin",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One shard's report of one operator."""

    path: Path
    report: ConformanceReport
    shard: Shard

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard})"


def read(folders: Sequence[Path]) -> dict[str, list[Share]]:
    """The shares in the results folders, by operator. Raises UsageError, one sentence, unless they
    make up one run."""
    by_operator: dict[str, list[Share]] = {}
    for folder in folders:
        for path in files.find(folder):
            share = _read(path)
            by_operator.setdefault(share.report.operator.name, []).append(share)
    for name, shares in by_operator.items():
        _check_complete(shares)
        _check_alike(shares)
        there = {share.path.parent for share in shares}
        for folder in folders:
            if folder not in there:
                raise UsageError(f"{folder} holds no report of {name}, which {shares[0]} is about")
    return by_operator


def _read(path: Path) -> Share:
    report = files.read(path)
    if OPTION not in report.options:
        raise UsageError(f"{path} is of no shard; merge results of runs with --shard=i/n")
    problems = verify.problems(report, path.parent)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UsageError(f"{path} is not what its run wrote: {problems[0]}{more}")
    return Share(path=path, report=report, shard=Shard.parse(report.options[OPTION]))


def _check_complete(shares: Sequence[Share]) -> None:
    first = shares[0]
    count = first.shard.count
    found: dict[int, Share] = {}
    for share in shares:
        if share.shard.count != count:
            raise UsageError(
                f"{first} and {share} are of different runs: there are {count} shards in one and "
                f"{share.shard.count} in the other"
            )
        if share.shard.index in found:
            raise UsageError(
                f"{found[share.shard.index]} and {share} are the same shard; give it once"
            )
        found[share.shard.index] = share
    missing = [f"{n}/{count}" for n in range(1, count + 1) if n not in found]
    if missing:
        raise UsageError(
            f"{first.report.operator.name} lacks shard {', '.join(missing)}; give the results folder "
            f"of each of the {count} shards"
        )


def _check_alike(shares: Sequence[Share]) -> None:
    first = shares[0]
    for share in shares[1:]:
        for name, one, other in differences(_compared(first.report), _compared(share.report), ""):
            raise UsageError(
                f"{first} and {share} are not of one run: {name.removeprefix('.')} is {_said(one)} in "
                f"the first and {_said(other)} in the second"
            )


def _compared(report: ConformanceReport) -> dict[str, Any]:
    data = report.model_dump(mode="json", include=set(_SAME))
    data["options"].pop(OPTION, None)
    return data


def _said(value: object) -> str:
    return "not given" if value in (None, "") else str(value)


def owned(shares: Sequence[Share]) -> list[tuple[Share, CaseResult]]:
    """Each case as its own shard has it. Raises UsageError if a case ran in two shards or in the wrong
    one, or if the shards did not share out the same cases."""
    ran: dict[str, Share] = {}
    found: dict[str, tuple[Share, CaseResult]] = {}
    for share in shares:
        for case in _cases(share):
            mine = share.shard.owns(case.id)
            if case.not_run is not NotRun.DESELECTED:
                if case.id in ran:
                    raise UsageError(f"case {case.id} is in {ran[case.id]} and again in {share}")
                if not mine:
                    raise UsageError(
                        f"case {case.id} of {share} belongs to shard {_owner(case.id, share)}"
                    )
                ran[case.id] = share
            if mine:
                found[case.id] = (share, case)
    _check_same_cases(shares, found)
    return list(found.values())


def _check_same_cases(
    shares: Sequence[Share], found: Mapping[str, tuple[Share, CaseResult]]
) -> None:
    # A case that the operator does not support is listed by its own shard alone.
    shared = {i for i, (_, case) in found.items() if case.not_run is not NotRun.UNSUPPORTED}
    for share in shares:
        listed = {case.id for case in _cases(share)}
        for case in sorted(listed - set(found)):
            raise UsageError(
                f"{share} knows case {case}, and its own shard {_owner(case, share)} does not"
            )
        for case in sorted(shared - listed):
            raise UsageError(f"{share} knows nothing of case {case}: it shared out other cases")


def _cases(share: Share) -> list[CaseResult]:
    return [case for case in share.report.cases if not case.of_run]


def _owner(case: str, share: Share) -> Shard:
    return Shard(owner(case, share.shard.count), share.shard.count)
