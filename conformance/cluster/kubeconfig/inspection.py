"""What a user's cluster is found to be before anything is written to it: `inspect`, and its `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cluster.kubeconfig import (
    connectivity,
    leftovers,
    ownership,
    rights,
    run_lease,
    stopped_operators,
    visibility,
)
from conformance.cluster.kubeconfig.contexts import Context
from conformance.cluster.kubeconfig.leftovers import LeftoverObject
from conformance.cluster.kubeconfig.options import CONTEXT_OPTION, KubeconfigOptions
from conformance.cluster.kubeconfig.rights import Right
from conformance.kube import Api, Resource
from conformance.model import labels
from conformance.model.errors import InfraError, UsageError
from conformance.model.features import Feature
from conformance.model.kinds import LWS, LWS_GROUP
from conformance.model.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A cluster that may be used."""

    context: Context
    options: KubeconfigOptions
    reason: str
    """Why the suite may write to it."""
    kinds: list[Resource]
    """All that it serves."""
    unseen: list[Resource]
    """Those that the user may not list and watch."""
    versions: Mapping[str, str]
    lacking: list[Right]
    """What cases that stop the operator need and the user lacks."""
    crashed: list[LeftoverObject]
    """Objects of crashed runs."""
    has_real_nodes: bool

    def plan(self, run: str) -> list[str]:
        """What a run will make, and what it needs, a line each."""
        context = self.context
        lines = [
            f"cluster: {context.server} (context {context.name}): {self.reason}",
            f"makes:   namespaces labelled {labels.RUN}={run}, each deleted after its case; in "
            "them graphs, components and what cases place as others do; all else is the operator's",
            f"         namespace {run_lease.namespace_of(run)} with a Lease that says that this run is "
            "alive",
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
            lines.append(
                f"left:    {len(self.crashed)} objects of crashed runs; remove them with "
                f"python -m conformance cleanup {CONTEXT_OPTION}={context.name}"
            )
        return lines

    def require_lws(self, profile: Profile | None) -> None:
        """Raises UsageError if a multinode operator would find no LeaderWorkerSet: a platform is not
        the suite's to install."""
        multinode = profile is not None and profile.supports(Feature.MULTINODE)
        if multinode and not visibility.serves(self.kinds, LWS, LWS_GROUP):
            raise UsageError(
                "the operator supports multinode services, which need LeaderWorkerSet, and context "
                f"{self.context.name} serves no {LWS} of {LWS_GROUP}: install it first "
                "(https://lws.sigs.k8s.io)"
            )


def inspect(
    api: Api, context: Context, options: KubeconfigOptions, profile: Profile | None
) -> Inspection:
    """Reach the cluster, and make sure that it may be used. Reads only until that is known, and writes
    nothing after it either. Raises UsageError in one sentence (or one table of rights)."""
    server = connectivity.first_answer(api, context)
    try:
        return _inspect(api, context, options, profile, server=server)
    except InfraError as error:
        raise UsageError(f"context {context.name} cannot be used: {error}") from error


def _inspect(
    api: Api,
    context: Context,
    options: KubeconfigOptions,
    profile: Profile | None,
    *,
    server: Mapping[str, Any],
) -> Inspection:
    # Before any question that is a POST: a cluster that is not the user's sees reads alone.
    reason = ownership.reason(api, context, options)
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
            stopped_operators.require_running(api, profile.in_cluster, context=context.name)
        if options.install_operator:
            pods = profile.in_cluster
            stopped_operators.require_none_left(crashed, pods, context=context.name)
    return Inspection(
        context=context,
        options=options,
        reason=reason,
        kinds=kinds,
        unseen=visibility.unseen(api, kinds),
        versions=visibility.versions(api, server, kinds),
        lacking=lacking,
        crashed=crashed,
        has_real_nodes=visibility.has_real_nodes(api),
    )
