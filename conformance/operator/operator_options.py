"""The options that go with a profile, checked at once and without a cluster."""

import difflib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.model.errors import UsageError
from conformance.model.installs import ClusterInstall, Placement, ProcessInstall
from conformance.operator.profiles import LoadedProfile

_OPTIONS = (
    ("binary", "program", "PATH", "no {binary} in `install.command`"),
    ("crds", "CRDs", "DIR", "no {crds} under `crds` of its installation"),
    ("image", "image", "REFERENCE", "its installation names no `image`"),
    ("chart", "chart", "PATH|REFERENCE", "its installation is not by Helm"),
)
"""--operator-NAME, what it gives, how its value is shown, and why a profile may have no use for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorOptions:
    """The values of --operator-binary, --operator-crds, --operator-image, --operator-chart, --fault."""

    binary: Path | None = None
    crds: Path | None = None
    image: str = ""
    """Reference of the operator's image, for pods."""
    chart: str = ""
    """Directory, archive or `oci://` reference of its Helm chart."""
    faults: tuple[str, ...] = ()


def check_options(
    loaded: LoadedProfile, options: OperatorOptions, *, placement: Placement = Placement.PROCESS
) -> OperatorOptions:
    """The options with absolute paths. Raises UsageError if the profile needs some that are missing
    (names all), or one is given that it has no use for."""
    profile, name = loaded.profile, loaded.name
    settings: ProcessInstall | ClusterInstall
    settings = profile.process if placement is Placement.PROCESS else profile.pods
    missing = []
    for field, what, value, why_unused in _OPTIONS:
        given = bool(getattr(options, field))
        needed = getattr(settings, f"needs_{field}")
        if needed and not given:
            missing.append(f"its {what}: --operator-{field}={value}")
        if given and not getattr(settings, f"takes_{field}", needed):
            raise UsageError(
                f"--operator-{field}: the operator {name} has no use for it ({why_unused})"
            )
    if missing:
        raise UsageError(f"the operator {name} needs {', and '.join(missing)}")
    binary, crds, chart = options.binary, options.crds, Path(options.chart).expanduser()
    if binary is not None and not (binary.is_file() and os.access(binary, os.X_OK)):
        why = "is not executable" if binary.is_file() else "is not a file"
        raise UsageError(f"--operator-binary={binary} {why}; expected the operator's program")
    if crds is not None and not crds.exists():
        raise UsageError(f"--operator-crds={crds} does not exist; expected a directory with CRDs")
    if options.faults and not settings.fault_argument:
        raise UsageError(
            f"--fault={options.faults[0]}: the operator {name} has no faults to switch on "
            "(its profile has no `fault_argument`)"
        )
    for fault in options.faults if loaded.faults else ():
        if fault not in loaded.faults:
            close = difflib.get_close_matches(fault, loaded.faults, n=1)
            known = f"known are {', '.join(loaded.faults)}"
            hint = f"did you mean {close[0]}?" if close else known
            raise UsageError(f"--fault={fault} is no fault of the operator {name}; {hint}")
    return replace(
        options,
        binary=binary.resolve() if binary else None,
        crds=crds.resolve() if crds else None,
        chart=str(chart.resolve()) if options.chart and chart.exists() else options.chart,
    )
