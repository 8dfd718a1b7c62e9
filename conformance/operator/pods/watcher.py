"""Watches an operator's pods while a run lasts: events, and the log of each pod."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from conformance.model.errors import InfraError
from conformance.operator.events import OperatorEvents
from conformance.operator.pods.deployed import Deployed
from conformance.operator.pods.logs import PodLogs
from conformance.operator.pods.observer import Observer

POLL_SECONDS = 0.25
"""Between two looks at the pods: what an event's time may be late by."""


class Watcher:
    """A thread that adds to `events`, and the followers of the logs."""

    def __init__(
        self, deployed: Deployed, *, kubeconfig: Path, log: Path, events: OperatorEvents
    ) -> None:
        self._deployed = deployed
        self._observer = Observer(deployed.target.container)
        self._events = events
        self._closing = threading.Event()
        self._logs = PodLogs(
            kubeconfig,
            namespace=deployed.target.namespace,
            container=deployed.target.container,
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
                self._look()
            if self._closing.wait(POLL_SECONDS):
                return

    def _look(self) -> None:
        pods = self._deployed.pods()
        # After the pods: the note of a planned end is there before a pod of it goes.
        deployment = self._deployed.deployment()
        for pod in pods:
            self._logs.follow(str(pod["metadata"]["uid"]), str(pod["metadata"]["name"]))
        seen = self._observer.look(deployment, pods, last_line=self._logs.last_line())
        for kind, text in seen:
            self._events.add(kind, text)
