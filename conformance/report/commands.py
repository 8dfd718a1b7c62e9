"""What `python -m conformance` does with stored results; each function returns the exit code."""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from conformance.judge.wording import count
from conformance.model.errors import Exit, UsageError
from conformance.operator import faults as tables
from conformance.report import compare as comparison
from conformance.report import documents, files, markdown, terminal
from conformance.report import merge as merging
from conformance.report import recheck as rechecking
from conformance.report import verify as verification
from conformance.report.model import ConformanceReport, Summary

__all__ = ["compare", "docs", "faults", "merge", "recheck", "schema", "summary", "verify"]


def recheck(arguments: argparse.Namespace) -> int:
    """Judge stored histories again and compare with the verdicts of their run."""
    folder: Path = arguments.folder
    if not folder.exists():
        raise UsageError(f"{folder} does not exist; give the folder that --results named")
    checks = rechecking.recheck(folder)
    if arguments.json:
        print(json.dumps([check.to_json() for check in checks], indent=2, ensure_ascii=False))
    else:
        print(rechecking.render(checks, **_looks()))
    if not checks:
        return Exit.NOTHING
    if any(check.same is False for check in checks):
        return Exit.DIFFERS
    return Exit.OK if all(check.same for check in checks) else Exit.UNKNOWN


def faults(_arguments: argparse.Namespace) -> int:
    """List the faults of the reference operator."""
    print(tables.render(tables.of_reference()))
    return Exit.OK


def schema(arguments: argparse.Namespace) -> int:
    """Print one published schema, or write all."""
    if arguments.write is not None:
        return _written(documents.write_schemas(arguments.write))
    model = documents.SCHEMAS[f"{arguments.document}.schema.json"]
    print(json.dumps(documents.schema(model), indent=2))
    return Exit.OK


def docs(arguments: argparse.Namespace) -> int:
    """Write all documents that are made from the code."""
    return _written(documents.write(arguments.write))


def verify(arguments: argparse.Namespace) -> int:
    """Check reports against their cases and histories."""
    wrong = False
    for path in files.find(arguments.folder):
        problems = verification.problems(files.read(path), path.parent)
        wrong = wrong or bool(problems)
        for problem in problems or ["counts, verdict, concessions and digests are as stated"]:
            print(f"{path}: {problem}")
    return Exit.DIFFERS if wrong else Exit.OK


def summary(arguments: argparse.Namespace) -> int:
    """Print reports as Markdown; append the outputs of a CI step to a file."""
    print(markdown.of_folder(arguments.folder), end="")
    if arguments.outputs is not None:
        with arguments.outputs.open("a", encoding="utf-8") as file:
            file.write(markdown.outputs(arguments.folder))
    return Exit.OK


def merge(arguments: argparse.Namespace) -> int:
    """Join the results of all shards; the verdict of the joined report gates."""
    reports = merging.merge(arguments.target, arguments.folders)
    for report in reports:
        print(terminal.summary(report, results=str(arguments.target), **_looks()))
    bad = (Summary.VIOLATES, Summary.UNKNOWN)
    return Exit.DIFFERS if any(report.verdict in bad for report in reports) else Exit.OK


def compare(arguments: argparse.Namespace) -> int:
    """Say how two reports differ, apart from times."""
    one, other = _report(arguments.one), _report(arguments.other)
    differences = comparison.differences(one, other)
    for difference in differences:
        print(difference)
    if not differences:
        print(f"no difference apart from times: {count(len(one.cases), 'case')}, {one.verdict}")
    return Exit.DIFFERS if differences else Exit.OK


def _report(place: Path) -> ConformanceReport:
    paths = files.find(place)
    if len(paths) > 1:
        raise UsageError(f"{place} holds reports of several operators; name one of the files")
    return files.read(paths[0])


def _written(paths: list[Path]) -> int:
    for path in paths:
        print(path)
    return Exit.OK


def _looks() -> dict[str, Any]:
    return {"width": shutil.get_terminal_size((100, 24)).columns, "color": sys.stdout.isatty()}
