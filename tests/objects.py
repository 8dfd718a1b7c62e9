"""Objects of a well-behaved operator, written by hand: what a settled graph looks like in the API.

Uids are readable (`Kind/name`), so that a test can name an object without looking it up.
"""

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

from conformance.judge.snapshot import Snapshot, Wanted
from conformance.model.children import Gang, LwsLayout, Multinode
from conformance.model.graph import GROUP, ApiVersion, Graph, Role, Service
from conformance.model.kinds import (
    LWS_NAME_LABEL,
    LWS_WORKER_INDEX_LABEL,
)
from conformance.model.manifest import manifest, service_spec
from conformance.model.profile import Profile
from conformance.model.state import Obj, State

Raw = dict[str, Any]
NAMESPACE = "case-1"
GANG_ANNOTATION = "scheduling.k8s.io/group-name"

_API = {
    "DynamoGraphDeployment": f"{GROUP}/v1beta1",
    "DynamoComponentDeployment": f"{GROUP}/v1beta1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
}


def a_profile(
    *, layout: LwsLayout = LwsLayout.SINGLE, gang: Gang = Gang.PER_GROUP, **fields: Any
) -> Profile:
    """A profile like the reference operator's; any field of Profile can be given."""
    values: dict[str, Any] = {
        "identity": {"name": "reference"},
        "versions": ["v1beta1", "v1alpha1"],
        "install": {"command": ["operator"]},
        "multinode": Multinode(layout=layout, gang=gang).model_dump(),
    }
    return Profile.model_validate({**values, **fields})


def a_graph(
    name: str = "agg", *, node_count: int | None = None, replicas: int | None = 1,
    image: str = "vllm:1.0.0", worker: str = "Worker",
) -> Graph:  # fmt: skip
    """A frontend and one worker."""
    return Graph(
        name=name,
        services=(
            Service(name="Frontend", role=Role.FRONTEND, container={"image": image}),
            Service(
                name=worker, role=Role.WORKER, replicas=replicas, node_count=node_count, gpus=1,
                container={"image": image, "command": ["python3"], "args": ["-m", "vllm"]},
            ),
        ),
    )  # fmt: skip


def made(
    kind: str, name: str, *, owner: Raw | None = None, namespace: str | None = NAMESPACE,
    uid: str = "", labels: Mapping[str, str] | None = None, spec: Raw | None = None,
    status: Raw | None = None, annotations: Mapping[str, str] | None = None,
    controller: bool = True, **metadata: Any,
) -> Raw:  # fmt: skip
    """Any object. `owner` becomes an ownerReference; `namespace` None makes it cluster-scoped."""
    meta: Raw = {"name": name, "uid": uid or f"{kind}/{name}", "generation": 1, **metadata}
    if namespace is not None:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = dict(labels)
    if annotations:
        meta["annotations"] = dict(annotations)
    if owner is not None:
        meta["ownerReferences"] = [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": controller,
             "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        ]  # fmt: skip
    raw: Raw = {"apiVersion": _API.get(kind, "v1"), "kind": kind, "metadata": meta}
    if spec is not None:
        raw["spec"] = copy.deepcopy(spec)
    if status is not None:
        raw["status"] = copy.deepcopy(status)
    return raw


def condition(type_: str, status: bool | str, reason: str = "because") -> Raw:
    """A status condition."""
    text = status if isinstance(status, str) else str(status)
    return {"type": type_, "status": text, "reason": reason, "message": reason}


def dgd(
    graph: Graph, *, ready: bool | None = True, generation: int = 1, observed: int | None = -1,
    version: ApiVersion = ApiVersion.V1BETA1, profile: Profile | None = None,
    reason: str = "all_resources_are_ready", **metadata: Any,
) -> Raw:  # fmt: skip
    """The graph's object. `observed` -1 means up to date, None that the status has none; `ready`
    None leaves the condition out."""
    body = manifest(graph, version=version)
    status: Raw = {"state": "successful" if ready else "pending", "conditions": []}
    if ready is not None:
        status["conditions"] = [condition("Ready", ready, reason)]
    if observed is not None:
        status["observedGeneration"] = generation if observed == -1 else observed
    key = "components" if version is ApiVersion.V1BETA1 else "services"
    status[key] = {s.name: _entry(graph, s, profile or a_profile()) for s in graph.services}
    return made(
        "DynamoGraphDeployment", graph.name, spec=body["spec"], status=status,
        generation=generation, annotations=graph.annotations, **metadata,
    ) | {"apiVersion": f"{GROUP}/{version}"}  # fmt: skip


def _entry(graph: Graph, service: Service, profile: Profile) -> Raw:
    names = workload_names(component_name(graph, service), service, profile)
    return {
        "componentKind": "LeaderWorkerSet" if service.multinode else "Deployment",
        "componentNames": names,
        "replicas": service.groups,
        "updatedReplicas": service.groups,
        "readyReplicas": service.groups,
    }


def component_name(graph: Graph, service: Service) -> str:
    """Name of a service's component: `<graph>-<service>` in lower case."""
    return f"{graph.name}-{service.name.lower()}"


def workload_names(component: str, service: Service, profile: Profile) -> list[str]:
    """Names of the workloads that a settled service has."""
    if not service.multinode:
        return [component]
    single = profile.multinode.layout is LwsLayout.SINGLE
    return [f"{component}-{i}" for i in range(1 if single else service.groups)]


def labels_of(graph: Graph | None, service: Service, component: str) -> dict[str, str]:
    """The operator's labels on everything of a service."""
    labels = {
        "nvidia.com/dynamo-component": service.name,
        "nvidia.com/dynamo-namespace": f"{NAMESPACE}-{graph.name if graph else component}",
        "nvidia.com/dynamo-component-type": str(service.role),
    }
    if graph is not None:
        labels["nvidia.com/dynamo-graph-deployment-name"] = graph.name
    return labels


def dcd(
    service: Service, *, name: str, owner: Raw | None = None, graph: Graph | None = None,
    ready: bool = True, generation: int = 1, observed: int | None = -1, **metadata: Any,
) -> Raw:  # fmt: skip
    """A component's object."""
    status: Raw = {"conditions": [condition("Available", ready)]}
    if observed is not None:
        status["observedGeneration"] = generation if observed == -1 else observed
    return made(
        "DynamoComponentDeployment", name, owner=owner, labels=labels_of(graph, service, name),
        spec=service_spec(service, ApiVersion.V1BETA1), status=status, generation=generation,
        **metadata,
    )  # fmt: skip


def pod(
    name: str, *, owner: Raw | None, labels: Mapping[str, str], image: str = "vllm:1.0.0",
    ready: bool = True, ending: bool = False, gang: str = "", uid: str = "",
    spec: Raw | None = None,
) -> Raw:  # fmt: skip
    """A pod; `ending` gives it a deletionTimestamp. `spec` goes before `image`."""
    extra = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if ending else {}
    return made(
        "Pod", name, owner=owner, labels=labels, uid=uid,
        annotations={GANG_ANNOTATION: gang} if gang else None,
        spec=spec or {"containers": [{"name": "main", "image": image}]},
        status={"phase": "Running", "conditions": [condition("Ready", ready)]}, **extra,
    )  # fmt: skip


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:6]


def template(service: Service, labels: Mapping[str, str]) -> Raw:
    """The user's pod template with the operator's labels."""
    found: Raw = service_spec(service, ApiVersion.V1BETA1)["podTemplate"]
    metadata = found.setdefault("metadata", {})
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    return found


def deployment_tree(
    service: Service, *, name: str, owner: Raw | None, labels: Mapping[str, str], ready: bool = True
) -> list[Raw]:
    """A Deployment with its ReplicaSet and pods."""
    count = service.groups
    pod_labels = {**labels, "nvidia.com/selector": name}
    status = {"observedGeneration": 1, "replicas": count, "updatedReplicas": count,
              "readyReplicas": count if ready else 0}  # fmt: skip
    top = made(
        "Deployment", name, owner=owner, labels=labels, status=status,
        spec={"replicas": count, "selector": {"matchLabels": {"nvidia.com/selector": name}},
              "template": template(service, pod_labels)},
    )  # fmt: skip
    suffix = _hash(service.image)
    rs = made(
        "ReplicaSet", f"{name}-{suffix}", owner=top, labels=pod_labels,
        spec={"replicas": count, "template": template(service, pod_labels)},
        status={"observedGeneration": 1, "replicas": count},
    )  # fmt: skip
    pods = [
        pod(
            f"{name}-{suffix}-{i}",
            owner=rs,
            labels=pod_labels,
            ready=ready,
            spec=template(service, pod_labels)["spec"],
        )
        for i in range(count)
    ]
    return [top, rs, *pods]


def lws_tree(
    service: Service, *, name: str, owner: Raw | None, labels: Mapping[str, str],
    groups: int, gang: str = "", ready: bool = True,
) -> list[Raw]:  # fmt: skip
    """A LeaderWorkerSet with its StatefulSets, headless Service, revision and pods. `gang` is the
    prefix of the gang objects' names, with the group's number behind it."""
    suffix = _hash(service.image, service.size)
    top = made(
        "LeaderWorkerSet", name, owner=owner, labels=labels,
        spec={"replicas": groups, "leaderWorkerTemplate": {
            "size": service.size,
            "leaderTemplate": template(service, {**labels, "role": "leader"}),
            "workerTemplate": template(service, {**labels, "role": "worker"})}},
        status={"replicas": groups, "readyReplicas": groups if ready else 0,
                "updatedReplicas": groups, "conditions": [condition("Available", ready)]},
    )  # fmt: skip
    lws_labels = {LWS_NAME_LABEL: name}
    leaders = made("StatefulSet", name, owner=top, labels=lws_labels, spec={"replicas": groups})
    headless = made(
        "Service", name, owner=top, spec={"clusterIP": "None", "selector": dict(lws_labels)},
        uid=f"Service/headless/{name}",
    )  # fmt: skip
    found = [
        top, leaders, headless,
        made("EndpointSlice", f"{name}-x", owner=headless),
        made("ControllerRevision", f"{name}-{suffix}", owner=top),
    ]  # fmt: skip
    for group in range(groups):
        in_group = {**labels, **lws_labels, "leaderworkerset.sigs.k8s.io/group-index": str(group)}
        gang_name = f"{gang}-{group}" if gang else ""
        leader = pod(
            f"{name}-{group}", owner=leaders, ready=ready, gang=gang_name,
            spec=template(service, in_group)["spec"],
            labels={**in_group, LWS_WORKER_INDEX_LABEL: "0", "role": "leader"},
            uid=f"Pod/{name}-{group}/{suffix}",
        )  # fmt: skip
        found.append(leader)
        if service.size == 1:
            continue
        workers = made(
            "StatefulSet", f"{name}-{group}", owner=leader, labels=in_group,
            spec={"replicas": service.size - 1}, uid=f"StatefulSet/workers/{name}-{group}/{suffix}",
        )  # fmt: skip
        found.append(workers)
        found += [
            pod(
                f"{name}-{group}-{i}", owner=workers, ready=ready,
                gang=gang_name, spec=template(service, in_group)["spec"],
                uid=f"Pod/{name}-{group}-{i}/{suffix}",
                labels={**in_group, LWS_WORKER_INDEX_LABEL: str(i), "role": "worker"},
            )
            for i in range(1, service.size)
        ]  # fmt: skip
    return found


def pod_group(
    name: str, *, owner: Raw | None, minimum: int, labels: Mapping[str, str] | None = None
) -> Raw:
    """A Volcano PodGroup."""
    return made("PodGroup", name, owner=owner, labels=labels, spec={"minMember": minimum})


def component_service(service: Service, *, name: str, owner: Raw, labels: Mapping[str, str]) -> Raw:
    """The component Service, which selects leaders only when multinode."""
    keys = ("nvidia.com/dynamo-component", "nvidia.com/dynamo-namespace")
    selector = {key: labels[key] for key in keys}
    if service.multinode:
        selector["role"] = "leader"
    return made("Service", name, owner=owner, labels=labels, spec={"selector": selector})


def component_tree(
    service: Service, *, name: str, owner: Raw | None, graph: Graph | None, profile: Profile,
    ready: bool = True,
) -> list[Raw]:  # fmt: skip
    """A component with everything below it."""
    labels = labels_of(graph, service, name)
    top = dcd(service, name=name, owner=owner, graph=graph, ready=ready)
    door = component_service(service, name=name, owner=top, labels=labels)
    found = [top, door, made("EndpointSlice", f"{name}-e", owner=door)]
    if not service.multinode:
        return found + deployment_tree(service, name=name, owner=top, labels=labels, ready=ready)
    gang = profile.multinode.gang is Gang.PER_GROUP
    if gang:
        found += [
            pod_group(f"{name}-{i}", owner=top, minimum=service.size, labels=labels)
            for i in range(service.groups)
        ]
    single = profile.multinode.layout is LwsLayout.SINGLE
    for lws_name in workload_names(name, service, profile):
        # One LWS a replica has one group each, whose gang bears the LWS's own name.
        tree = lws_tree(
            service, name=lws_name, owner=top, labels=labels, ready=ready,
            groups=service.groups if single else 1, gang=name if gang and single else "",
        )  # fmt: skip
        if gang and not single:
            for raw in tree:
                if raw["kind"] == "Pod":
                    raw["metadata"]["annotations"] = {GANG_ANNOTATION: lws_name}
        found += tree
    return found


def settled(
    graph: Graph, profile: Profile | None = None, *, ready: bool = True, generation: int = 1
) -> list[Raw]:
    """Everything that a well-behaved operator and the platform have for the graph at rest."""
    profile = profile or a_profile()
    top = dgd(graph, ready=ready, generation=generation, profile=profile)
    found = [top]
    for service in graph.services:
        found += component_tree(
            service, name=component_name(graph, service), owner=top, graph=graph, profile=profile,
            ready=ready,
        )  # fmt: skip
    return found


def settled_component(
    service: Service, *, name: str, profile: Profile | None = None, ready: bool = True
) -> list[Raw]:
    """Everything of a bare component (without a graph) at rest."""
    return component_tree(
        service, name=name, owner=None, graph=None, profile=profile or a_profile(), ready=ready
    )


def namespace_basics() -> list[Raw]:
    """What Kubernetes itself puts into each namespace."""
    return [
        made("ConfigMap", "kube-root-ca.crt"),
        made("ServiceAccount", "default"),
    ]


def find(objects: list[Raw], kind: str, name: str) -> Raw:
    """The object of that kind and name. Raises KeyError if there is none."""
    for raw in objects:
        if raw["kind"] == kind and raw["metadata"]["name"] == name:
            return raw
    raise KeyError(f"no {kind} {name}")


def without(objects: list[Raw], *gone: Raw) -> list[Raw]:
    """The objects but those."""
    uids = {raw["metadata"]["uid"] for raw in gone}
    return [raw for raw in objects if raw["metadata"]["uid"] not in uids]


def edited(raw: Raw, *path: str, to: Any) -> Raw:
    """A copy of the object with one field set; `to` None removes it."""
    copied = copy.deepcopy(raw)
    target = copied
    for key in path[:-1]:
        target = target.setdefault(key, {})
    if to is None:
        target.pop(path[-1], None)
    else:
        target[path[-1]] = to
    return copied


def swapped(objects: list[Raw], *new: Raw) -> list[Raw]:
    """The objects with those of the same uid replaced."""
    by_uid = {raw["metadata"]["uid"]: raw for raw in new}
    return [by_uid.get(raw["metadata"]["uid"], raw) for raw in objects]


def snapshot(
    objects: list[Raw], *graphs: Graph, profile: Profile | None = None,
    components: tuple[Graph, ...] = (), others: frozenset[str] = frozenset(),
) -> Snapshot:  # fmt: skip
    """These objects, and the graphs that are wanted of them."""
    wanted = Wanted(
        namespace=NAMESPACE, graphs=graphs, components=components, others=others,
        profile=profile or a_profile(),
    )  # fmt: skip
    return Snapshot(state=State(Obj(raw) for raw in objects), wanted=wanted)
