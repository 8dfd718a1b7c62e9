"""Tables of faults: what operators that can be broken on purpose can have wrong, and who reports it."""

import tomllib
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from conformance import paths
from conformance.model.errors import UsageError
from conformance.model.field_types import Strict
from conformance.model.verdict import CheckerName
from conformance.operator.profile_errors import complaint


class Fault(Strict):
    """An entry of a table, such as `[reference.hot-loop]` of operators/reference/faults.toml."""

    breaks: str
    """What is wrong with the operator, in one sentence."""
    checker: CheckerName
    """The checker that must report it; others may report it, too."""
    case: str
    """A case that shows it, as pytest names it below the folder of the cases."""


FaultTable: TypeAlias = dict[str, dict[str, Fault]]
"""Name of a profile → name of a fault → what it is, in the order of the file."""


def read(path: Path) -> FaultTable:
    """The table in a TOML file. Raises UsageError if it is missing or is no such table."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; expected a table of faults") from None
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    if not data:
        raise UsageError(f"{path} holds no faults; expected [PROFILE.FAULT] for each")
    try:
        return TypeAdapter(FaultTable).validate_python(data)
    except ValidationError as error:
        raise UsageError(f"{path}: {complaint(error, Fault)}") from None


def of_reference() -> FaultTable:
    """The faults of the reference operator. Raises UsageError."""
    return read(paths.operators() / "reference" / "faults.toml")


def render(table: FaultTable) -> str:
    """One fault a line: name, checker, case; in columns, so that `awk '{print $1}'` gives names."""
    rows = [(name, fault) for faults in table.values() for name, fault in faults.items()]
    wide = max(len(name) for name, _ in rows)
    wider = max(len(fault.checker) for _, fault in rows)
    lines = [f"{name:<{wide}}  {fault.checker:<{wider}}  {fault.case}" for name, fault in rows]
    return "\n".join(lines)
