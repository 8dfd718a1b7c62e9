"""The options of a run, checked at once: a mistake is one sentence and exit code 4."""

import dataclasses
import itertools
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conformance.cluster import ClusterKind
from conformance.cluster.kubeconfig import KubeconfigOptions
from conformance.cluster.provider import ClusterRequest
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.operator import profiles
from conformance.operator.operator_options import OperatorOptions, check_options
from conformance.operator.profiles import LoadedProfile
from conformance.plugin.kind import kind_cluster_class, kind_options
from conformance.plugin.options import OPTIONS, option


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the run was asked for."""

    operators: tuple[LoadedProfile, ...]
    operator_options: OperatorOptions = field(default_factory=OperatorOptions)
    cluster: ClusterRequest = field(default_factory=ClusterRequest)
    bounds: Bounds
    results: Path

    @property
    def live(self) -> Path:
        """Where processes of a run tell each other what they do."""
        return self.results / "live"

    def publish(self, name: str, text: str) -> None:
        """Write a file in `live`, so that other processes see all of it or nothing."""
        part = self.live / f"{name}.{os.getpid()}"
        part.write_text(text)
        part.rename(self.live / name)

    def operator(self, name: str) -> LoadedProfile:
        """The profile of that name. Raises KeyError."""
        return next(loaded for loaded in self.operators if loaded.name == name)


_KUBECONFIG_ONLY = ("kube-context", "i-own-this-cluster", "install-operator")
_NOT_REPORTED = ("operator", "results")


def given(config: pytest.Config) -> dict[str, str]:
    """The options that differ from their defaults, as the report lists them: name → value, several
    joined by a comma, empty for a switch."""
    changed = {}
    for name, settings in OPTIONS.items():
        value = option(config, name)
        if name not in _NOT_REPORTED and value and value != settings.get("default"):
            text = ",".join(value) if isinstance(value, list) else str(value)
            changed[name] = "" if value is True else text
    return changed


def read(config: pytest.Config) -> RunOptions:
    """The checked options. Raises UsageError."""
    loaded = tuple(profiles.load(name) for name in option(config, "operator"))
    names = sorted(profile.name for profile in loaded)
    for one, other in itertools.pairwise(names):
        if one == other:
            raise UsageError(f"--operator names {one} twice; name each operator once")
    operator_options = OperatorOptions(
        binary=_path(option(config, "operator-binary")),
        crds=_path(option(config, "operator-crds")), faults=tuple(option(config, "fault")),
        image=option(config, "operator-image") or "", chart=option(config, "operator-chart") or "",
    )  # fmt: skip
    cluster = _request(config, _kind(option(config, "cluster"), loaded))
    return RunOptions(
        operators=loaded, operator_options=_checked(loaded, operator_options, cluster),
        cluster=cluster, results=Path(option(config, "results")).absolute(),
        bounds=_bounds(hold=option(config, "hold"), factor=option(config, "timeout-factor")),
    )  # fmt: skip


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
    """The options of that kind of cluster. pytest-kind declares some, and may be missing."""
    if kind is not ClusterKind.KUBECONFIG:
        for name in _KUBECONFIG_ONLY:
            if option(config, name):
                raise UsageError(f"--{name} is for --cluster=kubeconfig, found --cluster={kind}")
    if kind is ClusterKind.KIND:
        minor = option(config, "kubernetes-version") or ""
        return ClusterRequest(
            kind=kind, kind_cluster=kind_cluster_class(config),
            kind_options=kind_options(config, kubernetes=minor),
        )  # fmt: skip
    if kind is ClusterKind.KUBECONFIG:
        theirs = KubeconfigOptions(
            kubeconfig=_path(config.getoption("kubeconfig", None)),
            context=option(config, "kube-context"), i_own=option(config, "i-own-this-cluster"),
            install_operator=option(config, "install-operator"),
        )  # fmt: skip
        return ClusterRequest(kind=kind, kubeconfig_options=theirs)
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
    if hold is not None and not 0 < hold < math.inf:
        raise UsageError(f"--hold={hold:g} proves nothing; expected seconds above 0")
    bounds = Bounds() if factor == 1.0 else Bounds().scaled(factor)
    return bounds if hold is None else dataclasses.replace(bounds, hold=hold)
