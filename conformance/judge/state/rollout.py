"""The new spec has reached the workload, and its pods are of it: nothing of the old is running.

Where a graph's status has no observedGeneration this alone tells a finished image change from one
that has not begun.
"""

from __future__ import annotations

from conformance.judge.state.base import Mismatch
from conformance.judge.state.view import Part, View
from conformance.judge.state.words import call, listed, subject
from conformance.judge.state.workloads import images_in, images_of, right
from conformance.model.kinds import DEPLOYMENT, LWS
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName


def rollout(view: View) -> list[Mismatch]:
    """Templates without the service's image, pods without it, and updates still in progress."""
    found = []
    for part in view.parts:
        for workload in right(part, view.profile):
            found += _templates(workload, part) or _pods(workload, part, view)
            found += _progress(workload, part)
    return found


def _templates(workload: Obj, part: Part) -> list[Mismatch]:
    image = part.service.image
    lacking = [images for images in images_of(workload) if image and image not in images]
    if not lacking:
        return []
    message = (
        f"{call(workload)} of service {part.name} has image {listed(sorted(lacking[0]))}, expected "
        f"{image}"
    )
    return [_mismatch(CheckerName.FIDELITY, workload, part, message)]


def _pods(workload: Obj, part: Part, view: View) -> list[Mismatch]:
    image = part.service.image
    old = [
        pod
        for pod in part.pods_of(workload, view)
        if image and not pod.deleting and image not in images_in(pod.spec)
    ]
    if not old:
        return []
    message = f"{listed(map(call, old))} of service {part.name} does not run image {image} yet"
    return [_mismatch(CheckerName.SIZE, workload, part, message)]


def _progress(workload: Obj, part: Part) -> list[Mismatch]:
    if workload.kind not in (DEPLOYMENT, LWS):
        return []
    status = workload.status
    updating = workload.condition("UpdateInProgress") or {}
    # The API leaves a count of zero out.
    behind = int(status.get("updatedReplicas") or 0) < int(status.get("replicas") or 0)
    if not behind and updating.get("status") != "True":
        return []
    message = f"{call(workload)} of service {part.name} is still being updated"
    return [_mismatch(CheckerName.SIZE, workload, part, message)]


def _mismatch(checker: CheckerName, workload: Obj, part: Part, message: str) -> Mismatch:
    return Mismatch(
        checker=checker,
        subject=subject(workload),
        message=message,
        graph=part.graph.name,
        service=part.name,
        objects=(workload.uid,),
    )
