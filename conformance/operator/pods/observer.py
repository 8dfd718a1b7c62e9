"""From looks at an operator's pods to what happened to it. Pure: objects in, events out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from conformance.history.records import OperatorEventKind
from conformance.model.labels import ENDED
from conformance.operator.pods.control import End
from conformance.operator.pods.deployed import container_status, exit_of, is_going, is_running

Happened: TypeAlias = tuple[OperatorEventKind, str]
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
        last_line: str = "",
    ) -> list[Happened]:
        """What happened since the last look. `last_line` of the operator's log is told with an end
        that nobody asked for."""
        annotations = ((deployment or {}).get("metadata") or {}).get("annotations") or {}
        mark = str(annotations.get(ENDED) or "")
        by_uid = {str(pod["metadata"]["uid"]): pod for pod in pods}
        now = {
            _Instance(uid, int(self._status(pod).get("restartCount") or 0)): pod
            for uid, pod in by_uid.items()
            if is_running(pod, self._container)
        }
        happened = list(self._ended(now, by_uid, mark, last_line=last_line))
        for instance, pod in now.items():
            if instance not in self._running:
                name = str(pod["metadata"]["name"])
                # A second replica, or a rollout, is no start of the operator.
                if not self._running:
                    happened.append((OperatorEventKind.STARTED, f"pod {name}"))
                self._running[instance] = _Seen(pod=name, mark=mark)
            seen = self._running[instance]
            if not seen.ready and self._status(pod).get("ready"):
                seen.ready = True
                if sum(other.ready for other in self._running.values()) == 1:
                    happened.append((OperatorEventKind.READY, ""))
        return happened

    def _ended(
        self,
        now: Mapping[_Instance, Mapping[str, Any]],
        by_uid: Mapping[str, Mapping[str, Any]],
        mark: str,
        *,
        last_line: str,
    ) -> Iterator[Happened]:
        for instance in [known for known in self._running if known not in now]:
            seen = self._running.pop(instance)
            pod = by_uid.get(instance.uid)
            if mark and mark != seen.mark:
                yield _PLANNED[End(mark.partition(" ")[0])], f"pod {seen.pod}"
                continue
            if pod is None or is_going(pod):
                text = f"pod {seen.pod} was deleted, and not by the suite"
            else:
                text = f"pod {seen.pod} ended with {self._exit(pod)}"
            told = f"; its last line: {last_line}" if last_line else ""
            yield OperatorEventKind.EXITED, text + told

    def _status(self, pod: Mapping[str, Any]) -> dict[str, Any]:
        return container_status(pod, self._container)

    def _exit(self, pod: Mapping[str, Any]) -> str:
        status = self._status(pod)
        for part in ("state", "lastState"):
            if terminated := (status.get(part) or {}).get("terminated"):
                return exit_of(terminated)
        return "an unknown exit code"
