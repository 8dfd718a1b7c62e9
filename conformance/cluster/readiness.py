"""Is this part of a cluster ready? One question each, and the wait for an answer."""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.cluster.processes.supervisor import Process
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.labels import REAL_NODE

DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PROBE_SECONDS = 3.0


def wait_until(
    probe: Callable[[], bool],
    *,
    within: float,
    every: float = 0.02,
    what: str,
    alive: Sequence[Process] = (),
) -> None:
    """Poll until `probe` is true. Raises InfraError after `within` seconds, or at once if one of
    the processes in `alive` ended, with the end of its log."""
    deadline = time.monotonic() + within
    while not probe():
        for process in alive:
            if not process.running:
                raise InfraError(
                    f"{process.name} ended with code {process.returncode} while waiting for "
                    f"{what}; the end of its log:\n{process.tail()}"
                )
        if time.monotonic() > deadline:
            logs = "\n".join(f"{process.name}:\n{process.tail(5)}" for process in alive)
            raise InfraError(f"waited {within:.0f} s for {what}, without success\n{logs}")
        time.sleep(every)


def answers(api: Api, path: str) -> bool:
    """The path is answered with 2xx."""
    return _get(api, path) is not None


def nodes_ready(api: Api, count: int) -> bool:
    """So many nodes are there, all ready and untainted, but for a real one's own taint."""
    found = _get(api, "/api/v1/nodes")
    return bool(found and len(found["items"]) >= count and all(map(_is_ready, found["items"])))


def rolled_out(api: Api, path: str) -> bool:
    """The Deployment at that path runs as it is specified, and nothing else of it runs."""
    found = _get(api, path)
    if found is None:
        return False
    wanted, status = found["spec"]["replicas"], found.get("status", {})
    counts = {status.get(key) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    observed = status.get("observedGeneration") == found["metadata"]["generation"]
    return observed and counts == {wanted}


def kwok_works(api: Api, nodes: Iterable[str]) -> bool:
    """KWOK holds a lease for each of these simulated nodes: it sees them, and may write."""
    found = _get(api, _LEASES)
    return bool(found) and set(nodes) <= {lease["metadata"]["name"] for lease in found["items"]}


def lws_answers(api: Api) -> bool:
    """LeaderWorkerSet's pod webhook refuses a pod that claims to be of one and is not. Asked with a
    dry run, and not by way of a LeaderWorkerSet: the API server delays each create of a kind that is
    younger than 2 s."""
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
    """The kinds are announced. Clients and the garbage collector read this, and a custom kind gets
    here shortly after it is served; a controller that does not find its kind waits 10 s."""
    found = _get(api, "/apis", accept=_DISCOVERY)
    if found is None:
        return False
    announced = {
        (group["metadata"]["name"], resource["resource"])
        for group in found["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    return {(crd["spec"]["group"], crd["spec"]["names"]["plural"]) for crd in crds} <= announced


def _is_ready(node: Mapping[str, Any]) -> bool:
    taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
    expected = [REAL_NODE] if REAL_NODE in node["metadata"].get("labels", {}) else []
    conditions = node["status"].get("conditions", ())
    ready = any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)
    return ready and taints == expected


def _get(api: Api, path: str, *, accept: str = "application/json") -> Any:
    """What is answered with 2xx; None otherwise."""
    with contextlib.suppress(InfraError):
        answer = api.request("GET", path, accept=accept, timeout=_PROBE_SECONDS)
        if answer.ok:
            return answer.body
    return None
