"""All probes, and what follows for each kind of cluster."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from conformance.cluster.programs.pins import PINS, Program
from conformance.doctor import machine, programs, python
from conformance.doctor.findings import Finding, Kind, KindReport, Readiness, State
from conformance.doctor.probing import Probe, run_all

SCHEMA_VERSION = 1
"""Of the JSON. Names and meanings stay within a number; things may be added."""

_UNUSABLE = frozenset({State.MISSING, State.UNKNOWN})
_NOT_THERE = _UNUSABLE | {State.WARNING}

PROBES: Mapping[str, Probe] = {
    "python": python.python,
    "lock": python.lock,
    "architecture": machine.hardware,
    "resources": machine.resources,
    "mount-namespaces": machine.private_files,
    "control-plane": programs.control_plane,
    "go": programs.go,
    "docker": programs.docker,
    **{name: functools.partial(programs.tool, name) for name in ("kind", "kubectl", "helm")},
    "node-image": programs.node_image,
    "pytest-kind": python.pytest_kind,
    "kubeconfig": machine.kubeconfig,
}


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
    findings = run_all(probes)
    by_name = {finding.name: finding for finding in findings}
    return Diagnosis(
        findings=tuple(findings),
        kinds=(_embedded(by_name), _kind(by_name), _kubeconfig(by_name)),
    )


def _embedded(found: Mapping[str, Finding]) -> KindReport:
    kind = Kind.EMBEDDED
    reasons, install = _lacking(found, ("python", "architecture"))
    if reasons:
        return KindReport(kind=kind, readiness=Readiness.NO, reasons=reasons, install=install)
    needed = [*(program.value for program in PINS), "lws-crds"]
    missing = [name for name in needed if not _there(found, name)]
    if not missing:
        return KindReport(kind=kind, readiness=Readiness.READY)
    lacks = f"not there yet: {', '.join(missing)}"
    to_build = [n for n in missing if n == "lws-crds" or PINS[Program(n)].release is None]
    can_build = _there(found, "go") or importlib.util.find_spec("pip") is not None
    obstacles = {
        "cache": "" if _there(found, "cache") else "the cache cannot be written to",
        "go": "to build them there is neither Go nor pip" if to_build and not can_build else "",
    }
    for name, obstacle in obstacles.items():
        if obstacle:
            return KindReport(
                kind=kind, readiness=Readiness.NO, reasons=(f"{lacks}; {obstacle}",),
                install=(found[name].install,) if name in found and found[name].install else (),
            )  # fmt: skip
    return KindReport(
        kind=kind, readiness=Readiness.PREPARABLE,
        reasons=(f"{lacks}; the first run gets them, which needs their releases or Go modules",),
        install=("make programs",),
    )  # fmt: skip


def _kind(found: Mapping[str, Finding]) -> KindReport:
    report = _needing(Kind.KIND, found, ("python", "docker", "kind", "kubectl", "pytest-kind"))
    if not report.works or _there(found, "node-image"):
        return report
    reasons, install = _lacking(found, ("node-image",), states=_NOT_THERE)
    return dataclasses.replace(
        report, readiness=Readiness.PREPARABLE, reasons=reasons, install=install
    )


def _kubeconfig(found: Mapping[str, Finding]) -> KindReport:
    return _needing(Kind.KUBECONFIG, found, ("python", "kubeconfig"))


def _needing(kind: Kind, found: Mapping[str, Finding], names: Sequence[str]) -> KindReport:
    reasons, install = _lacking(found, names)
    readiness = Readiness.NO if reasons else Readiness.READY
    return KindReport(kind=kind, readiness=readiness, reasons=reasons, install=install)


def _there(found: Mapping[str, Finding], name: str) -> bool:
    return name in found and found[name].state is State.OK


def _lacking(
    found: Mapping[str, Finding], names: Sequence[str], *, states: Set[State] = _UNUSABLE
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why what is needed is not there, and what to do for it."""
    reasons, install = [], []
    for name in names:
        finding = found.get(name, Finding(name=name, state=State.UNKNOWN, note="not looked for"))
        if finding.state in states:
            reasons.append(f"{name}: {finding.note or finding.state}")
            install += [finding.install] if finding.install else []
    return tuple(reasons), tuple(install)
