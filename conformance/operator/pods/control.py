"""Stop, kill and start an operator in pods, from any process: `PodControl`, `attach`.

An end is a scale to 0, so that it stays away until it is started. A kill also ends its containers
at once; only a node can send SIGKILL alone, so they get SIGTERM and then at most 2 s, the shortest
grace that a kubelet gives (kubernetes, pkg/kubelet/kuberuntime, minimumGracePeriodInSeconds). With a
grace of 0 the API server would forget pods that still run.

Its Lease is not touched: after an unclean end a new leader waits until the old one's has run out, as in
its users' clusters. A start waits for the new leader, so that deadlines are about reconciling.
"""

import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.history.records import OperatorEventKind
from conformance.kube import Api, raise_for
from conformance.model.errors import InfraError
from conformance.model.labels import ENDED
from conformance.model.profile import Profile
from conformance.operator import probes
from conformance.operator.installed import OperatorControl, StartError
from conformance.operator.pods.deployed import (
    Deployed,
    Pod,
    Target,
    is_observed,
    is_ready,
)
from conformance.operator.pods.diagnosis import why_not_ready
from conformance.operator.resources import DEPLOYMENTS, LEASES

ENDS = {OperatorEventKind.STOPPED: "stop", OperatorEventKind.KILLED: "kill"}
"""How the note of an end begins, see `labels.ENDED`."""

POLL = 0.2
"""Seconds between two looks at the Deployment."""

GONE_SECONDS = 15.0
"""Beyond its own grace: for the controllers and the kubelet."""

DEFAULT_DURATION = 15.0
"""Of a Lease that names none: client-go's and controller-runtime's default."""

_SPARE_SECONDS = 10.0
"""A candidate asks every 2 s or so, and first measures a whole duration from when it first saw the
Lease (client-go, leaderelection: observedTime)."""
_PREFIX = 50


class PodControl(OperatorControl):
    """Power over one operator's pods."""

    def __init__(self, api: Api, target: Target, profile: Profile) -> None:
        self.deployed = Deployed(api, target)
        self._target = target
        self._profile = profile
        self._api = api
        self._lock = threading.RLock()

    def alive(self) -> bool:
        """True if a container of it runs just now."""
        return any(pod.running and not pod.deleting for pod in self.deployed.pods())

    def start(self) -> None:
        """Scale it back and wait until it is ready, leads and its webhooks are reached. A pod that
        waits for its next try after a crash is replaced. Raises StartError or InfraError."""
        with self._lock:
            deployment = self.deployed.deployment()
            if deployment is None or not deployment.spec.get("replicas"):
                self._patch({"spec": {"replicas": self._target.replicas}})
            else:
                for pod in self.deployed.pods():
                    waiting = (pod.own.get("state") or {}).get("waiting") or {}
                    if waiting.get("reason") == "CrashLoopBackOff":
                        self.deployed.delete_pod(pod, grace=1)
        self.wait_ready()
        within = self._target.ready_within
        probes.wait_for_webhooks(
            self._api, self._profile, within=within, check=self.require_running
        )

    def wait_ready(self) -> None:
        """Wait until it is available and a pod of it leads (if it elects one). Raises StartError."""
        began = time.monotonic()
        while not self._is_ready():
            seconds = time.monotonic() - began
            if seconds > self._target.ready_within:
                self.require_running(f"{seconds:.0f} s after its start")
            time.sleep(POLL)
        wait_for_leader(self.deployed, within=self._target.ready_within)

    def require_running(self, when: str) -> None:
        """Raise StartError with the reason if it is not available."""
        if not self._is_ready():
            why = why_not_ready(self.deployed)
            raise StartError(f"the operator {self._target.operator} was not ready {when}: {why}")

    def supervise(self) -> None:
        """Nothing to do: the kubelet starts its containers again."""

    def forget_ends(self) -> None:
        """Take the note of the last end off a Deployment that stays. Best effort: it harms nobody."""
        with contextlib.suppress(InfraError):
            deployment = self.deployed.deployment()
            if deployment and ENDED in deployment.annotations:
                self._patch({"metadata": {"annotations": {ENDED: None}}})

    def _is_ready(self) -> bool:
        deployment = self.deployed.deployment()
        return deployment is not None and is_ready(deployment)

    def _end(self, how: OperatorEventKind) -> None:
        target, kills = self._target, how is OperatorEventKind.KILLED
        with self._lock:
            note = f"{ENDS[how]} {time.time():.3f} {target.replicas}"
            self._patch({"metadata": {"annotations": {ENDED: note}}, "spec": {"replicas": 0}})
            grace = 2.0 if kills else target.grace
            began = time.monotonic()
            while pods := self._left():
                seconds = time.monotonic() - began
                if seconds > grace + 2 * GONE_SECONDS:
                    names = ", ".join(pod.name for pod in pods)
                    raise InfraError(
                        f"the operator {target.operator} was not gone {seconds:.0f} s after it was "
                        f"scaled to 0: {names} in namespace {target.namespace}"
                    )
                # A node that does not answer cannot confirm an end; then it is forgotten.
                lost = seconds > grace + GONE_SECONDS
                for pod in pods if kills else ():
                    if lost or pod.at("metadata", "deletionGracePeriodSeconds") != 1:
                        self.deployed.delete_pod(pod, grace=0 if lost else 1)
                time.sleep(POLL / 4)

    def _left(self) -> list[Pod]:
        """Its pods; those that a controller may still make count once it has seen the scale."""
        while not (pods := self.deployed.pods()):
            deployment = self.deployed.deployment()
            if deployment is None:
                return []
            if is_observed(deployment) and not deployment.status.get("replicas"):
                return self.deployed.pods()
            time.sleep(POLL / 4)
        return pods

    def _patch(self, body: Mapping[str, Any]) -> None:
        target = self._target
        answer = self._api.patch(DEPLOYMENTS, target.deployment, body, target.namespace)
        raise_for(answer, f"scaling the operator {target.operator}")


def attach(data: Mapping[str, Any], kubeconfig: Path, profile: Profile) -> PodControl:
    """The control of an operator that another process installed, from its `attachable`."""
    return PodControl(Api.from_kubeconfig(kubeconfig, connections=4), Target(**data), profile)


def wait_for_leader(deployed: Deployed, *, within: float) -> float:
    """Until no Lease is held by a pod of this operator that is gone; the seconds that took.

    A Lease that nobody takes over in its own duration and some is of no use any more: this ends without
    an error, since the operator may not elect a leader at all. Unreadable Leases are not waited for.
    """
    began = time.monotonic()
    while stale := _stale(deployed):
        durations = [float(spec.get("leaseDurationSeconds") or DEFAULT_DURATION) for spec in stale]
        if time.monotonic() - began > min(max(durations) + _SPARE_SECONDS, within):
            break
        time.sleep(POLL)
    return time.monotonic() - began


def _stale(deployed: Deployed) -> list[dict[str, Any]]:
    """Specs of Leases of pods of this operator that are gone. A holder is the pod's name and something
    unique (controller-runtime, pkg/leaderelection)."""
    name = deployed.target.deployment
    prefix = name[:_PREFIX] + ("-" if len(name) < _PREFIX else "")
    specs = [lease.get("spec") or {} for lease in _leases(deployed)]
    held = [spec for spec in specs if str(spec.get("holderIdentity") or "").startswith(prefix)]
    if not held:
        return []
    alive = tuple(pod.name for pod in deployed.pods() if not pod.deleting)
    return [spec for spec in held if not spec["holderIdentity"].startswith(alive)]


def _leases(deployed: Deployed) -> list[dict[str, Any]]:
    """All that may be read: some operators keep theirs in kube-system."""
    for namespace in (None, deployed.target.namespace):
        answer = deployed.api.request("GET", LEASES.path(namespace))
        if answer.ok:
            return list(answer.body.get("items") or ())
    return []
