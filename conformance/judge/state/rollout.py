"""The new spec has reached the workload, and its pods are of it. Without observedGeneration this
alone tells a finished image change from one that has not begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.judge.mismatch import Mismatch, mismatch
from conformance.judge.snapshot import ServiceSnapshot, Snapshot
from conformance.judge.wording import join, noun, nouns, verb
from conformance.model.kinds import WORKLOADS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def rollout(snapshot: Snapshot) -> list[Mismatch]:
    """Templates without the service's image, pods without it, and updates still in progress."""
    return [
        mismatch(checker, message, workload, place=service.place)
        for service in snapshot.services
        for workload in service.right
        for checker, message in _unfinished(workload, service, snapshot)
    ]


def images_in(spec: Mapping[str, Any]) -> set[str]:
    """The images of a pod spec's containers, init containers left out."""
    return {str(container.get("image", "")) for container in spec.get("containers") or ()}


def _unfinished(
    workload: Obj, service: ServiceSnapshot, snapshot: Snapshot
) -> list[tuple[CheckerName, str]]:
    row, of, image = WORKLOADS[workload.kind], f"of service {service.name}", service.service.image
    templates = [images_in(found.get("spec") or {}) for _, found in row.templates_of(workload)]
    lacking = [images for images in templates if image and image not in images]
    old = [
        pod
        for pod in service.live_pods
        if image and image not in images_in(pod.spec) and snapshot.below(pod, [workload])
    ]
    found = []
    if lacking:
        text = f"{noun(workload)} {of} has image {join(sorted(lacking[0]))}, expected {image}"
        found.append((CheckerName.FIDELITY, text))
    elif old:
        text = f"{nouns(old)} {of} {verb(len(old), 'does', 'do')} not run image {image} yet"
        found.append((CheckerName.SIZE, text))
    if row.rolling(workload):
        found.append((CheckerName.SIZE, f"{noun(workload)} {of} is still being updated"))
    return found
