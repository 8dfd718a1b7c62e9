"""Watches an operator's pods while a run lasts: what happened to it, and the log of each pod."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from conformance.history.records import OperatorEventKind
from conformance.model.errors import InfraError
from conformance.model.labels import ENDED
from conformance.model.state import Obj
from conformance.operator.installed import OperatorEvents
from conformance.operator.pods.control import ENDS
from conformance.operator.pods.deployed import (
    Deployed,
    Pod,
    exit_of,
)
from conformance.operator.pods.logs import PodLogs

POLL_SECONDS = 0.25
"""Between two looks at the pods: what an event's time may be late by."""

Happened: TypeAlias = tuple[OperatorEventKind, str]
_Run: TypeAlias = tuple[str, int]
"""One run of the operator's container: uid of its pod, and how often it was started again before."""
_PLANNED = {word: kind for kind, word in ENDS.items()}


class Watcher:
    """A thread that adds to `events`, and the followers of the logs."""

    def __init__(
        self, deployed: Deployed, *, kubeconfig: Path, log: Path, events: OperatorEvents
    ) -> None:
        target = deployed.target
        self._deployed = deployed
        self._observer = Observer()
        self._events = events
        self._closing = threading.Event()
        self._logs = PodLogs(
            kubeconfig,
            namespace=target.namespace,
            container=target.container,
            path=log,
            on_line=events.read,
        )
        self._thread = threading.Thread(target=self._run, name="watch operator", daemon=True)
        self._thread.start()

    def look_away(self) -> None:
        """See no more events: what comes now is the end. Logs are followed on."""
        self._closing.set()
        self._thread.join(POLL_SECONDS + 10.0)

    def close(self, *, gone: bool) -> None:
        """End the thread and the logs. `gone`: the pods are, and their last lines are still read."""
        self.look_away()
        self._logs.close(drain=gone)

    def _run(self) -> None:
        while True:
            # An API server that does not answer for an instant shows nothing: look again.
            with contextlib.suppress(InfraError):
                pods = self._deployed.pods()
                # After the pods: the note of a planned end is there before a pod of it goes.
                deployment = self._deployed.deployment()
                for pod in pods:
                    self._logs.follow(pod.uid, pod.name)
                last_line = self._logs.last_line()
                for kind, text in self._observer.look(deployment, pods, last_line=last_line):
                    self._events.add(kind, text)
            if self._closing.wait(POLL_SECONDS):
                return


@dataclass(slots=True)
class _Seen:
    pod: str
    mark: str
    """The Deployment's note of the last planned end, when this run was first seen."""
    ready: bool = False


class Observer:
    """From looks at the pods to what happened. Each run of the container starts, becomes ready and ends
    once. Pure: objects in, events out."""

    def __init__(self) -> None:
        self._running: dict[_Run, _Seen] = {}

    def look(
        self, deployment: Obj | None, pods: Sequence[Pod], *, last_line: str
    ) -> list[Happened]:
        """What happened since the last look. An end that nobody asked for is told with `last_line`."""
        mark = deployment.annotations.get(ENDED, "") if deployment else ""
        by_uid = {pod.uid: pod for pod in pods}
        now = {(pod.uid, pod.own.get("restartCount", 0)): pod for pod in pods if pod.running}
        happened = []
        for run in [known for known in self._running if known not in now]:
            seen = self._running.pop(run)
            if mark and mark != seen.mark:
                happened.append((_PLANNED[mark.partition(" ")[0]], f"pod {seen.pod}"))
            else:
                text = f"pod {seen.pod} {_how_it_ended(by_uid.get(run[0]))}"
                told = f"; its last line: {last_line}" if last_line else ""
                happened.append((OperatorEventKind.EXITED, text + told))
        return [*happened, *self._began(now, mark)]

    def _began(self, now: Mapping[_Run, Pod], mark: str) -> Iterator[Happened]:
        for run, pod in now.items():
            if run not in self._running:
                # A second replica, or a rollout, is no start of the operator.
                if not self._running:
                    yield OperatorEventKind.STARTED, f"pod {pod.name}"
                self._running[run] = _Seen(pod=pod.name, mark=mark)
            seen = self._running[run]
            if not seen.ready and pod.own.get("ready"):
                seen.ready = True
                if sum(other.ready for other in self._running.values()) == 1:
                    yield OperatorEventKind.READY, ""


def _how_it_ended(pod: Pod | None) -> str:
    if pod is None or pod.deleting:
        return "was deleted, and not by the suite"
    for part in ("state", "lastState"):
        if terminated := (pod.own.get(part) or {}).get("terminated"):
            return f"ended with {exit_of(terminated)}"
    return "ended with an unknown exit code"
