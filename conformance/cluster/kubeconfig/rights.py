"""Which rights a run needs, and which of them its user lacks (SelfSubjectAccessReview)."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from conformance.kube import Api, raise_for
from conformance.model.children import Gang
from conformance.model.errors import UsageError
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP, PLURALS
from conformance.model.kinds import LWS_GROUP, POD_GROUP, POD_GROUP_GROUP
from conformance.model.profile import Profile

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_AT_ONCE = 16
_CHANGE = "get list watch create update patch delete"
_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_INSTALLED = (
    _CRDS,
    "clusterrolebindings.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    _VALIDATING,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "deployments.apps",
    "services",
    "serviceaccounts",
    "configmaps",
    "secrets",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """Verbs on a resource, in one namespace or (empty) everywhere, and what they are for."""

    name: str
    """As `kubectl auth can-i` writes it: `pods`, `pods/log`, `deployments.apps`."""
    verbs: tuple[str, ...]
    why: str
    namespace: str = ""


def needed(profile: Profile | None, *, install_operator: bool) -> list[Right]:
    """What every run with an operator of this profile needs; None: with any operator."""
    groups = profile is None or profile.supports(Feature.MULTINODE)
    gangs = profile is None or (
        profile.multinode.gang is Gang.PER_GROUP and profile.multinode.gang_kind == POD_GROUP
    )
    per_case = "a namespace for each case, deleted after it"
    alive = "the Lease that shows that this run is alive"
    change = "what cases change"
    foreign = "an object that is not the operator's, in a case's namespace"
    rows = [
        _right("namespaces", "get list watch create delete", per_case),
        _right("leases.coordination.k8s.io", "create get update", alive),
        _right("serviceaccounts", "get", "a namespace is ready for pods"),
        _right(_CRDS, "get", "which versions the operator serves"),
        _right(_VALIDATING, "list", "whether the operator can refuse"),
        _right(f"{PLURALS[GRAPH_KIND]}.{GROUP}", _CHANGE, change),
    ]
    if profile is None or profile.supports(Feature.COMPONENT):
        rows.append(_right(f"{PLURALS[COMPONENT_KIND]}.{GROUP}", _CHANGE, change))
    rows += [_right(name, "create", foreign) for name in ("deployments.apps", "services")]
    if groups:
        rows.append(_right(f"leaderworkersets.{LWS_GROUP}", "create", foreign))
    if groups and gangs:
        rows.append(_right(f"podgroups.{POD_GROUP_GROUP}", "create", foreign))
    if install_operator:
        why = "--install-operator"
        rows += [_right(name, _CHANGE, why) for name in _INSTALLED]
        # An installation grants the operator rights that its installer may not have.
        roles = [f"{kind}.rbac.authorization.k8s.io" for kind in ("clusterroles", "roles")]
        rows += [_right(name, f"{_CHANGE} bind escalate", why) for name in roles]
        rows.append(_right("pods", "get list delete", why))
        rows.append(_right("pods/log", "get", "the operator's log"))
    return rows


def for_restarts(profile: Profile | None) -> list[Right]:
    """What cases that stop an operator in pods need in its namespace. All others do without."""
    if profile is None or profile.in_cluster is None or not profile.supports(Feature.RESTART):
        return []
    why = "stopping and starting the operator"
    rows = _right("deployments.apps", "patch", why), _right("pods", "delete", why)
    return [replace(row, namespace=profile.in_cluster.namespace) for row in rows]


def _right(name: str, verbs: str, why: str) -> Right:
    return Right(name=name, verbs=tuple(verbs.split()), why=why)


def missing(api: Api, rights: Iterable[Right]) -> list[Right]:
    """Those that the user lacks, with the refused verbs. Raises InfraError if nobody can tell."""

    def refused(right: Right) -> Right:
        verbs = tuple(verb for verb in right.verbs if not _allowed(api, right, verb))
        return replace(right, verbs=verbs)

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return [right for right in pool.map(refused, rights) if right.verbs]


def require(api: Api, rights: Iterable[Right], *, who: str) -> None:
    """Raises UsageError with one table of all that `who` lacks."""
    lacking = missing(api, rights)
    if not lacking:
        return
    rows = [("RESOURCE", "VERBS", "NAMESPACE", "FOR")]
    rows += [(r.name, ",".join(r.verbs), r.namespace or "(all)", r.why) for r in lacking]
    first, second, third = (max(len(row[column]) for row in rows) for column in range(3))
    table = "\n".join(
        f"  {name:{first}}  {verbs:{second}}  {namespace:{third}}  {why}"
        for name, verbs, namespace, why in rows
    )
    raise UsageError(
        f"{who} lacks rights that a run needs (they are listed below); nothing was written\n{table}\n"
        "give it a ClusterRole with these, or name the context of a user that has them"
    )


def _allowed(api: Api, right: Right, verb: str) -> bool:
    name, _, group = right.name.partition(".")
    resource, _, subresource = name.partition("/")
    attributes = {
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": right.namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = raise_for(api.request("POST", REVIEWS, body), "asking for the suite's own rights")
    return bool((answer.body.get("status") or {}).get("allowed"))
