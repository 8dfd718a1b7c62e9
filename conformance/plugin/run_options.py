"""The options of a run, checked at once: a mistake is one sentence and exit code 4."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance.cluster.kubeconfig import KubeconfigOptions
from conformance.cluster.provider import ClusterKind, ClusterRequest
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.operator import profiles
from conformance.operator.operator_options import OperatorOptions, check_options
from conformance.operator.profiles import LoadedProfile
from conformance.plugin.kind import kind_cluster_class, kind_options


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the run was asked for."""

    operators: tuple[LoadedProfile, ...]
    operator_options: OperatorOptions = field(default_factory=OperatorOptions)
    cluster: ClusterRequest = field(default_factory=ClusterRequest)
    bounds: Bounds
    results: Path

    def operator(self, name: str) -> LoadedProfile:
        """The profile of that name. Raises KeyError."""
        return next(loaded for loaded in self.operators if loaded.name == name)


_OWN = ("kube-context", "i-own-this-cluster", "install-operator")
_DEFAULTS = {
    "cluster": ClusterKind.AUTO.value,
    "timeout-factor": 1.0,
}
_GIVEN = {
    "operator-binary": "dgd_binary",
    "operator-crds": "dgd_crds",
    "operator-image": "dgd_image",
    "operator-chart": "dgd_chart",
    "fault": "dgd_faults",
    "cluster": "dgd_cluster",
    "kube-context": "dgd_context",
    "i-own-this-cluster": "dgd_own",
    "install-operator": "dgd_install",
    "kubernetes-version": "dgd_kubernetes",
    "hold": "dgd_hold",
    "timeout-factor": "dgd_factor",
    "shard": "dgd_shard",
}


def given(config: pytest.Config) -> dict[str, str]:
    """The options that were given and differ from the default, as they stand in a report: name →
    value, several joined by a comma, empty for a switch."""
    found = {}
    for name, dest in _GIVEN.items():
        value = config.getoption(dest)
        if value is True:
            found[name] = ""
        elif value and value != _DEFAULTS.get(name):
            found[name] = ",".join(value) if isinstance(value, list) else str(value)
    return found


def read(config: pytest.Config) -> RunOptions:
    """The checked options. Raises UsageError."""
    get = config.getoption
    loaded = tuple(profiles.load(name) for name in get("dgd_operators"))
    names = [profile.name for profile in loaded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"--operator names {twice[0]} twice; name each operator once")
    given = OperatorOptions(
        binary=_path(get("dgd_binary")),
        crds=_path(get("dgd_crds")),
        image=get("dgd_image") or "",
        chart=get("dgd_chart") or "",
        faults=tuple(get("dgd_faults")),
    )
    cluster = _request(config, _kind(get("dgd_cluster"), loaded))
    return RunOptions(
        operators=loaded,
        operator_options=_checked(loaded, given, cluster),
        cluster=cluster,
        bounds=_bounds(hold=get("dgd_hold"), factor=get("dgd_factor")),
        results=Path(get("dgd_results")).absolute(),
    )


def _checked(
    operators: tuple[LoadedProfile, ...], given: OperatorOptions, cluster: ClusterRequest
) -> OperatorOptions:
    if not cluster.installed_already:
        for loaded in operators:
            given = check_options(loaded, given, placement=cluster.placement)
        return given
    if given != OperatorOptions():
        raise UsageError(
            "--cluster=kubeconfig takes the operator that is installed there, so it has no use for "
            "options that describe another one: give --install-operator too, or leave them out"
        )
    for loaded in operators:
        _ = loaded.profile.pods
    return given


def _request(config: pytest.Config, kind: ClusterKind) -> ClusterRequest:
    """The options of that kind of cluster. pytest-kind owns some of them, and need not be there."""
    get = config.getoption
    if kind is not ClusterKind.KUBECONFIG:
        for option in _OWN:
            if get(_GIVEN[option]):
                raise UsageError(f"--{option} is for --cluster=kubeconfig, found --cluster={kind}")
    if kind is ClusterKind.KIND:
        return ClusterRequest(
            kind=kind,
            kind_cluster=kind_cluster_class(config),
            kind_options=kind_options(config, kubernetes=get("dgd_kubernetes") or ""),
        )
    if kind is ClusterKind.KUBECONFIG:
        return ClusterRequest(
            kind=kind,
            kubeconfig_options=KubeconfigOptions(
                kubeconfig=_path(get("kubeconfig", None)),
                context=get("dgd_context"),
                i_own=get("dgd_own"),
                install_operator=get("dgd_install"),
            ),
        )
    return ClusterRequest()


def _path(value: str | None) -> Path | None:
    return None if value is None else Path(value)


def _kind(value: str, loaded: tuple[LoadedProfile, ...]) -> ClusterKind:
    try:
        kind = ClusterKind(value)
    except ValueError:
        known = ", ".join(ClusterKind)
        raise UsageError(f"--cluster={value} is unknown; expected one of {known}") from None
    if kind is not ClusterKind.AUTO:
        return kind
    as_processes = all(one.profile.install is not None for one in loaded)
    return ClusterKind.EMBEDDED if as_processes else ClusterKind.KIND


def _bounds(*, hold: float | None, factor: float) -> Bounds:
    if not 0 < factor < math.inf:
        raise UsageError(f"--timeout-factor={factor:g} is not a factor; expected a number above 0")
    bounds = Bounds() if factor == 1.0 else Bounds().scaled(factor)
    if hold is None:
        return bounds
    if not 0 < hold < math.inf:
        raise UsageError(f"--hold={hold:g} proves nothing; expected seconds above 0")
    return dataclasses.replace(bounds, hold=hold)
