"""The operator's own log lines of an excerpt."""

from __future__ import annotations

from conformance.evidence.excerpt import Excerpt, offset
from conformance.history.history import History
from conformance.history.records import OperatorEventKind
from conformance.judge.wording import count

_KINDS = (OperatorEventKind.LOG, OperatorEventKind.PANIC)


def render(history: History, excerpt: Excerpt, *, limit: int | None = None) -> str:
    """The lines written during the excerpt, with times relative to the API's answer. With `limit` only
    the last ones, and how many came before."""
    lines = [
        f"{offset(event.at - excerpt.zero)}  {event.text}"
        for event in history.operator_events
        if event.kind in _KINDS and excerpt.start <= event.at <= excerpt.end
    ]
    if limit is not None and len(lines) > limit:
        lines = [f"           … {count(len(lines) - limit, 'earlier line')}", *lines[-limit:]]
    return "\n".join(lines)
