"""Before the first case: does the live API agree with what the profile declares?

A profile that declares too much would make cases fail for the wrong reason; one that declares too
little would leave an API version or a feature untested and still be called conformant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import Api, Resource
from conformance.model.children import Gang
from conformance.model.errors import InfraError, UsageError
from conformance.model.features import Feature
from conformance.model.graph import (
    COMPONENT_KIND,
    GRAPH_KIND,
    GROUP,
    PLURALS,
    ApiVersion,
    Graph,
    Role,
    Service,
)
from conformance.model.kinds import LWS, WORKLOADS
from conformance.model.manifest import manifest
from conformance.model.profile import Profile
from conformance.operator import resources, webhooks
from conformance.operator.resources import CRDS, VALIDATING_WEBHOOKS

PROBE_IMAGE = "example.com/dgd-conformance/probe:1.0.0"
"""A semantic version as tag: some operators refuse anything else."""

_DECLARED = (Feature.MULTINODE, Feature.COMPONENT, Feature.ADMISSION)
"""Features that must be declared where they are found, since cases use them: the CRDs and the webhooks
are the operator's own, so what they offer to a user is to be tested."""

_POLL = 0.2

_REACHED = range(200, 500)
"""Answers that show that every webhook was reached: a call that failed is a 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the profile declares of one feature, and what the live API shows."""

    feature: Feature
    declared: bool
    found: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """A create that is only tried, to see whether every webhook is reached."""

    version: str
    path: str
    body: Mapping[str, Any]


def check_versions(api: Api, profile: Profile, *, where: str) -> dict[str, list[str]]:
    """Served versions of graphs (and components): resource → versions. Raises UsageError if the
    profile lists one that is not served, or leaves out one that the suite can speak."""
    crds = {kind: crd for kind in (GRAPH_KIND, COMPONENT_KIND) if (crd := _crd(api, kind))}
    name = PLURALS[GRAPH_KIND]
    if GRAPH_KIND not in crds:
        raise UsageError(
            f"{where}: after the installation there is no CRD {name}.{GROUP}; expected it under "
            "`install.crds`"
        )
    served = {PLURALS[kind]: _served(crd) for kind, crd in crds.items()}
    for version in profile.versions:
        if version not in served[name]:
            raise UsageError(
                f"{where}: `versions` lists {version}, but the installed CRD of {name} serves "
                f"{', '.join(served[name]) or 'nothing'}; correct `versions`, or give the CRDs of "
                "that version"
            )
    for version in ApiVersion:
        if version in served[name] and version not in profile.versions:
            raise UsageError(
                f"{where}: the installed CRD of {name} also serves {version}, which `versions` does "
                "not list: every served version must be listed, or it would go untested"
            )
    return served


def check_features(api: Api, profile: Profile, *, where: str) -> list[Probe]:
    """What each declared feature looks like on the live API. Raises UsageError for a mismatch."""
    probes = [_multinode(api, profile), _component(api, profile), _admission(api, profile)]
    for probe in probes:
        if probe.declared and not probe.found:
            raise UsageError(f"{where}: `features` lists {probe.feature}, but {probe.detail}")
        if probe.found and not probe.declared and probe.feature in _DECLARED:
            raise UsageError(
                f"{where}: `features` does not list {probe.feature}, but {probe.detail}"
            )
    for version in profile.versions:
        detail = f"the graph's CRD serves {version}"
        probes.append(Probe(feature=Feature(version), declared=True, found=True, detail=detail))
    return probes


def dry_runs(profile: Profile) -> list[DryRun]:
    """A graph that passes every webhook and conversion, in each version."""
    container = {"image": PROBE_IMAGE, "command": ["serve"], "args": ["--probe"]}
    graph = Graph(
        name="dgd-conformance-probe",
        services=(Service(name="Frontend", role=Role.FRONTEND, container=container),),
        annotations=dict(profile.graph_annotations),
    )
    return [
        DryRun(
            version=str(version),
            path=Resource(GROUP, version, PLURALS[GRAPH_KIND], GRAPH_KIND, True).path("default"),
            body=manifest(graph, version=version, namespace="default"),
        )
        for version in profile.versions
    ]


def wait_for_webhooks(
    api: Api, runs: Iterable[DryRun], *, name: str, within: float, check: Callable[[], None]
) -> None:
    """Wait until each dry run passes every webhook and conversion: until it is answered by more than "a
    webhook could not be called". Calls `check` between two tries. Raises InfraError with the API
    server's own words after `within` seconds."""
    deadline = time.monotonic() + within
    for run in runs:
        while True:
            answer = api.request("POST", run.path, run.body, params={"dryRun": "All"})
            if answer.code in _REACHED:
                break
            if time.monotonic() > deadline:
                raise InfraError(
                    f"the webhooks of {name} were not reached within {within:.0f} s: a dry run of a "
                    f"{run.version} graph was answered {answer.code}: {answer.message}; the CRDs' "
                    "conversion and the webhook configurations send requests to the operator's webhook "
                    "server: expected it to listen there with the certificate that it was given"
                )
            check()
            time.sleep(_POLL)


def _multinode(api: Api, profile: Profile) -> Probe:
    """Declared, all that it takes must be there; not declared, the operator's own field is enough to
    find it, wherever the kind that multinode services are made of is served, too."""
    wanted = profile.multinode
    declared = Feature.MULTINODE in profile.features
    crd = _crd(api, GRAPH_KIND) or {}
    having = [version for version in profile.versions if _has_multinode(crd, version)]
    lacking = [str(version) for version in profile.versions if version not in having]
    kinds = {wanted.kind} if declared else {wanted.kind, LWS}
    served = [k for k in sorted(kinds) if resources.served(api, k, WORKLOADS[k].group)]
    missing = [] if served else [wanted.kind]
    if declared and wanted.gang is not Gang.NONE and not resources.served(api, wanted.gang_kind):
        missing.append(wanted.gang_kind)
    if lacking and (declared or not having):
        detail = f"the graph's CRD has no field `multinode` in {', '.join(lacking)}"
    elif missing:
        detail = f"the API server serves no kind {' and no kind '.join(missing)}"
    else:
        detail = f"the graph's CRD has the field `multinode`, and {served[0]} is served"
    found = bool(having) and not missing and not (declared and lacking)
    return Probe(feature=Feature.MULTINODE, declared=declared, found=found, detail=detail)


def _component(api: Api, profile: Profile) -> Probe:
    """Cases write components in the first of the profile's versions; one that is served in any version
    must be declared."""
    declared = Feature.COMPONENT in profile.features
    crd = _crd(api, COMPONENT_KIND)
    served = [version for version in profile.versions if crd and version in _served(crd)]
    first = profile.versions[0]
    found = first in served if declared else bool(served)
    if found:
        detail = f"the API server serves {COMPONENT_KIND} in {', '.join(served)}"
    else:
        detail = (
            f"the API server serves no {COMPONENT_KIND} in {first}, which `versions` lists first"
        )
    return Probe(feature=Feature.COMPONENT, declared=declared, found=found, detail=detail)


def _admission(api: Api, profile: Profile) -> Probe:
    configurations, _ = api.list(VALIDATING_WEBHOOKS.path())
    versions = webhooks.guarded(configurations, group=GROUP, resource=PLURALS[GRAPH_KIND])
    if versions:
        shown = ", ".join(sorted(versions))
        detail = f"a validating webhook is configured for {GRAPH_KIND} ({shown})"
    else:
        detail = f"no validating webhook is configured for {GRAPH_KIND}"
    declared = Feature.ADMISSION in profile.features
    return Probe(feature=Feature.ADMISSION, declared=declared, found=bool(versions), detail=detail)


def _crd(api: Api, kind: str) -> dict[str, Any] | None:
    return api.read(CRDS, f"{PLURALS[kind]}.{GROUP}")


def _served(crd: Mapping[str, Any]) -> list[str]:
    return [version["name"] for version in crd["spec"]["versions"] if version.get("served")]


def _has_multinode(crd: Mapping[str, Any], version: ApiVersion) -> bool:
    for candidate in (crd.get("spec") or {}).get("versions") or ():
        if candidate["name"] == version:
            spec = candidate["schema"]["openAPIV3Schema"]["properties"]["spec"]
            fields = spec.get("properties") or {}
            if version is ApiVersion.V1ALPHA1:
                service = (fields.get("services") or {}).get("additionalProperties") or {}
            else:
                service = (fields.get("components") or {}).get("items") or {}
            return "multinode" in (service.get("properties") or {})
    return False
