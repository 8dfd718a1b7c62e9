"""What the user gives beside a profile, checked at once and without a cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from conformance.model.errors import UsageError
from conformance.operator.profiles import LoadedProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What the user gives beside the profile."""

    binary: Path | None = None
    crds: Path | None = None
    faults: tuple[str, ...] = ()


def check_inputs(loaded: LoadedProfile, inputs: Inputs) -> Inputs:
    """The inputs with absolute paths. Raises UsageError, at once and without a cluster, if the
    profile needs one that is missing, or one is given that it has no use for."""
    name, settings = loaded.name, loaded.profile.install
    binary, crds = inputs.binary, inputs.crds
    if settings.needs_binary and binary is None:
        raise UsageError(f"the operator {name} needs its program: give --operator-binary=PATH")
    if settings.needs_crds and crds is None:
        raise UsageError(f"the operator {name} needs its CRDs: give --operator-crds=DIR")
    if binary is not None and not settings.needs_binary:
        raise UsageError(
            f"--operator-binary: the operator {name} has no {{binary}} in `install.command`"
        )
    if crds is not None and not settings.needs_crds:
        raise UsageError(f"--operator-crds: the operator {name} has no {{crds}} in `install.crds`")
    if binary is not None and not (binary.is_file() and os.access(binary, os.X_OK)):
        why = "is not executable" if binary.is_file() else "is not a file"
        raise UsageError(f"--operator-binary={binary} {why}; expected the operator's program")
    if crds is not None and not crds.exists():
        raise UsageError(f"--operator-crds={crds} does not exist; expected a directory with CRDs")
    if inputs.faults and not settings.fault_argument:
        raise UsageError(
            f"--fault={inputs.faults[0]}: the operator {name} has no faults to switch on "
            "(its profile has no `install.fault_argument`)"
        )
    return Inputs(
        binary=binary.resolve() if binary else None,
        crds=crds.resolve() if crds else None,
        faults=inputs.faults,
    )
