"""What a user's cluster is found to be before anything is written to it: `inspect`, and its `plan`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig import connectivity, leftovers, rights
from conformance.cluster.kubeconfig.contexts import Context, KubeconfigOptions
from conformance.cluster.kubeconfig.leftovers import LeftoverObject
from conformance.cluster.kubeconfig.rights import Right
from conformance.cluster.kubeconfig.run_lease import namespace_of
from conformance.kube import Api, Resource
from conformance.kube.resource import DEPLOYMENTS
from conformance.model import labels
from conformance.model.errors import InfraError, UsageError
from conformance.model.features import Feature
from conformance.model.kinds import LWS, LWS_GROUP, POD_GROUP, POD_GROUP_GROUP, UNRECORDED
from conformance.model.profile import Profile

MARKED = ("kube-system", "default")
"""Namespaces that may carry the label that allows runs of the suite."""

# Context names that only tools for throw-away clusters give.
_DISPOSABLE = re.compile(r"(kind|k3d)-.+|minikube")
_UNKNOWN = "unknown version"

# Program → the kind that it serves, and where its Deployment stands in its own release manifests.
_CONTROLLERS = {
    "lws": (LWS, LWS_GROUP, "lws-system", "lws-controller-manager"),
    "volcano": (POD_GROUP, POD_GROUP_GROUP, "volcano-system", "volcano-controllers"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A cluster that may be used."""

    context: Context
    options: KubeconfigOptions
    reason: str
    """Why the suite may write to it."""
    kinds: list[Resource]
    unseen: list[Resource]
    """Those that the user may not list and watch."""
    versions: Mapping[str, str]
    """Program → version, as far as the user may know."""
    lacking: list[Right]
    """What cases that stop the operator need and the user lacks."""
    crashed: list[LeftoverObject]
    has_real_nodes: bool

    def plan(self, run: str) -> list[str]:
        """What a run will make, and what it needs, a line each."""
        context = self.context
        lines = [
            f"cluster: {context.server} (context {context.name}): {self.reason}",
            f"makes:   namespaces labelled {labels.RUN}={run}, each deleted after its case; in "
            "them graphs, components and what cases place as others do; all else is the operator's",
            f"         namespace {namespace_of(run)} with a Lease that says that this run is alive",
            "         with --install-operator: the operator, its CRDs, ClusterRoles and webhooks, "
            "labelled, and removed at the end; what was there before is not changed"
            if self.options.install_operator
            else "         nothing else, and nothing cluster-wide but these namespaces",
            "reads:   every kind that it may list and watch, in all namespaces",
        ]
        if self.unseen:
            kinds = ", ".join(sorted(str(kind) for kind in self.unseen))
            lines.append(f"unseen:  {kinds}: nothing is concluded of these (`unknown`)")
        if self.lacking:
            lacks = ", ".join(f"{'/'.join(right.verbs)} {right.name}" for right in self.lacking)
            lines.append(
                f"lacks:   {lacks} in namespace {self.lacking[0].namespace}: cases that stop the "
                "operator will be `unknown`"
            )
        if context.namespace:
            lines.append(f"ignores: the context's default namespace {context.namespace}")
        if self.crashed:
            left = f"{len(self.crashed)} objects of crashed runs"
            lines.append(f"left:    {left}; remove them with {context.cleanup}")
        return lines

    def require_lws(self, profile: Profile | None) -> None:
        """Raises UsageError if a multinode operator would find no LeaderWorkerSet."""
        multinode = profile is not None and profile.supports(Feature.MULTINODE)
        if multinode and not serves(self.kinds, LWS, LWS_GROUP):
            raise UsageError(
                "the operator supports multinode services, which need LeaderWorkerSet, and context "
                f"{self.context.name} serves no {LWS} of {LWS_GROUP}: install it first "
                "(https://lws.sigs.k8s.io)"
            )


def inspect(
    api: Api, context: Context, options: KubeconfigOptions, profile: Profile | None
) -> Inspection:
    """Reach the cluster, and make sure that it may be used. Writes nothing. Raises UsageError."""
    server = connectivity.first_answer(api, context)
    try:
        # Before any question that is a POST: a cluster that is not the user's sees reads alone.
        reason = _reason(api, context, options)
        who = f"user {context.user_name or '(none)'} of context {context.name}"
        wanted = rights.needed(profile, install_operator=options.install_operator)
        rights.require(api, wanted, who=who)
        lacking = rights.missing(api, rights.for_restarts(profile))
        kinds = api.discover()
        found = leftovers.find(api)
        crashed = [row for row in found if not row.alive]
        if profile is not None and profile.in_cluster is not None:
            if len(found) == len(crashed):
                # Else a run that is going on may have stopped it for an instant.
                leftovers.require_running(api, profile.in_cluster, context)
            if options.install_operator:
                leftovers.require_none_left(crashed, profile.in_cluster, context)
        real_nodes = leftovers.listed(api, "/api/v1/nodes", f"{labels.REAL_NODE}=true")
        return Inspection(
            context=context,
            options=options,
            reason=reason,
            kinds=kinds,
            unseen=_unseen(api, kinds),
            versions=_versions(api, server, kinds),
            lacking=lacking,
            crashed=crashed,
            has_real_nodes=bool(real_nodes),
        )
    except InfraError as error:
        raise UsageError(f"context {context.name} cannot be used: {error}") from error


def serves(kinds: Iterable[Resource], kind: str, group: str) -> bool:
    """Whether the kind is among these."""
    return any(row.kind == kind and row.group == group for row in kinds)


def _reason(api: Api, context: Context, options: KubeconfigOptions) -> str:
    """Why the suite may write, for people. Raises UsageError if it may not."""
    if options.i_own:
        return "you say that you own it (--i-own-this-cluster)"
    if _DISPOSABLE.fullmatch(context.name):
        return f"context {context.name} is a throw-away cluster by its name"
    for namespace in MARKED:
        answer = api.request("GET", f"/api/v1/namespaces/{namespace}")
        # One that may not be read cannot allow anything.
        marks = answer.body.get("metadata", {}).get("labels") or {} if answer.ok else {}
        if marks.get(labels.DISPOSABLE) == "true":
            return f"its namespace {namespace} is labelled {labels.DISPOSABLE}=true"
    raise UsageError(
        f"context {context.name} ({context.server}) does not look like a cluster to experiment on, and "
        "nothing was written to it; if it is, say --i-own-this-cluster, or label it: "
        f"kubectl --context {context.name} label namespace default {labels.DISPOSABLE}=true"
    )


def _unseen(api: Api, kinds: Sequence[Resource]) -> list[Resource]:
    """Kinds that the recorder would record, but that the user may not list and watch everywhere."""

    def hidden(names: Iterable[str]) -> set[str]:
        rows = [Right(name=name, verbs=("list", "watch"), why="the record") for name in names]
        return {right.name for right in rights.missing(api, rows)}

    if not hidden(["*.*"]):
        return []
    wanted = [kind for kind in kinds if kind.kind not in UNRECORDED]
    unseen = hidden(str(kind) for kind in wanted)
    return [kind for kind in wanted if str(kind) in unseen]


def _versions(api: Api, server: Mapping[str, Any], kinds: Sequence[Resource]) -> dict[str, str]:
    """The API server's, and those of LeaderWorkerSet and Volcano if they are installed: from their
    Deployment's version label or the tag of its first image."""
    found = {"kube-apiserver": str(server.get("gitVersion") or _UNKNOWN)}
    for program, (kind, group, namespace, name) in _CONTROLLERS.items():
        if serves(kinds, kind, group):
            answer = api.request("GET", DEPLOYMENTS.path(namespace, name))
            found[program] = (_version_of(answer.body) if answer.ok else "") or _UNKNOWN
    return found


def _version_of(deployment: Mapping[str, Any]) -> str:
    marks = deployment["metadata"].get("labels") or {}
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    image = str(container.get("image", "")).partition("@")[0]
    tag = image.rpartition("/")[2].partition(":")[2]
    return str(marks.get("app.kubernetes.io/version") or tag)
