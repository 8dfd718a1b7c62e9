"""An excerpt in lines: when, who, what. Times are relative to the API's answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.evidence import kinds
from conformance.evidence.changes import changed, created
from conformance.evidence.excerpt import Excerpt, namespaces, offset
from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Event, EventType, OperatorEventKind, Step
from conformance.judge.case import Case
from conformance.judge.wording import count, noun
from conformance.model.graph import short_kind
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind

# A change seen more often than this is one line that says how often.
_REPEATED = 3
_BY_THE_SUITE = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED)
# Events arrive up to this much later (s) than the checkpoint that they belong to.
_SLACK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line. `at` in seconds since the epoch; `who` is an actor, or empty for a mark."""

    at: float
    who: str
    text: str


def entries(history: History, excerpt: Excerpt) -> list[Entry]:
    """Everything in the excerpt that is worth a line, by time."""
    found = [
        *_steps(excerpt),
        *_objects(history, excerpt),
        *_operator(history, excerpt),
        *_marks(history, excerpt),
    ]
    return _without_storms(sorted(found, key=lambda entry: entry.at))


def render(history: History, excerpt: Excerpt, *, limit: int | None = None) -> str:
    """The lines as text. With `limit`, lines in the middle are left out and counted."""
    lines = [
        f"{offset(entry.at - excerpt.zero)}  {entry.who:<14}  {entry.text}".rstrip()
        for entry in entries(history, excerpt)
    ]
    if limit is not None and len(lines) > limit:
        head = limit * 2 // 3
        tail = limit - head
        lines[head:-tail] = [f"           … {count(len(lines) - limit, 'line')} left out here"]
    return "\n".join(lines)


def describe_step(step: Step) -> str:
    """`DGD vllm-agg: add-multinode-2 by merge-patch (v1alpha1), answered 200, generation 1→2`."""
    target = f"{short_kind(step.target_kind)} {step.target}"
    if not step.code:
        return f"{step.name}: {unsent(step)}"
    text = f"{target}: {step.name} by {request_of(step)}, answered {step.code}"
    if not step.accepted:
        message = str(step.answer.get("message", "")).strip()
        return f"{text}: {message}" if message else text
    if step.moved:
        text += f", generation {step.generation_before}→{step.generation_after}"
    return text


def request_of(step: Step) -> str:
    """`create (v1beta1)`, `merge-patch (v1alpha1)`: how the step reached the API."""
    method, _, version = step.door.removeprefix("component-").rpartition("-")
    if step.request.get("verb") == "POST":
        method = "create"
    return f"{method} ({version})"


def unsent(step: Step) -> str:
    """Why a step made no request: it was superseded, acted on the operator, or only waited."""
    if "superseded" in step.answer:
        return f"no request, {step.answer['superseded']}"
    if ChangeKind.OPERATOR in step.kinds:
        return "no request, this acts on the operator itself"
    return "no request, the case only waits"


def _steps(excerpt: Excerpt) -> Iterator[Entry]:
    for step in excerpt.steps:
        yield Entry(at=step.answered_at, who=Actor.SUITE, text=describe_step(step))


def _objects(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    inside, log = namespaces(history), Case(history).log
    known: dict[str, Obj] = {}
    for event in history.events:
        obj = event.obj
        old = known.get(obj.uid)
        known[obj.uid] = obj
        if obj.namespace not in inside or obj.kind in kinds.QUIET:
            continue
        if not excerpt.start <= event.at <= excerpt.end + _SLACK:
            continue
        for phrase in _phrases(event, old):
            yield Entry(at=event.at, who=log.writer_of(event), text=f"{noun(obj)} {phrase}")


def _phrases(event: Event, old: Obj | None) -> list[str]:
    if event.type is EventType.ADDED:
        return [created(event.obj)]
    if event.type is EventType.DELETED:
        return ["deleted"]
    if event.type is EventType.LISTED or old is None:
        return []
    phrases = changed(old, event.obj)
    return [", ".join(phrases)] if phrases else []


def _operator(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    for event in history.operator_events:
        if event.kind is OperatorEventKind.LOG or not excerpt.start <= event.at <= excerpt.end:
            continue
        if event.kind is OperatorEventKind.PANIC:
            text = event.text
        else:
            by = " by the suite" if event.kind in _BY_THE_SUITE else ""
            text = f"{event.kind}{by}" + (f": {event.text}" if event.text else "")
        yield Entry(at=event.at, who=Actor.OPERATOR, text=text)


def _marks(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    for gap in history.gaps:
        if excerpt.start <= gap.at <= excerpt.end:
            text = f"── gap: {gap.kind or 'any kind'} may have changed unseen ({gap.reason})"
            yield Entry(at=gap.at, who="", text=text)
    checkpoint = excerpt.checkpoint
    if checkpoint is None:
        return
    if checkpoint.reached_at is not None:
        yield Entry(at=checkpoint.reached_at, who="", text="── the state matches from here on")
    deadline = checkpoint.since + checkpoint.deadline
    if checkpoint.deadline and deadline <= checkpoint.at:
        yield Entry(at=deadline, who="", text=f"── deadline ({checkpoint.deadline:g} s)")
    why = {
        CheckpointEnd.HELD: f"matched and held for {checkpoint.hold:g} s",
        CheckpointEnd.DEADLINE: "the deadline passed",
        CheckpointEnd.INTERRUPTED: "interrupted",
    }[checkpoint.end]
    yield Entry(at=checkpoint.at, who="", text=f"── checkpoint: {why}")


def _without_storms(found: list[Entry]) -> list[Entry]:
    counts = Counter((entry.who, entry.text) for entry in found if entry.who)
    last = {(entry.who, entry.text): entry.at for entry in found}
    kept: list[Entry] = []
    told: set[tuple[str, str]] = set()
    for entry in found:
        key = (entry.who, entry.text)
        if counts[key] <= _REPEATED:
            kept.append(entry)
        elif key not in told:
            told.add(key)
            span = last[key] - entry.at
            text = f"{entry.text} ({counts[key]} times within {span:.1f} s)"
            kept.append(Entry(at=entry.at, who=entry.who, text=text))
    return kept
