"""Builds the children of a component: a workload of the right kind, gang objects, a Service."""

import copy
from dataclasses import dataclass, field

from .faults import Fault, Faults
from .objects import (
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    HASH_ANNOTATION,
    LABEL_COMPONENT,
    LABEL_COMPONENT_TYPE,
    LABEL_GRAPH,
    LABEL_NAMESPACE,
    LABEL_ROLE,
    LABEL_SELECTOR,
    LWS,
    POD_GROUP,
    SERVICE,
    WORKLOADS,
    Kind,
    Object,
    component_name,
    controller_of,
    digest,
    main_container,
    meta,
    node_count,
    owner_reference,
    replicas_of,
)

GLOBAL_NAMESPACE = "dynamo"
FRONTEND_PORT = 8000
SYSTEM_PORT = 9090
SHARED_MEMORY_VOLUME = "shared-memory"

_STRATEGY = "nvidia.com/deployment-strategy"
_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
_SHELLS = ("sh", "bash", "ash", "dash")


class UnbuildableError(Exception):
    """The component lacks something that its workload needs; the message names it."""


@dataclass
class Plan:
    """The children that a component must have, complete but for what the API server adds."""

    workload_kind: Kind
    workload: Object
    gangs: list[Object] = field(default_factory=list)
    services: list[Object] = field(default_factory=list)

    def wanted(self) -> dict[Kind, list[Object]]:
        plan: dict[Kind, list[Object]] = {kind: [] for kind in WORKLOADS}
        plan[self.workload_kind].append(self.workload)
        plan[POD_GROUP] = self.gangs
        plan[SERVICE] = self.services
        return plan


class Builder:
    """Builds the children of one component object."""

    def __init__(
        self, component: Object, faults: Faults, *, single_node: Kind = DEPLOYMENT
    ) -> None:
        self._owner = component
        self._faults = faults
        self._single_node = single_node
        self._spec: Object = component.get("spec") or {}
        self._name: str = meta(component)["name"]
        self._namespace: str = meta(component)["namespace"]
        owner = controller_of(component)
        self._graph = owner["name"] if owner and owner.get("kind") == GRAPH.kind else ""
        self._nodes = node_count(self._spec)

    def plan(self) -> Plan:
        """All children of the component. Raises UnbuildableError."""
        if self._nodes > 1:
            self._require_multinode_parts()
            plan = Plan(LWS, self._leader_worker_set())
            groups = range(replicas_of(self._spec))
            plan.gangs = [self._pod_group(group) for group in groups]
        else:
            plan = Plan(self._single_node, self._single_node_workload())
        plan.services = [self._service()]
        return plan

    def labels(self) -> dict[str, str]:
        """The operator's labels; the same on the component's children and their pods."""
        if self._spec.get("globalDynamoNamespace"):
            namespace = GLOBAL_NAMESPACE
        else:
            namespace = f"{self._namespace}-{self._graph or self._name}"
        labels = {
            LABEL_COMPONENT: component_name(self._spec) or self._name,
            LABEL_NAMESPACE: namespace,
        }
        if self._graph:
            labels[LABEL_GRAPH] = self._graph
        if type_ := self._spec.get("type"):
            labels[LABEL_COMPONENT_TYPE] = type_
        return labels

    def _child(self, kind: Kind, name: str, spec: Object, *, labels: dict[str, str]) -> Object:
        metadata: Object = {
            "name": name,
            "namespace": self._namespace,
            "labels": labels,
            "annotations": {HASH_ANNOTATION: digest([spec, labels])},
        }
        if not (kind is POD_GROUP and self._faults.on(Fault.OWNERREF_MISSING)):
            metadata["ownerReferences"] = [owner_reference(self._owner, COMPONENT)]
        return {"metadata": metadata, "spec": spec}

    def _single_node_workload(self) -> Object:
        spec = {
            "replicas": replicas_of(self._spec),
            "selector": {"matchLabels": {LABEL_SELECTOR: self._name}},
            "template": self._template(role=None),
        }
        if self._single_node is DEPLOYMENT:
            spec["strategy"] = self._strategy()
        else:
            # All replicas are alike: none has to wait for the one before it.
            spec |= {"serviceName": self._name, "podManagementPolicy": "Parallel"}
        return self._child(self._single_node, self._name, spec, labels=self.labels())

    def _strategy(self) -> Object:
        annotations = self._pod_metadata().get("annotations") or {}
        if annotations.get(_STRATEGY) == "Recreate":
            return {"type": "Recreate"}
        return {
            "type": "RollingUpdate",
            "rollingUpdate": {
                "maxSurge": _int_or_percent(annotations.get(_SURGE, "25%")),
                "maxUnavailable": _int_or_percent(annotations.get(_UNAVAILABLE, "25%")),
            },
        }

    def _leader_worker_set(self) -> Object:
        spec = {
            "replicas": replicas_of(self._spec),
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": {
                "size": self._nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": self._template(role="leader"),
                "workerTemplate": self._template(role="worker"),
            },
        }
        name = f"{self._name}-0"
        if self._faults.on(Fault.OLD_GENERATION_KEPT):
            name = f"{self._name}-n{self._nodes}"
        return self._child(LWS, name, spec, labels=self.labels())

    def _pod_group(self, group: int) -> Object:
        spec = {"minMember": self._nodes}
        return self._child(POD_GROUP, f"{self._name}-{group}", spec, labels=self.labels())

    def _service(self) -> Object:
        labels = self.labels()
        keys = (LABEL_COMPONENT, LABEL_NAMESPACE, LABEL_COMPONENT_TYPE)
        selector = {key: labels[key] for key in keys if key in labels}
        if self._spec.get("globalDynamoNamespace") and self._graph:
            # Graphs that share the global namespace would otherwise select each other's pods.
            selector[LABEL_GRAPH] = self._graph
        if self._nodes > 1 and not self._faults.on(Fault.FOLLOWERS_IN_SELECTOR):
            selector[LABEL_ROLE] = "leader"
        frontend = self._spec.get("type") == "frontend"
        port = FRONTEND_PORT if frontend else SYSTEM_PORT
        name = "http" if frontend else "system"
        spec = {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [{"name": name, "port": port, "targetPort": port, "protocol": "TCP"}],
        }
        return self._child(SERVICE, self._name, spec, labels=labels)

    def _pod_metadata(self) -> Object:
        template: Object = self._spec.get("podTemplate") or {}
        metadata: Object = template.get("metadata") or {}
        return metadata

    def _template(self, *, role: str | None) -> Object:
        """The user's pod template with the operator's labels, environment and volumes added."""
        template: Object = copy.deepcopy(self._spec.get("podTemplate") or {})
        metadata: Object = template.get("metadata") or {}
        own = {**self.labels(), LABEL_SELECTOR: self._name}
        if role is not None:
            own[LABEL_ROLE] = role
        labels = {**(metadata.get("labels") or {}), **own}
        result: Object = {"metadata": {"labels": labels}, "spec": template.get("spec") or {}}
        if annotations := metadata.get("annotations"):
            result["metadata"]["annotations"] = annotations
        containers = result["spec"].get("containers") or []
        main = next(entry for entry in containers if entry.get("name") == "main")
        if role is not None and self._faults.on(Fault.SIDECAR_LOST_IN_LWS):
            result["spec"]["containers"] = [main]
            main.pop("env", None)
        if role is not None and self._faults.on(Fault.VOLUME_LOST_IN_LWS):
            _drop_volumes(result["spec"])
        self._add_environment(main)
        self._add_shared_memory(result["spec"], main)
        if role is not None:
            self._add_node_arguments(main, role)
        return result

    def _add_environment(self, main: Object) -> None:
        labels = self.labels()
        own = {"DYN_NAMESPACE": labels[LABEL_NAMESPACE], "DYN_COMPONENT": labels[LABEL_COMPONENT]}
        env: list[Object] = list(main.get("env") or [])
        names = {entry.get("name") for entry in env}
        env += [{"name": k, "value": v} for k, v in own.items() if k not in names]
        main["env"] = env

    def _add_shared_memory(self, spec: Object, main: Object) -> None:
        size = self._spec.get("sharedMemorySize")
        if size in (None, "0", 0):
            return
        volume = {
            "name": SHARED_MEMORY_VOLUME,
            "emptyDir": {"medium": "Memory", "sizeLimit": str(size)},
        }
        spec["volumes"] = [*(spec.get("volumes") or []), volume]
        mount = {"name": SHARED_MEMORY_VOLUME, "mountPath": "/dev/shm"}
        main["volumeMounts"] = [*(main.get("volumeMounts") or []), mount]

    def _add_node_arguments(self, main: Object, role: str) -> None:
        """Tell vLLM which node of the group it is; the variables come from the LWS webhook.

        A command line inside a shell's string cannot be extended from outside.
        """
        command: list[str] = main.get("command") or []
        shell = command and command[0].rpartition("/")[2] in _SHELLS
        if self._spec.get("backendFramework") != "vllm" or shell:
            return
        extra = ["--nnodes", "$(LWS_GROUP_SIZE)", "--node-rank", "$(LWS_WORKER_INDEX)"]
        extra += ["--master-addr", "$(LWS_LEADER_ADDRESS)"]
        if role == "worker":
            extra.append("--headless")
        main["args"] = [*(main.get("args") or []), *extra]

    def _require_multinode_parts(self) -> None:
        main = main_container(self._spec)
        missing = []
        if not main.get("command"):
            missing.append("a command of its main container")
        limits = (main.get("resources") or {}).get("limits") or {}
        if not any("gpu" in name for name in limits):
            missing.append("a GPU limit")
        if missing:
            parts = " and ".join(missing)
            raise UnbuildableError(f"a group over {self._nodes} nodes needs {parts}")


def _drop_volumes(spec: Object) -> None:
    spec.pop("volumes", None)
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or []:
            container.pop("volumeMounts", None)


def _int_or_percent(text: str) -> int | str:
    return int(text) if text.isdigit() else text
