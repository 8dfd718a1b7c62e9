"""Questions to a kind cluster: is this part ready?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.cluster.kind.docker import Docker
from conformance.kube import Answer, Api
from conformance.model.errors import InfraError
from conformance.model.labels import REAL_NODE

DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PROBE_SECONDS = 3.0

_RESTART_SECONDS = 90
_RESTART = f"""
running() {{ crictl ps --quiet --name '^kube-controller-manager$'; }}
old=$(running)
# Removed, not just ended: kubelet makes a container that it finds dead wait, longer each time.
if [ -n "$old" ]; then crictl rm --force "$old" >/dev/null || exit 1; fi
for _ in $(seq {_RESTART_SECONDS * 10}); do
  new=$(running)
  if [ -n "$new" ] && [ "$new" != "$old" ] &&
    curl --silent --insecure --fail --max-time 2 https://127.0.0.1:10257/healthz >/dev/null
  then exit 0; fi
  sleep 0.1
done
echo "it did not come back within {_RESTART_SECONDS} s"
exit 1
"""


def answers(api: Api, path: str) -> bool:
    """The path is answered with 2xx."""
    answer = _get(api, path)
    return answer is not None and answer.ok


def nodes_ready(api: Api, simulated: int) -> bool:
    """All nodes are ready and untainted, but for the real one's own taint."""
    answer = _get(api, "/api/v1/nodes")
    if answer is None or not answer.ok or len(answer.body["items"]) < simulated + 1:
        return False
    return all(_is_ready(node) for node in answer.body["items"])


def rolled_out(api: Api, path: str) -> bool:
    """The Deployment at that path runs as it is specified, and nothing else of it runs."""
    answer = _get(api, path)
    if answer is None or not answer.ok:
        return False
    wanted, status = answer.body["spec"]["replicas"], answer.body.get("status", {})
    counts = {status.get(key) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    observed = status.get("observedGeneration") == answer.body["metadata"]["generation"]
    return bool(observed and counts == {wanted})


def kwok_works(api: Api, simulated: int) -> bool:
    """KWOK holds a lease for each simulated node: it sees them, and may write."""
    answer = _get(api, _LEASES)
    if answer is None or not answer.ok:
        return False
    held = {lease["metadata"]["name"] for lease in answer.body["items"]}
    return {f"node-{index}" for index in range(simulated)} <= held


def lws_answers(api: Api) -> bool:
    """The pod webhook of LeaderWorkerSet refuses a pod that claims to be of one and is not."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "labels": {"leaderworkerset.sigs.k8s.io/name": "probe"}},
        "spec": {"containers": [{"name": "probe", "image": "probe"}]},
    }
    path = "/api/v1/namespaces/default/pods"
    try:
        answer = api.request("POST", path, pod, params={"dryRun": "All"})
    except InfraError:
        return False
    return answer.code == 403 and answer.message.startswith("admission webhook")


def discovered(api: Api, crds: Iterable[Mapping[str, Any]]) -> bool:
    """The kinds are announced, as clients and the garbage collector read it: a checkpoint after they
    are served."""
    try:
        answer = api.request("GET", "/apis", accept=_DISCOVERY, timeout=_PROBE_SECONDS)
    except InfraError:
        return False
    if not answer.ok:
        return False
    announced = {
        (group["metadata"]["name"], resource["resource"])
        for group in answer.body["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    return {(crd["spec"]["group"], crd["spec"]["names"]["plural"]) for crd in crds} <= announced


def containerd_answers(docker: Docker, cluster: str, node: str) -> bool:
    """The node's container runs, and images can be loaded into it."""
    if not any(each.state == "running" for each in docker.nodes(cluster)):
        return False
    try:
        docker.execute(node, ["ctr", "--namespace=k8s.io", "version"])
    except InfraError:
        return False
    return True


def restart_controller_manager(docker: Docker, node: str) -> None:
    """Raises InfraError if it does not come back."""
    docker.execute(node, ["sh", "-c", _RESTART], timeout=_RESTART_SECONDS + 30.0)


def _is_ready(node: dict[str, Any]) -> bool:
    taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
    own = [REAL_NODE] if REAL_NODE in node["metadata"].get("labels", {}) else []
    ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in node["status"].get("conditions", ())
    )
    return ready and taints == own


def _get(api: Api, path: str) -> Answer | None:
    try:
        return api.request("GET", path, timeout=_PROBE_SECONDS)
    except InfraError:
        return None
