"""The maps service → state in a graph's status: they name the services of the spec, the workloads that
are there, and how many pods these have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.state.status import status_mismatch
from conformance.judge.wording import count, noun
from conformance.model.children import LwsLayout
from conformance.model.graph import Graph
from conformance.model.state import Obj


def service_map(
    root: Obj, key: str, graph: Graph, services: list[ServiceSnapshot], snapshot: Snapshot
) -> list[Mismatch]:
    """What `status.<key>` of the graph says and is not so. A map that is not there claims nothing."""
    entries = root.status.get(key)
    if not isinstance(entries, Mapping) or not entries:
        return []
    found = []
    names = {service.name for service in graph.services}
    where = f"status.{key} of {noun(root)}"
    for name in sorted(entries.keys() - names):
        message = f"{where} still names service {name}, which the spec does not have"
        found.append(status_mismatch(graph, root, message, service=name))
    for name in sorted(names - entries.keys()):
        message = f"{where} lacks service {name} of the spec"
        # At zero replicas there is nothing to speak of: untrue, but nothing to wait for.
        soft = not graph.service(name).groups
        found.append(status_mismatch(graph, root, message, service=name, soft=soft))
    for service in services:
        entry = entries.get(service.name)
        if isinstance(entry, Mapping):
            where = f"status.{key}.{service.name} of {noun(root)}"
            texts = [*_names(entry, service, snapshot), *_counts(entry, service, snapshot)]
            found += [
                status_mismatch(graph, root, f"{where} {text}", service=service.name)
                for text in texts
            ]
    return found


def _kind_and_names(entry: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    one = entry.get("componentName")
    names = entry.get("componentNames") or ([one] if one else [])
    return str(entry.get("componentKind") or ""), names


def _names(entry: Mapping[str, Any], service: ServiceSnapshot, snapshot: Snapshot) -> list[str]:
    """Names that are no workload of the service."""
    kind, names = _kind_and_names(entry)
    # At zero replicas the workload may be gone, and the entry then has nothing to name.
    if not kind or not service.service.groups:
        return []
    own = {workload.name for workload in service.workloads if workload.kind == kind}
    if not snapshot.runs_services(kind):
        rows = (obj for obj in snapshot.objects if obj.kind == kind)
        own = {obj.name for obj in rows if snapshot.root_of(obj) is service.root}
    return [
        f"names {kind} {name}, which is not a workload of that service"
        for name in names
        if name not in own
    ]


def _counts(entry: Mapping[str, Any], service: ServiceSnapshot, snapshot: Snapshot) -> list[str]:
    """Counts that are neither the number of the service's groups nor that of its pods."""
    kind, names = _kind_and_names(entry)
    multinode = service.profile.multinode
    # Where each replica is a workload of its own, the name of one stands for them all.
    all_alike = kind == multinode.kind and multinode.layout is LwsLayout.PER_REPLICA
    spoken_of = [
        workload
        for workload in service.workloads
        if (not kind or workload.kind == kind)
        and (not names or all_alike or workload.name in names)
    ]
    pods = [pod for pod in service.live_pods if snapshot.below(pod, spoken_of)]
    found = []
    for field, living in (
        ("replicas", len(pods)),
        ("readyReplicas", sum(pod.ready for pod in pods)),
    ):
        value = entry.get(field)
        low = living // max(1, service.service.size)
        if value is not None and not low <= int(value) <= living:
            verb = "is" if living == 1 else "are"
            word = "ready pod" if field == "readyReplicas" else "pod"
            found.append(f"says {field} {value}, and there {verb} {count(living, word)}")
    return found
