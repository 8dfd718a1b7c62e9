"""Documentation made from the code: the table of checkers, beside the JSON schemas."""

from __future__ import annotations

from pathlib import Path

from conformance.model.verdict import CheckerName
from conformance.report import files

_CHECKERS = """\
# Checkers

<!-- Made from conformance/model/verdict.py by: python -m conformance docs --write docs -->

A checker is a pure function from a recorded history to findings. This is the order in which a report
prints them; [How to read a failure](operators.md#how-to-read-a-failure) says what a finding holds.

| checker | what it proves | module |
|---|---|---|
"""


def checkers() -> str:
    """The page docs/checkers.md: a row for each checker."""
    rows = (
        f"| {name} | {name.meaning} | `conformance/judge/checks/{name.module}.py` |\n"
        for name in CheckerName
    )
    return _CHECKERS + "".join(rows)


def write(folder: Path) -> list[Path]:
    """Write every generated page into `folder`, schemas into `folder/schema`. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "checkers.md"
    page.write_text(checkers(), encoding="utf-8")
    return [page, *files.write_schemas(folder / "schema")]
