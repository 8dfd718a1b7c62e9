"""The reports of all shards of one run: read, verified, and checked to be of one run.

Nothing is taken on trust. Each report must agree with its histories, and all must have the same
operator, versions, options and bounds; each shard must be there once, and each case in its own shard.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    def owner(self, case: str) -> Shard:
        """The shard to which the case of that id belongs."""
        return Shard(owner(case, self.shard.count), self.shard.count)


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
            f"{first.report.operator.name} lacks shard {', '.join(missing)}; give the results folder "
            f"of each of the {count} shards"
        )


def _check_alike(shares: Sequence[Share]) -> None:
    first, *others = shares
    for share in others:
        for name, *values in differences(_compared(first.report), _compared(share.report), ""):
            one, other = ("not given" if value in (None, "") else value for value in values)
            raise UsageError(
                f"{first} and {share} are not of one run: {name.removeprefix('.')} is {one} in "
                f"the first and {other} in the second"
            )


def _compared(report: ConformanceReport) -> dict[str, Any]:
    data = report.model_dump(mode="json", include=_SAME)
    data["options"].pop(OPTION, None)
    return data


def owned(shares: Sequence[Share]) -> list[tuple[Share, CaseResult]]:
    """Each case as its own shard has it. Raises UsageError if a case ran in two shards or in the wrong
    one, or if the shards did not share out the same cases."""
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
    return list(found.values())
