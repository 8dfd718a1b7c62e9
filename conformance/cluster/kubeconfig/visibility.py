"""What of the cluster the user may see, and what is installed in it already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.cluster.kubeconfig import rights
from conformance.cluster.kubeconfig.rights import Right
from conformance.kube import Api, Resource
from conformance.model.kinds import LWS, LWS_GROUP, POD_GROUP, POD_GROUP_GROUP, UNRECORDED
from conformance.model.labels import REAL_NODE

_SEE = ("list", "watch")
_UNKNOWN = "unknown version"

# Where a controller's Deployment stands in its own release manifests: kind → (group, namespace, name).
_CONTROLLERS = {
    LWS: (LWS_GROUP, "lws-system", "lws-controller-manager"),
    POD_GROUP: (POD_GROUP_GROUP, "volcano-system", "volcano-controllers"),
}
_TITLES = {LWS: "lws", POD_GROUP: "volcano"}


def unseen(api: Api, kinds: Sequence[Resource]) -> list[Resource]:
    """Kinds that the recorder would record, but that the user may not list and watch everywhere."""
    everything = [Right(group="*", resource="*", verbs=_SEE, why="the record")]
    if not rights.missing(api, everything):
        return []
    wanted = [kind for kind in kinds if kind.kind not in UNRECORDED]
    rows = {
        Right(group=kind.group, resource=kind.plural, verbs=_SEE, why="the record"): kind
        for kind in wanted
    }
    hidden = {(right.group, right.resource) for right in rights.missing(api, rows)}
    return [kind for kind in wanted if (kind.group, kind.plural) in hidden]


def serves(kinds: Iterable[Resource], kind: str, group: str) -> bool:
    """True if the cluster serves the kind."""
    return any(row.kind == kind and row.group == group for row in kinds)


def has_real_nodes(api: Api) -> bool:
    """True if nodes are marked as the real ones among simulated ones; False where nodes may not be
    listed."""
    params = {"labelSelector": f"{REAL_NODE}=true", "limit": 1}
    answer = api.request("GET", "/api/v1/nodes", params=params)
    return bool(answer.ok and answer.body.get("items"))


def versions(api: Api, server: Mapping[str, Any], kinds: Sequence[Resource]) -> dict[str, str]:
    """Program → version, as far as the user may know: the API server, LeaderWorkerSet (`lws`) and
    Volcano (`volcano`) if they are installed."""
    found = {"kube-apiserver": str(server.get("gitVersion") or _UNKNOWN)}
    for kind, (group, namespace, name) in _CONTROLLERS.items():
        if serves(kinds, kind, group):
            found[_TITLES[kind]] = _version_of(api, namespace, name)
    return found


def _version_of(api: Api, namespace: str, name: str) -> str:
    """From a Deployment's version label or the tag of its first image."""
    answer = api.request("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    if not answer.ok:
        return _UNKNOWN
    labels = (answer.body.get("metadata") or {}).get("labels") or {}
    if labels.get("app.kubernetes.io/version"):
        return str(labels["app.kubernetes.io/version"])
    spec = answer.body["spec"]["template"]["spec"]
    image = str(spec["containers"][0].get("image", "")).partition("@")[0]
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag or _UNKNOWN
