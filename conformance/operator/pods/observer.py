"""From looks at an operator's pods to what happened to it. Pure: objects in, events out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.labels import ENDED
from conformance.operator.pods.control import End
from conformance.operator.pods.deployed import container_status, is_going

_PLANNED = {End.STOP: OperatorEventKind.STOPPED, End.KILL: OperatorEventKind.KILLED}


@dataclass(frozen=True, slots=True)
class _Instance:
    """One run of the operator's container."""

    uid: str
    restarts: int


@dataclass(slots=True)
class _Seen:
    pod: str
    mark: str
    """The Deployment's note of the last planned end, when this run was first seen."""
    ready: bool = False


class Observer:
    """Remembers the last look. Each run of the container starts, becomes ready and ends once."""

    def __init__(self, container: str) -> None:
        self._container = container
        self._running: dict[_Instance, _Seen] = {}

    def look(
        self,
        deployment: Mapping[str, Any] | None,
        pods: Iterable[Mapping[str, Any]],
        *,
        at: float,
        last_line: str = "",
    ) -> list[OperatorEvent]:
        """What happened since the last look. `at`: now, in seconds since 1970; `last_line`: of the
        operator's log, told with an end that nobody asked for."""
        mark = _mark(deployment)
        now = {
            _Instance(str(pod["metadata"]["uid"]), int(status.get("restartCount") or 0)): pod
            for pod in pods
            if "running" in ((status := self._status(pod)).get("state") or {})
        }
        there = {str(pod["metadata"]["uid"]): pod for pod in pods}
        events = list(self._ended(now, there, mark, at=at, last_line=last_line))
        for instance, pod in now.items():
            name = str(pod["metadata"]["name"])
            if instance not in self._running:
                # A second replica, or a rollout, is no start of the operator.
                if not self._running:
                    events.append(_event(OperatorEventKind.STARTED, f"pod {name}", at))
                self._running[instance] = _Seen(pod=name, mark=mark)
            seen = self._running[instance]
            if not seen.ready and self._status(pod).get("ready"):
                seen.ready = True
                if sum(other.ready for other in self._running.values()) == 1:
                    events.append(_event(OperatorEventKind.READY, "", at))
        return events

    def _ended(
        self,
        now: Mapping[_Instance, Mapping[str, Any]],
        there: Mapping[str, Mapping[str, Any]],
        mark: str,
        *,
        at: float,
        last_line: str,
    ) -> Iterator[OperatorEvent]:
        for instance in [known for known in self._running if known not in now]:
            seen = self._running.pop(instance)
            pod = there.get(instance.uid)
            if mark and mark != seen.mark:
                yield _event(_PLANNED[End(mark.partition(" ")[0])], f"pod {seen.pod}", at)
                continue
            told = f"; its last line: {last_line}" if last_line else ""
            if pod is None or is_going(pod):
                text = f"pod {seen.pod} was deleted, and not by the suite"
            else:
                text = f"pod {seen.pod} ended with {self._exit(pod)}"
            yield _event(OperatorEventKind.EXITED, text + told, at)

    def _status(self, pod: Mapping[str, Any]) -> dict[str, Any]:
        return container_status(pod, self._container)

    def _exit(self, pod: Mapping[str, Any]) -> str:
        status = self._status(pod)
        for part in ("state", "lastState"):
            ended = (status.get(part) or {}).get("terminated")
            if ended:
                reason = str(ended.get("reason") or "")
                more = f" ({reason})" if reason and reason != "Error" else ""
                return f"exit code {ended.get('exitCode')}{more}"
        return "an unknown exit code"


def _mark(deployment: Mapping[str, Any] | None) -> str:
    metadata = (deployment or {}).get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(ENDED) or "")


def _event(kind: OperatorEventKind, text: str, at: float) -> OperatorEvent:
    return OperatorEvent(kind=kind, at=at, text=text)
