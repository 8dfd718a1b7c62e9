"""A report checked against its own cases and against the histories that lie beside it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from conformance import __version__
from conformance.history import store
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.model.profile import Profile
from conformance.report.build import statistics, summary
from conformance.report.concessions import concessions
from conformance.report.files import digest
from conformance.report.model import CaseResult, ConformanceReport


def problems(report: ConformanceReport, folder: Path) -> list[str]:
    """What is not true in the report, one sentence each.

    Counts and verdict are computed again from its cases, digests from the histories in `folder`, and
    concessions from the profile with which these were judged.
    """
    # Another version of the suite may have other defaults, and know other concessions.
    current = report.versions.get("suite") == __version__
    return [
        *_counts(report),
        *_bounds(report, Bounds().to_json() if current else {}),
        *(_concessions(report, folder) if current else ()),
        *(problem for case in report.cases for problem in _histories(case, folder)),
    ]


def _counts(report: ConformanceReport) -> Iterator[str]:
    for name, value in statistics(report.cases).model_dump().items():
        stated = getattr(report.statistics, name)
        if stated != value:
            yield f"statistics.{name} says {stated}, its cases add up to {value}"
    right = summary(report.cases, deviates=bool(report.deviations))
    if right is not report.verdict:
        yield f"verdict says {report.verdict}, its cases and bounds amount to {right}"
    for case, times in Counter(case.id for case in report.cases).items():
        if times > 1:
            yield f"case {case} is listed {times} times"


def _bounds(report: ConformanceReport, defaults: Mapping[str, float]) -> Iterator[str]:
    for name, deviation in report.deviations.items():
        stated = report.bounds.get(name)
        if stated != deviation.value:
            yield f"deviations.{name} says {deviation.value:g}, bounds.{name} says {stated}"
    for name, default in defaults.items():
        if report.bounds.get(name, default) != default and name not in report.deviations:
            yield f"bounds.{name} is not the default; deviations hides it"


def _concessions(report: ConformanceReport, folder: Path) -> Iterator[str]:
    stated = {(one.kind, one.what, one.reason) for one in report.concessions}
    profiles: dict[str, str] = {}
    for case in report.cases:
        for history in case.histories:
            with suppress(UsageError):  # the digest already tells of one that cannot be read
                header = store.read_header(folder / history.path)
                profiles.setdefault(json.dumps(header.profile, sort_keys=True), case.id)
    if len(profiles) > 1:
        first, second, *_ = profiles.values()
        yield f"cases {first} and {second} were judged with different profiles"
    for text, judged in profiles.items():
        right = {(c.kind, c.what, c.reason) for c in concessions(Profile.model_validate_json(text))}
        for kind, what, _ in sorted(right - stated):
            yield f"concessions lacks the {kind.noun} {what}, with which case {judged} was judged"
        for kind, what, _ in sorted(stated - right):
            yield f"concessions lists the {kind.noun} {what}; case {judged} was judged without it"


def _histories(case: CaseResult, folder: Path) -> Iterator[str]:
    if case.history is None and case.not_run is None and not case.error:
        yield f"case {case.id} names no history, so nothing backs its verdict"
    for history in case.histories:
        path, stated = folder / history.path, history.sha256
        try:
            found = digest(path)
        except OSError as error:
            yield f"case {case.id}: its history {path} cannot be read: {error.strerror}"
        else:
            if found != stated:
                yield f"case {case.id}: {path} has sha256 {found[:12]}…, the report says {stated[:12]}…"
