"""Judgements of a whole run (what was left outside the cases' namespaces), joined over its shards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from conformance.model.run_cases import PREFIX
from conformance.model.verdict import Verdict, worst
from conformance.report.model import CaseResult, HistoryFile, ReportedFinding

_SUFFIX = ".jsonl.zst"


def is_of_run(case: CaseResult) -> bool:
    """True if it judges the whole run and is no test: each shard has one of its own."""
    return case.id.startswith(PREFIX) and not case.node


def joined(shares: Mapping[str, tuple[CaseResult, Path]]) -> tuple[CaseResult, dict[str, Path]]:
    """What the shards (`2/4` → result and its folder) amount to, the worst of them; and where the
    history of each lies. The verdict and findings of each are kept as parts.

    A known failure that shows in one shard has shown: it is missed only if it shows in none.
    """
    parts: list[CaseResult] = []
    sources: dict[str, Path] = {}
    for shard, (case, folder) in sorted(shares.items(), key=lambda item: _index(item[0])):
        history = case.history
        if history is not None:
            path = _renamed(history.path, _index(shard))
            sources[path] = folder / history.path
            history = HistoryFile(path=path, sha256=history.sha256)
        parts.append(case.model_copy(update={"history": history}))
    ran = [part for part in parts if part.not_run is None] or parts
    verdicts = [part.verdict or Verdict.UNKNOWN for part in ran]
    verdict = worst(verdicts)
    telling = ran[verdicts.index(verdict)]
    findings: list[ReportedFinding] = []
    for part in ran:
        findings += [f for f in part.findings if not any(_same(f, known) for known in findings)]
    missed = set.intersection(*(set(part.unexpected_passes) for part in ran))
    merged = telling.model_copy(
        update={
            "verdict": verdict,
            "findings": findings,
            "duration": max(part.duration for part in ran),
            "error": "; ".join(dict.fromkeys(part.error for part in ran if part.error)),
            "unexpected_passes": sorted(missed),
            "parts": parts if len(parts) > 1 else [],
        }
    )
    return merged, sources


def _index(shard: str) -> int:
    return int(shard.partition("/")[0])


def _renamed(path: str, index: int) -> str:
    name = PurePosixPath(path)
    return str(name.with_name(f"{name.name.removesuffix(_SUFFIX)}.shard-{index}{_SUFFIX}"))


def _same(one: ReportedFinding, other: ReportedFinding) -> bool:
    aside = {"first_at", "last_at"}
    return one.model_dump(exclude=aside) == other.model_dump(exclude=aside)
