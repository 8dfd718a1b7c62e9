"""Which rights a run needs, and which of them its user lacks (SelfSubjectAccessReview)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
_CHANGE = ("get", "list", "watch", "create", "update", "patch", "delete")
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """Verbs on a resource, in one namespace or (empty) everywhere, and what they are for."""

    group: str = ""
    resource: str
    """Plural; with a subresource as in `pods/log`."""
    verbs: tuple[str, ...]
    namespace: str = ""
    why: str

    @property
    def name(self) -> str:
        """As `kubectl auth can-i` writes it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def needed(profile: Profile | None, *, install_operator: bool) -> list[Right]:
    """What every run with an operator of this profile needs; None: with any operator. What restarts
    need is `for_restarts`: without it all other cases can be judged."""
    components = profile is None or profile.supports(Feature.COMPONENT)
    groups = profile is None or profile.supports(Feature.MULTINODE)
    gangs = profile is None or (
        profile.multinode.gang is Gang.PER_GROUP and profile.multinode.gang_kind == POD_GROUP
    )
    rows = [
        Right(
            resource="namespaces",
            verbs=("get", "list", "watch", "create", "delete"),
            why="a namespace for each case, deleted after it",
        ),
        Right(
            group="coordination.k8s.io",
            resource="leases",
            verbs=("create", "get", "update"),
            why="the Lease that shows that this run is alive",
        ),
        Right(resource="serviceaccounts", verbs=("get",), why="a namespace is ready for pods"),
        Right(
            group="apiextensions.k8s.io",
            resource="customresourcedefinitions",
            verbs=("get",),
            why="which versions the operator serves",
        ),
        Right(
            group=_ADMISSION,
            resource="validatingwebhookconfigurations",
            verbs=("list",),
            why="whether the operator can refuse",
        ),
        _changed(PLURALS[GRAPH_KIND]),
        *([_changed(PLURALS[COMPONENT_KIND])] if components else []),
        _foreign("apps", "deployments"),
        _foreign("", "services"),
        *([_foreign(LWS_GROUP, "leaderworkersets")] if groups else []),
        *([_foreign(POD_GROUP_GROUP, "podgroups")] if groups and gangs else []),
    ]
    return rows + (_installing() if install_operator else [])


def for_restarts(profile: Profile | None) -> list[Right]:
    """What cases that stop an operator in pods need, in its own namespace."""
    if profile is None or profile.in_cluster is None or not profile.supports(Feature.RESTART):
        return []
    namespace, why = profile.in_cluster.namespace, "stopping and starting the operator"
    return [
        Right(group="apps", resource="deployments", verbs=("patch",), namespace=namespace, why=why),
        Right(resource="pods", verbs=("delete",), namespace=namespace, why=why),
    ]


def _changed(resource: str) -> Right:
    return Right(group=GROUP, resource=resource, verbs=_CHANGE, why="what cases change")


def _foreign(group: str, resource: str) -> Right:
    why = "an object that is not the operator's, in a case's namespace"
    return Right(group=group, resource=resource, verbs=("create",), why=why)


def _installing() -> list[Right]:
    def all_of(resource: str, *, group: str = "", more: tuple[str, ...] = ()) -> Right:
        return Right(
            group=group, resource=resource, verbs=(*_CHANGE, *more), why="--install-operator"
        )

    return [
        all_of("customresourcedefinitions", group="apiextensions.k8s.io"),
        # An installation grants the operator rights that its installer may not have.
        all_of("clusterroles", group=_RBAC, more=("bind", "escalate")),
        all_of("clusterrolebindings", group=_RBAC),
        all_of("roles", group=_RBAC, more=("bind", "escalate")),
        all_of("rolebindings", group=_RBAC),
        all_of("validatingwebhookconfigurations", group=_ADMISSION),
        all_of("mutatingwebhookconfigurations", group=_ADMISSION),
        all_of("deployments", group="apps"),
        all_of("services"),
        all_of("serviceaccounts"),
        all_of("configmaps"),
        all_of("secrets"),
        Right(resource="pods", verbs=("get", "list", "delete"), why="--install-operator"),
        Right(resource="pods/log", verbs=("get",), why="the operator's log"),
    ]


def missing(api: Api, rights: Iterable[Right]) -> list[Right]:
    """Those of the rights that the user lacks, with the verbs that are refused. Raises InfraError if
    the API server cannot tell."""
    asked = [(right, verb) for right in rights for verb in right.verbs]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        allowed = list(pool.map(lambda row: _allowed(api, *row), asked))
    refused: dict[Right, list[str]] = {}
    for (right, verb), may in zip(asked, allowed, strict=True):
        if not may:
            refused.setdefault(right, []).append(verb)
    return [replace(right, verbs=tuple(verbs)) for right, verbs in refused.items()]


def require(api: Api, rights: Iterable[Right], *, who: str) -> None:
    """Raises UsageError with one table of all that `who` lacks."""
    lacking = missing(api, rights)
    if lacking:
        raise UsageError(
            f"{who} lacks rights that a run needs (they are listed below); nothing was written\n"
            f"{table(lacking)}\n"
            "give it a ClusterRole with these, or name the context of a user that has them"
        )


def table(rights: Sequence[Right]) -> str:
    """The rights, one a line."""
    rows = [("RESOURCE", "VERBS", "NAMESPACE", "FOR")]
    rows += [(r.name, ",".join(r.verbs), r.namespace or "(all)", r.why) for r in rights]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  " + "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )


def _allowed(api: Api, right: Right, verb: str) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": right.namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = raise_for(api.request("POST", REVIEWS, body), "asking for the suite's own rights")
    return bool((answer.body.get("status") or {}).get("allowed"))
