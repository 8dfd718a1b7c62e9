"""The options of a run, checked at once: a mistake is one sentence and exit code 4."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.cluster.provider import ClusterKind, choose
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.operator import profiles
from conformance.operator.inputs import Inputs, check_inputs
from conformance.operator.profiles import LoadedProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the run was asked for."""

    operators: tuple[LoadedProfile, ...]
    binary: Path | None
    crds: Path | None
    faults: tuple[str, ...]
    cluster: ClusterKind
    bounds: Bounds
    results: Path

    def operator(self, name: str) -> LoadedProfile:
        """The profile of that name. Raises KeyError."""
        return next(loaded for loaded in self.operators if loaded.name == name)


def read(config: pytest.Config) -> RunOptions:
    """The checked options. Raises UsageError in one sentence."""
    get = config.getoption
    loaded = tuple(profiles.load(name) for name in get("dgd_operators"))
    names = [profile.name for profile in loaded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"--operator names {twice[0]} twice; name each operator once")
    inputs = Inputs(
        binary=_path(get("dgd_binary")),
        crds=_path(get("dgd_crds")),
        faults=tuple(get("dgd_faults")),
    )
    for profile in loaded:
        inputs = check_inputs(profile, inputs)
    return RunOptions(
        operators=loaded,
        binary=inputs.binary,
        crds=inputs.crds,
        faults=inputs.faults,
        cluster=_cluster(get("dgd_cluster")),
        bounds=_bounds(hold=get("dgd_hold"), factor=get("dgd_factor")),
        results=Path(get("dgd_results")).absolute(),
    )


_DEFAULTS = {"cluster": ClusterKind.AUTO.value, "timeout-factor": 1.0}
_GIVEN = {
    "operator-binary": "dgd_binary",
    "operator-crds": "dgd_crds",
    "fault": "dgd_faults",
    "cluster": "dgd_cluster",
    "hold": "dgd_hold",
    "timeout-factor": "dgd_factor",
}


def given(config: pytest.Config) -> dict[str, str]:
    """The options that were given and differ from the default, as they stand in a report: name →
    value, several joined by a comma."""
    found = {}
    for name, dest in _GIVEN.items():
        value = config.getoption(dest)
        if value and value != _DEFAULTS.get(name):
            found[name] = ",".join(value) if isinstance(value, list) else str(value)
    return found


def _path(value: str | None) -> Path | None:
    return None if value is None else Path(value)


def _cluster(value: str) -> ClusterKind:
    try:
        kind = ClusterKind(value)
    except ValueError:
        known = ", ".join(ClusterKind)
        raise UsageError(f"--cluster={value} is unknown; expected one of {known}") from None
    if kind in (ClusterKind.KIND, ClusterKind.KUBECONFIG):
        choose(kind)  # says that this version has none of that kind
    return kind


def _bounds(*, hold: float | None, factor: float) -> Bounds:
    if not 0 < factor < math.inf:
        raise UsageError(f"--timeout-factor={factor:g} is not a factor; expected a number above 0")
    bounds = Bounds() if factor == 1.0 else Bounds().scaled(factor)
    if hold is None:
        return bounds
    if not 0 < hold < math.inf:
        raise UsageError(f"--hold={hold:g} proves nothing; expected seconds above 0")
    return dataclasses.replace(bounds, hold=hold)
