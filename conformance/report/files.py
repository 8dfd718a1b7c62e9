"""A results folder on disk: a file for each case, a history for each case, and the reports.

Each case has its own file because a worker that dies takes everything in its memory with it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from conformance.history import store
from conformance.model.errors import InfraError, UsageError
from conformance.report.build import RunFacts, lost, report
from conformance.report.model import API_VERSION, CaseResult, ConformanceReport, HistoryFile

STEM = "report"
CASES = "cases"
HISTORIES = "histories"
ATTEMPTS = "attempts"
"""Within HISTORIES: of looks that did not decide."""

# Results of v1alpha1 are read as they would be written today: the field that holds an object → names of
# the object's own fields, old and new; and values, by their field.
_OLD = "conformance.dgd.dev/v1alpha1"
_OLD_CASE = {"node": "nodeid", "parts": "shards"}
_OLD_FIELDS = {
    "report": {"admin": "cluster_admin"},
    "statistics": {"lacking": "required_not_run"},
    "cases": _OLD_CASE,
    "parts": _OLD_CASE,
    "findings": {"known": "known_failure"},
}
_OLD_VALUES = {
    ("apiVersion", _OLD): API_VERSION,
    ("not_run", "moot"): "nothing-to-judge",
    ("kind", "keeper"): "retained-object",
}


def begin(results: Path) -> None:
    """Make the folder ready for a new run, which must not count results of an earlier one.

    Removes only files that a run writes. For the controller alone: workers of a running session have
    files there. Raises OSError.
    """
    for folder in (CASES, HISTORIES):
        (results / folder).mkdir(parents=True, exist_ok=True)
    for pattern in (
        f"{CASES}/*.json", f"{HISTORIES}/**/*{store.SUFFIX}", f"{STEM}*.json", f"{STEM}*.yaml",
    ):  # fmt: skip
        for old in results.glob(pattern):
            old.unlink()


def slug(case: str, operator: str = "") -> str:
    """A file name for a case: `add-worker[replace-v1alpha1]` → `add-worker-replace-v1alpha1`."""
    text = re.sub(r"[^A-Za-z0-9._]+", "-", case).strip("-.")
    return f"{operator}--{text}" if operator else text


def history_path(results: Path, case: str, operator: str = "") -> Path:
    """Where the history of a case is stored."""
    return results / HISTORIES / f"{slug(case, operator)}{store.SUFFIX}"


def attempt_path(history: Path) -> Path:
    """Where the history of an earlier look at a case is kept, beside which its own is stored."""
    return history.parent / ATTEMPTS / history.name


def history_file(path: Path, *, results: Path) -> HistoryFile:
    """The reference to a stored history, relative to the results folder. Raises OSError."""
    return HistoryFile(path=path.relative_to(results).as_posix(), sha256=digest(path))


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_case(results: Path, case: CaseResult) -> Path:
    """Store the result of one case, completely or not at all. Raises OSError."""
    folder = results / CASES
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(case.id, case.operator)}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(case.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return part.replace(path)


def read_cases(results: Path) -> list[CaseResult]:
    """The results of all cases. Raises InfraError naming a file that is not one."""
    cases = []
    for path in sorted((results / CASES).glob("*.json")):
        try:
            # This file has no version: the old names are in use nowhere else.
            data = _upgraded(json.loads(path.read_text(encoding="utf-8")), "cases")
            cases.append(CaseResult.model_validate(data))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InfraError(f"{path} is not the result of a case: {reason}") from None
    return cases


def collect(
    results: Path,
    facts: Mapping[str, RunFacts],
    *,
    expected: Iterable[CaseResult] = (),
    broken_off: str = "",
) -> list[ConformanceReport]:
    """Write a report for each operator (`facts` is by its name) from the files of its cases; `lost`
    explains the rest. Raises OSError, InfraError."""
    cases = read_cases(results)
    cases += lost(expected, cases, broken_off=broken_off)
    reports = {
        name: report([case for case in cases if case.operator == name], fact)
        for name, fact in facts.items()
    }
    write(reports, results)
    return list(reports.values())


def write(reports: Mapping[str, ConformanceReport], folder: Path) -> list[Path]:
    """Write each operator's report as YAML and JSON, and return the paths of the JSON files: `report.*`
    if there is one, of several `report-OPERATOR.*`. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for operator, made in reports.items():
        path = folder / (f"{STEM}.json" if len(reports) == 1 else f"{STEM}-{operator}.json")
        data = made.model_dump(mode="json")
        path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        path.with_suffix(".yaml").write_text(text, encoding="utf-8")
        written.append(path)
    return written


def find(place: Path) -> list[Path]:
    """The reports in a folder, one for each operator, or the file itself. Raises UsageError."""
    if place.is_file():
        return [place]
    found = sorted(place.glob(f"{STEM}*.json"))
    if found:
        return found
    raise UsageError(
        f"{place} holds no {STEM}.json; give the folder that --results named, after a run"
    )


def read(path: Path) -> ConformanceReport:
    """A report from JSON or YAML. Raises UsageError naming the file and the first wrong field."""
    try:
        text = path.read_text(encoding="utf-8")
        data: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        old = isinstance(data, Mapping) and data.get("apiVersion") == _OLD
        return ConformanceReport.model_validate(_upgraded(data, "report") if old else data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; give a report.json") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}; expected a ConformanceReport") from None
    except (ValueError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise UsageError(f"{path} is neither JSON nor YAML ({why}); give a report.json") from None


def _upgraded(data: Any, field: str) -> Any:
    if isinstance(data, list):
        return [_upgraded(one, field) for one in data]
    if not isinstance(data, Mapping):
        return _OLD_VALUES.get((field, data), data)
    names = _OLD_FIELDS.get(field, {})
    return {names.get(key, key): _upgraded(value, key) for key, value in data.items()}
