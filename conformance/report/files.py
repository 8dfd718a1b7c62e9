"""The report on disk: written, read, and verified against what lies beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from conformance import __version__
from conformance.history import store
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.model.profile import Profile
from conformance.report.build import digest, statistics, summary
from conformance.report.concessions import concessions
from conformance.report.model import ConformanceReport

STEM = "report"
SCHEMAS: dict[str, type[BaseModel]] = {
    "conformance-report.schema.json": ConformanceReport,
    "profile.schema.json": Profile,
}
"""File name → the model whose schema is published under it."""


def write(report: ConformanceReport, folder: Path, *, stem: str = STEM) -> tuple[Path, Path]:
    """Write `report.yaml` and `report.json`; both hold the same document. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    data = report.model_dump(mode="json")
    as_yaml, as_json = folder / f"{stem}.yaml", folder / f"{stem}.json"
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    as_yaml.write_text(text, encoding="utf-8")
    as_json.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return as_yaml, as_json


def find(folder: Path) -> list[Path]:
    """The reports in a results folder (one an operator). Raises UsageError if there is none."""
    found = sorted(folder.glob(f"{STEM}*.json"))
    if not found:
        raise UsageError(
            f"{folder} holds no {STEM}.json; give the folder that --results named, after a run"
        )
    return found


def read(path: Path) -> ConformanceReport:
    """A report from JSON or YAML. Raises UsageError naming the file and the first wrong field."""
    try:
        text = path.read_text(encoding="utf-8")
        data: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        return ConformanceReport.model_validate(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; give a report.json") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}; expected a ConformanceReport") from None
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(
            f"{path} is neither JSON nor YAML ({reason}); give a report.json"
        ) from None


def verify(report: ConformanceReport, folder: Path) -> list[str]:
    """What in the report is not true, one sentence each; empty if everything is.

    Counts and verdict are computed again from its cases, digests from the histories in `folder`, and
    concessions from the profile with which these were judged.
    """
    problems = []
    counts = statistics(report.cases)
    for name, value in counts.model_dump().items():
        stated = getattr(report.statistics, name)
        if stated != value:
            problems.append(f"statistics.{name} says {stated}, its cases add up to {value}")
    deviates = bool(report.deviations)
    right = summary(report.cases, deviates=deviates)
    if right is not report.verdict:
        problems.append(f"verdict says {report.verdict}, its cases and bounds amount to {right}")
    twice = [case for case, times in Counter(case.id for case in report.cases).items() if times > 1]
    problems += [f"case {case} stands in it more than once" for case in twice]
    problems += _bounds(report)
    problems += _conceded(report, folder)
    for case in report.cases:
        if case.history is None:
            if case.not_run is None and not case.error:
                problems.append(f"case {case.id} names no history, so nothing backs its verdict")
            continue
        problems += _digest(case.id, folder / case.history.path, case.history.sha256)
        for part in case.parts:
            if part.history is not None:
                problems += _digest(case.id, folder / part.history.path, part.history.sha256)
    return problems


def _bounds(report: ConformanceReport) -> list[str]:
    problems = []
    if report.versions.get("suite") == __version__:
        default = Bounds().to_json()
        hidden = [
            name
            for name, value in report.bounds.items()
            if name in default and value != default[name] and name not in report.deviations
        ]
        problems += [f"bounds.{name} is not the default; deviations hides it" for name in hidden]
    for name, deviation in report.deviations.items():
        if report.bounds.get(name) != deviation.value:
            stated = report.bounds.get(name)
            problems.append(
                f"deviations.{name} says {deviation.value:g}, bounds.{name} says {stated}"
            )
    return problems


def _conceded(report: ConformanceReport, folder: Path) -> Iterator[str]:
    """Each history holds the profile that it was judged with. Reports of other versions of the suite
    may know other concessions."""
    if report.versions.get("suite") != __version__:
        return
    stated = {(one.kind, one.what, one.reason) for one in report.concessions}
    profiles: dict[str, str] = {}
    for case in report.cases:
        for part in case.parts or (case,):
            if part.history is not None:
                with suppress(UsageError):  # one that cannot be read is told of with its digest
                    header = store.read_header(folder / part.history.path)
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


def _digest(case: str, path: Path, stated: str) -> list[str]:
    try:
        found = digest(path)
    except OSError as error:
        return [f"case {case}: its history {path} cannot be read: {error.strerror}"]
    if found != stated:
        return [f"case {case}: {path} has sha256 {found[:12]}…, the report says {stated[:12]}…"]
    return []


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a published document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(
            mode="serialization" if model is ConformanceReport else "validation"
        ),
    }


def write_schemas(folder: Path) -> list[Path]:
    """Write every published schema into a folder. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, model in SCHEMAS.items():
        path = folder / name
        path.write_text(json.dumps(schema(model), indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written
