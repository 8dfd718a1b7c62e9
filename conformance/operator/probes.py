"""Before the first case: does the live API agree with what the profile declares?

A profile that declares too much would make cases fail for the wrong reason; one that declares too
little would leave an API version or a feature untested and still be called conformant.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

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
from conformance.model.state import Obj
from conformance.operator import webhooks
from conformance.operator.resources import CRDS, VALIDATING_WEBHOOKS, served

_PROBE_IMAGE = "example.com/dgd-conformance/probe:1.0.0"
"""A semantic version as tag: some operators refuse anything else."""
_SERVICE = {
    ApiVersion.V1ALPHA1: ("services", "additionalProperties"),
    ApiVersion.V1BETA1: ("components", "items"),
}
"""Where the schema of a graph's spec has that of a service."""
_POLL = 0.2
_DRY = {"dryRun": "All"}
_REACHED = range(200, 500)
"""Answers that show that every webhook was reached: a call that failed is a 500."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the profile declares of one feature, and what the live API shows."""

    feature: Feature
    declared: bool
    found: bool
    detail: str


def check_versions(api: Api, profile: Profile, *, where: str) -> dict[str, list[str]]:
    """Served versions of graphs (and components): resource → versions. Raises UsageError if the
    profile lists one that is not served, or leaves out one that the suite can speak."""
    name, kinds = PLURALS[GRAPH_KIND], (GRAPH_KIND, COMPONENT_KIND)
    versions = {PLURALS[kind]: _versions(crd) for kind in kinds if (crd := _crd(api, kind))}
    if name not in versions:
        raise UsageError(
            f"{where}: after the installation there is no CRD {name}.{GROUP}; expected it under "
            "`install.crds`"
        )
    live = versions[name]
    for version in profile.versions:
        if version not in live:
            raise UsageError(
                f"{where}: `versions` lists {version}, but the installed CRD of {name} serves "
                f"{', '.join(live) or 'nothing'}; correct `versions`, or give the CRDs of that version"
            )
    for version in ApiVersion:
        if version in live and version not in profile.versions:
            raise UsageError(
                f"{where}: the installed CRD of {name} also serves {version}, which `versions` does "
                "not list: every served version must be listed, or it would go untested"
            )
    return versions


def check_features(api: Api, profile: Profile, *, where: str) -> list[Probe]:
    """What the features look like on the live API. Raises UsageError for one that is declared and not
    found, or found and not declared: the CRDs and webhooks are the operator's own, so what they offer
    to a user is to be tested."""
    looks = (
        (Feature.MULTINODE, *_multinode(api, profile)),
        (Feature.COMPONENT, *_component(api, profile)),
        (Feature.ADMISSION, *_admission(api)),
    )
    probes = []
    for feature, found, detail in looks:
        declared = feature in profile.features
        if declared != found:
            lists = "lists" if declared else "does not list"
            raise UsageError(f"{where}: `features` {lists} {feature}, but {detail}")
        probes.append(Probe(feature=feature, declared=declared, found=found, detail=detail))
    for version in profile.versions:
        detail = f"the graph's CRD serves {version}"
        probes.append(Probe(feature=Feature(version), declared=True, found=True, detail=detail))
    return probes


def wait_for_webhooks(
    api: Api, profile: Profile, *, within: float, check: Callable[[str], None]
) -> None:
    """Wait until the dry run of a graph passes every webhook and conversion, in each version: until it
    is answered by more than "a webhook could not be called". Calls `check`, with what is being done,
    between two tries. Raises InfraError with the API server's own words after `within` seconds."""
    container = {"image": _PROBE_IMAGE, "command": ["serve"], "args": ["--probe"]}
    graph = Graph(
        name="dgd-conformance-probe",
        services=(Service(name="Frontend", role=Role.FRONTEND, container=container),),
        annotations=dict(profile.graph_annotations),
    )
    deadline = time.monotonic() + within
    for version in profile.versions:
        path = Resource(GROUP, version, PLURALS[GRAPH_KIND], GRAPH_KIND, True).path("default")
        body = manifest(graph, version=version, namespace="default")
        while (answer := api.request("POST", path, body, params=_DRY)).code not in _REACHED:
            if time.monotonic() > deadline:
                raise InfraError(
                    f"the webhooks of {profile.identity.name} were not reached within {within:.0f} s: "
                    f"a dry run of a {version} graph was answered {answer.code}: {answer.message}; the "
                    "CRDs' conversion and the webhook configurations send requests to the operator's "
                    "webhook server: expected it to listen there with the certificate that it was given"
                )
            check("while its webhooks were tried")
            time.sleep(_POLL)


def _multinode(api: Api, profile: Profile) -> tuple[bool, str]:
    """Declared, all that it takes must be there; not declared, the operator's own field is enough to
    find it, wherever the kind that multinode services are made of is served, too."""
    wanted, declared = profile.multinode, Feature.MULTINODE in profile.features
    crd = _crd(api, GRAPH_KIND)
    having = [version for version in profile.versions if crd and _has_multinode(crd, version)]
    lacking = [str(version) for version in profile.versions if version not in having]
    kinds = {wanted.kind} if declared else {wanted.kind, LWS}
    present = [kind for kind in sorted(kinds) if served(api, kind, WORKLOADS[kind].group)]
    missing = [] if present else [wanted.kind]
    if declared and wanted.gang is not Gang.NONE and not served(api, wanted.gang_kind):
        missing.append(wanted.gang_kind)
    if lacking and (declared or not having):
        return False, f"the graph's CRD has no field `multinode` in {', '.join(lacking)}"
    if missing:
        return False, f"the API server serves no kind {' and no kind '.join(missing)}"
    return True, f"the graph's CRD has the field `multinode`, and {present[0]} is served"


def _component(api: Api, profile: Profile) -> tuple[bool, str]:
    """Cases write components in the first of the profile's versions; one that is served in any version
    must be declared."""
    crd = _crd(api, COMPONENT_KIND)
    present = [version for version in profile.versions if crd and version in _versions(crd)]
    first = profile.versions[0]
    if first in present or (present and Feature.COMPONENT not in profile.features):
        return True, f"the API server serves {COMPONENT_KIND} in {', '.join(present)}"
    why = f"the API server serves no {COMPONENT_KIND} in {first}, which `versions` lists first"
    return False, why


def _admission(api: Api) -> tuple[bool, str]:
    configurations, _ = api.list(VALIDATING_WEBHOOKS.path())
    versions = webhooks.guarded(configurations, group=GROUP, resource=PLURALS[GRAPH_KIND])
    if not versions:
        return False, f"no validating webhook is configured for {GRAPH_KIND}"
    shown = ", ".join(sorted(versions))
    return True, f"a validating webhook is configured for {GRAPH_KIND} ({shown})"


def _crd(api: Api, kind: str) -> Obj | None:
    found = api.read(CRDS, f"{PLURALS[kind]}.{GROUP}")
    return Obj(found) if found else None


def _versions(crd: Obj) -> list[str]:
    return [version["name"] for version in crd.spec["versions"] if version.get("served")]


def _has_multinode(crd: Obj, version: ApiVersion) -> bool:
    spec = ("schema", "openAPIV3Schema", "properties", "spec", "properties")
    field = (*spec, *_SERVICE[version], "properties", "multinode")
    rows = [Obj(row) for row in crd.spec["versions"] if row["name"] == version]
    return any(row.at(*field) is not None for row in rows)
