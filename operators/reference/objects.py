"""The kinds the operator handles, and the few questions it asks of any object."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

OPERATOR = "dgd-reference"
FINALIZER = "nvidia.com/finalizer"
HASH_ANNOTATION = "nvidia.com/last-applied-hash"

LABEL_COMPONENT = "nvidia.com/dynamo-component"
LABEL_COMPONENT_TYPE = "nvidia.com/dynamo-component-type"
LABEL_NAMESPACE = "nvidia.com/dynamo-namespace"
LABEL_GRAPH = "nvidia.com/dynamo-graph-deployment-name"
LABEL_SELECTOR = "nvidia.com/selector"
LABEL_ROLE = "role"
LABEL_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"


@dataclass(frozen=True)
class Kind:
    """One served kind: where it lives in the API and what its objects call themselves."""

    kind: str
    plural: str
    version: str
    group: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path of the collection, the object or its subresource; no namespace = all."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(parts)


GRAPH = Kind("DynamoGraphDeployment", "dynamographdeployments", "v1beta1", "nvidia.com")
COMPONENT = Kind("DynamoComponentDeployment", "dynamocomponentdeployments", "v1beta1", "nvidia.com")
DEPLOYMENT = Kind("Deployment", "deployments", "v1", "apps")
LWS = Kind("LeaderWorkerSet", "leaderworkersets", "v1", "leaderworkerset.x-k8s.io")
POD_GROUP = Kind("PodGroup", "podgroups", "v1beta1", "scheduling.volcano.sh")
SERVICE = Kind("Service", "services", "v1")
POD = Kind("Pod", "pods", "v1")
REPLICA_SET = Kind("ReplicaSet", "replicasets", "v1", "apps")
STATEFUL_SET = Kind("StatefulSet", "statefulsets", "v1", "apps")

SINGLE_NODE = {kind.kind: kind for kind in (DEPLOYMENT, STATEFUL_SET)}
"""Kinds of workload that a component without multinode may become, by their names."""
WORKLOADS = (*SINGLE_NODE.values(), LWS)
CHILDREN = (POD_GROUP, *WORKLOADS, SERVICE)


@dataclass(frozen=True, order=True)
class Key:
    """Names one object of a kind that is understood from the context."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def meta(obj: Object) -> Object:
    metadata: Object = obj.get("metadata") or {}
    return metadata


def key_of(obj: Object) -> Key:
    return Key(meta(obj).get("namespace", ""), meta(obj)["name"])


def uid_of(obj: Object) -> str:
    return str(meta(obj).get("uid", ""))


def labels_of(obj: Object) -> dict[str, str]:
    return meta(obj).get("labels") or {}


def annotations_of(obj: Object) -> dict[str, str]:
    return meta(obj).get("annotations") or {}


def generation_of(obj: Object) -> int:
    return int(meta(obj).get("generation") or 0)


def is_terminating(obj: Object) -> bool:
    return bool(meta(obj).get("deletionTimestamp"))


def controller_of(obj: Object) -> Object | None:
    """The owner reference with ``controller: true``, if there is one."""
    for reference in meta(obj).get("ownerReferences") or []:
        if reference.get("controller"):
            owner: Object = reference
            return owner
    return None


def is_controlled_by(obj: Object, uid: str) -> bool:
    owner = controller_of(obj)
    return owner is not None and owner.get("uid") == uid


def owner_reference(owner: Object, kind: Kind) -> Object:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": meta(owner)["name"],
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def digest(value: Any) -> str:
    """A short, stable hash of JSON data; key order does not matter."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def component_name(component: Object) -> str:
    return str(component.get("name", ""))


def child_name(graph: str, component: str) -> str:
    """Name of the component object; lower case because children's names must be DNS labels."""
    return f"{graph}-{component.lower()}"


def node_count(component: Object) -> int:
    """Nodes a group spans; 1 without multinode. The schema's own default of the field is 2."""
    multinode = component.get("multinode")
    return 1 if multinode is None else int(multinode.get("nodeCount") or 2)


def replicas_of(component: Object) -> int:
    """Wanted pods (single node) or groups (multinode); an absent field means one."""
    value = component.get("replicas")
    return 1 if value is None else int(value)


def main_container(component: Object) -> Object:
    """The container named ``main`` of the pod template, or an empty one."""
    spec = (component.get("podTemplate") or {}).get("spec") or {}
    for container in spec.get("containers") or []:
        if container.get("name") == "main":
            found: Object = container
            return found
    return {}
