"""The reference operator's faults, read from its own table, for people and the mutants' gate."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

from conformance import paths
from conformance.model.errors import UsageError

_MODULE = "_dgd_reference_faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRow:
    """A fault's name, the checker that must notice it, and the kind of case that shows it."""

    name: str
    checker: str
    case: str
    policy: str
    sentence: str


def load(path: Path | None = None) -> list[FaultRow]:
    """The table in `operators/reference/faults.py`, in its order.

    Loaded by path, because operators are data of the suite and no package that it imports. Raises
    UsageError if the file is missing or holds no table.
    """
    path = path or paths.operators() / "reference" / "faults.py"
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"{path} is missing; expected the reference operator's table of faults")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up while it is being defined.
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[_MODULE]
    table = getattr(module, "FAULTS", None)
    if not table:
        raise UsageError(f"{path} holds no FAULTS; expected name → FaultInfo for each fault")
    return [
        FaultRow(
            name=str(name),
            checker=str(info.checker),
            case=str(info.case),
            policy=str(info.policy),
            sentence=str(info.sentence),
        )
        for name, info in table.items()
    ]


def render(rows: list[FaultRow]) -> str:
    """One fault a line: name, checker, case; in columns, so that `awk '{print $1}'` gives names."""
    name = max(len(row.name) for row in rows)
    checker = max(len(row.checker) for row in rows)
    return "\n".join(f"{row.name:<{name}}  {row.checker:<{checker}}  {row.case}" for row in rows)
