"""All probes, and what follows for each kind of cluster."""

import dataclasses
import enum
import functools
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.cluster import ClusterKind
from conformance.cluster.programs.pins import PINS, Program
from conformance.doctor import machine, programs
from conformance.doctor.probing import Finding, Probe, State, run_all

SCHEMA_VERSION = 1
"""Of the JSON. Names and meanings stay within a number; things may be added."""

PROBES: Mapping[str, Probe] = {
    "python": machine.python,
    "lock": machine.lock,
    "architecture": machine.hardware,
    "resources": machine.resources,
    "mount-namespaces": machine.private_files,
    "control-plane": programs.control_plane,
    "go": programs.go,
    **{name: functools.partial(programs.tool, name) for name in programs.TOOLS},
    "node-image": programs.node_image,
    "pytest-kind": machine.pytest_kind,
    "kubeconfig": machine.kubeconfig,
}


class Readiness(enum.StrEnum):
    """Whether a kind of cluster would work."""

    READY = "ready"
    PREPARABLE = "preparable"
    """The suite gets or builds what is missing by itself, the first time."""
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindReport:
    """One kind of cluster: whether it would work, why not, and what to do."""

    kind: ClusterKind
    readiness: Readiness
    reasons: tuple[str, ...]
    install: tuple[str, ...]

    @property
    def works(self) -> bool:
        """True if it can be used, possibly after a preparation that the suite does itself."""
        return self.readiness is not Readiness.NO


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was found, and which kinds of cluster would work."""

    findings: tuple[Finding, ...]
    kinds: tuple[KindReport, ...]

    @property
    def works(self) -> bool:
        """True if at least one kind of cluster would."""
        return any(kind.works for kind in self.kinds)

    def to_json(self) -> dict[str, Any]:
        """Plain data, in the form that `schemaVersion` names."""
        return {
            "schemaVersion": SCHEMA_VERSION,
            "works": self.works,
            "clusters": [{**dataclasses.asdict(kind), "works": kind.works} for kind in self.kinds],
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
        }


def examine(probes: Mapping[str, Probe] = PROBES) -> Diagnosis:
    """Run all probes, some 5 seconds at most, and say what follows. Raises nothing."""
    findings = tuple(run_all(probes))
    found = _Found({finding.name: finding for finding in findings})
    kubeconfig = found.report(ClusterKind.KUBECONFIG, needs=("python", "kubeconfig"))
    return Diagnosis(findings=findings, kinds=(_embedded(found), _kind(found), kubeconfig))


class _Found(dict[str, Finding]):
    """Name → what was found; a thing that no probe told of is unknown."""

    def __missing__(self, name: str) -> Finding:
        return State.UNKNOWN.of(name, note="not looked for")

    def good(self, name: str) -> bool:
        return self[name].state is State.OK

    def report(self, kind: ClusterKind, *, needs: Sequence[str]) -> KindReport:
        """It works if all that it needs is there."""
        lacking = [self[n] for n in needs if self[n].state in (State.MISSING, State.UNKNOWN)]
        return _because(kind, Readiness.NO if lacking else Readiness.READY, lacking)


def _because(kind: ClusterKind, readiness: Readiness, lacking: Sequence[Finding]) -> KindReport:
    return KindReport(
        kind=kind,
        readiness=readiness,
        reasons=tuple(f"{each.name}: {each.note or each.state}" for each in lacking),
        install=tuple(each.install for each in lacking if each.install),
    )


def _embedded(found: _Found) -> KindReport:
    report = found.report(ClusterKind.EMBEDDED, needs=("python", "architecture"))
    missing = [name for name in (*map(str, Program), "lws-crds") if not found.good(name)]
    if not report.works or not missing:
        return report
    to_build = any(name == "lws-crds" or PINS[Program(name)].release is None for name in missing)
    can_build = found.good("go") or importlib.util.find_spec("pip") is not None
    readiness = Readiness.NO
    if not found.good("cache"):
        why, install = "the cache cannot be written to", found["cache"].install
    elif to_build and not can_build:
        why, install = "to build them there is neither Go nor pip", found["go"].install
    else:
        why = "the first run gets them, which needs their releases or Go modules"
        readiness, install = Readiness.PREPARABLE, "make programs"
    note = f"{', '.join(missing)}; {why}"
    lacking = State.MISSING.of("not there yet", note=note, install=install)
    return _because(ClusterKind.EMBEDDED, readiness, [lacking])


def _kind(found: _Found) -> KindReport:
    report = found.report(
        ClusterKind.KIND, needs=("python", "docker", "kind", "kubectl", "pytest-kind")
    )
    if not report.works or found.good("node-image"):
        return report
    return _because(ClusterKind.KIND, Readiness.PREPARABLE, [found["node-image"]])
