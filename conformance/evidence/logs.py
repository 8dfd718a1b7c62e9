"""The operator's own log lines of a scene."""

from __future__ import annotations

from conformance.evidence.scene import Scene, offset
from conformance.history.history import History
from conformance.history.records import OperatorEventKind

_KINDS = (OperatorEventKind.LOG, OperatorEventKind.PANIC)


def render(history: History, scene: Scene, *, limit: int | None = None) -> str:
    """The lines written during the scene, times relative to the API's answer; empty if there were
    none. With `limit` only the last ones, and how many came before."""
    lines = [
        f"{offset(event.at - scene.zero)}  {event.text}"
        for event in history.operator_events
        if event.kind in _KINDS and scene.start <= event.at <= scene.end
    ]
    if limit is not None and len(lines) > limit:
        lines = [f"           … {len(lines) - limit} earlier lines", *lines[-limit:]]
    return "\n".join(lines)
