"""Why an operator is not ready, from what the API server shows."""

from typing import Any

import pytest

from conformance.model.errors import InfraError
from conformance.model.state import Obj
from conformance.operator.pods.deployed import Deployed, Pod, Target, is_ready, selector
from conformance.operator.pods.diagnosis import why_not_ready

Raw = dict[str, Any]


class Shown(Deployed):
    """What a cluster would show."""

    def __init__(
        self,
        *pods: Raw,
        conditions: list[Raw] | None = None,
        warnings: tuple[str, ...] = (),
        last_line: str = "",
    ) -> None:
        self.target = Target(
            operator="x",
            namespace="ops",
            deployment="op",
            container="manager",
            replicas=1,
            selector="a=b",
            grace=30,
            ready_within=60,
        )
        self._pods = list(pods)
        self._conditions = conditions or []
        self._warnings = warnings
        self._last_line = last_line

    def deployment(self) -> Obj:
        metadata = {"name": "op", "generation": 1}
        return Obj({"metadata": metadata, "spec": {}, "status": {"conditions": self._conditions}})

    def pods(self) -> list[Pod]:
        return [Pod(pod, container="manager") for pod in self._pods]

    def warnings(self, name: str) -> list[str]:
        return list(self._warnings)

    def last_line(self, pod: str, container: str = "") -> str:
        return (
            f"{self._last_line} ({container})" if container and self._last_line else self._last_line
        )


def pod(*statuses: Raw, conditions: list[Raw] | None = None, init: list[Raw] | None = None) -> Raw:
    status = {
        "phase": "Pending",
        "containerStatuses": list(statuses),
        "initContainerStatuses": init or [],
        "conditions": conditions or [],
    }
    return {"metadata": {"name": "op-1", "uid": "u"}, "status": status}


def container(name: str = "manager", last: Raw | None = None, **state: Raw) -> Raw:
    return {"name": name, "state": state, "lastState": {"terminated": last} if last else {}}


CASES = {
    "image": (
        Shown(pod(container(waiting={"reason": "ErrImagePull", "message": "not\n found"}))),
        "container manager of its pod op-1 waits in ErrImagePull (not found)",
    ),
    "image of a proxy": (
        Shown(pod(container("proxy", waiting={"reason": "InvalidImageName"}))),
        "container proxy of its pod op-1 waits in InvalidImageName (nothing said)",
    ),
    "crash loop": (
        Shown(
            pod(
                container(
                    last={"exitCode": 137, "reason": "OOMKilled"},
                    waiting={"reason": "CrashLoopBackOff", "message": "back-off"},
                )
            ),
            last_line="fatal: no webhook",
        ),
        "container manager of its pod op-1 is in CrashLoopBackOff after exit code 137 (OOMKilled); "
        "its last line: fatal: no webhook (manager)",
    ),
    "ended": (
        Shown(pod(container(terminated={"exitCode": 2, "reason": "Error"}))),
        "container manager of its pod op-1 ended: exit code 2",
    ),
    "init container": (
        Shown(
            pod(
                container(waiting={"reason": "PodInitializing"}),
                init=[container("crds", terminated={"exitCode": 1, "reason": "Error"})],
            ),
            last_line="no such file",
        ),
        "container crds of its pod op-1 ended: exit code 1; its last line: no such file (crds)",
    ),
    "not scheduled": (
        Shown(
            pod(
                conditions=[
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes",
                    }
                ]
            )
        ),
        "its pod op-1 is Pending (Unschedulable: 0/3 nodes)",
    ),
    "mount": (
        Shown(
            pod(container(waiting={"reason": "ContainerCreating"})),
            warnings=("Other: x", "FailedMount: no secret"),
        ),
        "its pod op-1 is Pending (FailedMount: no secret)",
    ),
    "not ready": (
        Shown(
            pod(container(running={})),
            warnings=("Unhealthy: Readiness probe failed: 503",),
            last_line="waiting for caches",
        ),
        "its pod op-1 runs but is not ready (Unhealthy: Readiness probe failed: 503); its last line: "
        "waiting for caches",
    ),
    "quota": (
        Shown(
            conditions=[
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "reason": "FailedCreate",
                    "message": "exceeded quota",
                }
            ]
        ),
        "its pods cannot be made (FailedCreate: exceeded quota)",
    ),
    "no pod": (Shown(), "it has no pod (nothing was said why)"),
}


@pytest.mark.parametrize("case", CASES)
def test_reason_is_the_platforms_own(case: str) -> None:
    shown, sentence = CASES[case]
    assert why_not_ready(shown) == sentence


def test_unreadable_state_is_told_and_not_raised() -> None:
    class Unreadable(Shown):
        def pods(self) -> list[Pod]:
            raise InfraError("no answer")

    assert why_not_ready(Unreadable()) == "and its state could not be read: no answer"


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, 1),
        ({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, 0),
        ({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}, 0),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}, 0),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}, 0),
        ({}, 0),
    ],
)
def test_ready_is_every_pod_of_the_newest_template_and_no_other(status: Raw, ready: int) -> None:
    deployment = {"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}
    assert is_ready(Obj(deployment)) is bool(ready)


def test_selector_is_a_query() -> None:
    rows = [
        {"key": "k", "operator": "In", "values": ["1", "2"]},
        {"key": "e", "operator": "DoesNotExist"},
    ]
    assert selector({"matchLabels": {"a": "b"}, "matchExpressions": rows}) == "a=b,k in (1,2),!e"
