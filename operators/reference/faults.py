"""Known faults as switches: each breaks one promise of an otherwise correct operator.

Their table is faults.toml, which the suite reads, too. Without ``--fault`` no ``faults.on(...)`` is
true.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Policy(StrEnum):
    """What the operator promises for a change of topology."""

    RECONCILE = "reconcile"
    REFUSE = "refuse"


@dataclass(frozen=True)
class FaultInfo:
    """An entry of faults.toml."""

    profile: str
    """Name of the operator's profile under which the fault shows."""
    breaks: str
    checker: str
    case: str


_TABLE = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))

FAULTS: dict[str, FaultInfo] = {
    name: FaultInfo(profile, **row)
    for profile, rows in _TABLE.items()
    for name, row in rows.items()
}

Fault = StrEnum("Fault", {name.replace("-", "_").upper(): name for name in FAULTS})
"""Names as given to ``--fault``: ``Fault.HOT_LOOP`` is ``hot-loop``."""


class UnknownFaultError(ValueError):
    """A name given to ``--fault`` is not in the table."""


class Faults:
    """The faults switched on in this process."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        known = ", ".join(FAULTS)
        for name in names:
            if name not in FAULTS:
                raise UnknownFaultError(f"unknown fault {name!r}: expected one of {known}")
        self._active = frozenset(Fault(name) for name in names)

    def on(self, fault: Fault) -> bool:
        return fault in self._active

    def __iter__(self) -> Iterable[Fault]:
        return iter(sorted(self._active))
