"""Published documents that are made from the code: JSON schemas and the table of checkers."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from conformance.model.profile import Profile
from conformance.model.verdict import CheckerName
from conformance.report.model import ConformanceReport

SCHEMAS: dict[str, type[BaseModel]] = {
    "conformance-report.schema.json": ConformanceReport,
    "profile.schema.json": Profile,
}
"""File name → the model whose schema is published under it."""

_CHECKERS = """\
# Checkers

<!-- Made from conformance/model/verdict.py by: python -m conformance docs --write docs -->

A checker is a pure function from a recorded history to findings. This is the order in which a report
prints them; [How to read a failure](operators.md#how-to-read-a-failure) says what a finding holds.

| checker | what it proves | module |
|---|---|---|
"""


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a published document."""
    mode: Any = "serialization" if model is ConformanceReport else "validation"
    made = model.model_json_schema(mode=mode)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def checkers() -> str:
    """The page docs/checkers.md: a row for each checker."""
    rows = (
        f"| {name} | {name.meaning} | `conformance/judge/checks/{name.module}.py` |\n"
        for name in CheckerName
    )
    return _CHECKERS + "".join(rows)


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into a folder. Raises OSError."""
    texts = {name: json.dumps(schema(model), indent=2) + "\n" for name, model in SCHEMAS.items()}
    return [_written(folder / name, text) for name, text in texts.items()]


def write(folder: Path) -> list[Path]:
    """Write every page into `folder`, schemas into `folder/schema`. Raises OSError."""
    return [_written(folder / "checkers.md", checkers()), *write_schemas(folder / "schema")]


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
