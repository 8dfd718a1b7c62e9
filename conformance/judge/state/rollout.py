"""The new spec has reached the workload, and its pods are of it: nothing of the old is running.

Where a graph's status has no observedGeneration this alone tells a finished image change from one
that has not begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judge.mismatch import Mismatch, of_service
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import join, noun, nouns
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def rollout(snapshot: Snapshot) -> list[Mismatch]:
    """Templates without the service's image, pods without it, and updates still in progress."""
    found = []
    for service in snapshot.services:
        for workload in service.right:
            found += _templates(workload, service) or _pods(workload, service, snapshot)
            found += _progress(workload, service)
    return found


def images_in(spec: Mapping[str, Any]) -> set[str]:
    """The images of a pod spec's containers, init containers left out."""
    return {str(container.get("image", "")) for container in spec.get("containers") or ()}


def _templates(workload: Obj, service: ServiceSnapshot) -> list[Mismatch]:
    image = service.service.image
    templates = WORKLOADS[workload.kind].templates_of(workload)
    images = [images_in(template.get("spec") or {}) for _, template in templates]
    lacking = [found for found in images if image and image not in found]
    if not lacking:
        return []
    message = (
        f"{noun(workload)} of service {service.name} has image {join(sorted(lacking[0]))}, "
        f"expected {image}"
    )
    return [of_service(CheckerName.FIDELITY, service, [workload], message)]


def _pods(workload: Obj, service: ServiceSnapshot, snapshot: Snapshot) -> list[Mismatch]:
    image = service.service.image
    old = [
        pod
        for pod in service.live_pods
        if image and image not in images_in(pod.spec) and snapshot.below(pod, [workload])
    ]
    if not old:
        return []
    verb = "does" if len(old) == 1 else "do"
    message = f"{nouns(old)} of service {service.name} {verb} not run image {image} yet"
    return [of_service(CheckerName.SIZE, service, [workload], message)]


def _progress(workload: Obj, service: ServiceSnapshot) -> list[Mismatch]:
    if not WORKLOADS[workload.kind].rolling(workload):
        return []
    message = f"{noun(workload)} of service {service.name} is still being updated"
    return [of_service(CheckerName.SIZE, service, [workload], message)]
