"""May the suite write to this cluster at all? Only reads are sent until that is known."""

from __future__ import annotations

import re

from conformance.cluster.kubeconfig.contexts import Context
from conformance.cluster.kubeconfig.options import KubeconfigOptions
from conformance.kube import Api
from conformance.model.errors import UsageError
from conformance.model.labels import DISPOSABLE

MARKED = ("kube-system", "default")
"""Namespaces that may carry the label."""

# Context names that only tools for throw-away clusters give.
_DISPOSABLE = re.compile(r"(kind|k3d)-.+|minikube")


def by_name(context: str) -> bool:
    """True if the context's name is that of a throw-away cluster: kind-*, k3d-*, minikube."""
    return _DISPOSABLE.fullmatch(context) is not None


def reason(api: Api, context: Context, options: KubeconfigOptions) -> str:
    """Why the suite may write, for people. Raises UsageError if it may not."""
    if options.i_own:
        return "you say that you own it (--i-own-this-cluster)"
    if by_name(context.name):
        return f"context {context.name} is a throw-away cluster by its name"
    for namespace in MARKED:
        answer = api.request("GET", f"/api/v1/namespaces/{namespace}")
        # One that may not be read cannot allow anything.
        labels = answer.body.get("metadata", {}).get("labels") or {} if answer.ok else {}
        if labels.get(DISPOSABLE) == "true":
            return f"its namespace {namespace} is labelled {DISPOSABLE}=true"
    raise UsageError(
        f"context {context.name} ({context.server}) does not look like a cluster to experiment on, and "
        "nothing was written to it; if it is, say --i-own-this-cluster, or label it: "
        f"kubectl --context {context.name} label namespace default {DISPOSABLE}=true"
    )
