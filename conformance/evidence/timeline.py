"""The story of a scene in lines: when, who, what. Times are relative to the API's answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.evidence.changes import QUIET_KINDS, changed, created
from conformance.evidence.scene import Scene, namespaces, noun, offset
from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Event, EventType, OperatorEventKind, Step
from conformance.judge.case import Case
from conformance.model.graph import short_kind
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind

# A change seen this often is a storm; the line then says how often and until when.
_REPEATED = 3
# Events arrive up to this much later (s) than the checkpoint that they belong to.
_SLACK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line. `at` in seconds since the epoch; `who` is a layer, or empty for a mark."""

    at: float
    who: str
    text: str


def entries(history: History, scene: Scene) -> list[Entry]:
    """Everything worth a line in the scene, by time."""
    found = [
        *_steps(scene),
        *_objects(history, scene),
        *_operator(history, scene),
        *_marks(history, scene),
    ]
    return _without_storms(sorted(found, key=lambda entry: entry.at))


def render(history: History, scene: Scene, *, limit: int | None = None) -> str:
    """The lines as text. With `limit`, the middle of a longer story is left out and counted."""
    lines = [
        f"{offset(entry.at - scene.zero)}  {entry.who:<14}  {entry.text}".rstrip()
        for entry in entries(history, scene)
    ]
    if limit is not None and len(lines) > limit:
        head = limit * 2 // 3
        tail = limit - head
        lines[head:-tail] = [f"           … {len(lines) - limit} lines left out here"]
    return "\n".join(lines)


def describe_step(step: Step) -> str:
    """`DGD vllm-agg: add-multinode-2 through merge-patch-v1alpha1, answered 200`, and so on."""
    target = f"{short_kind(step.target_kind)} {step.target}"
    if not step.code:
        return f"{step.name}: {unsent(step)}"
    text = f"{target}: {step.name} through {step.door}, answered {step.code}"
    if not step.accepted:
        message = str(step.answer.get("message", "")).strip()
        return f"{text}: {message}" if message else text
    if step.moved:
        text += f", generation {step.generation_before}→{step.generation_after}"
    return text


def unsent(step: Step) -> str:
    """Why a step made no request: it was superseded, waited only, or did something to the operator."""
    if "superseded" in step.answer:
        return f"not sent, {step.answer['superseded']}"
    if ChangeKind.OPERATOR in step.kinds:
        return "done to the operator itself, no request"
    return "nothing was sent, the case only waited"


def _steps(scene: Scene) -> Iterator[Entry]:
    for step in scene.steps:
        yield Entry(at=step.answered_at, who=Actor.SUITE, text=describe_step(step))


def _objects(history: History, scene: Scene) -> Iterator[Entry]:
    inside, log = namespaces(history), Case(history).log
    known: dict[str, Obj] = {}
    for event in history.events:
        obj = event.obj
        old = known.get(obj.uid)
        known[obj.uid] = obj
        if obj.namespace not in inside or obj.kind in QUIET_KINDS:
            continue
        if not scene.start <= event.at <= scene.end + _SLACK:
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


def _operator(history: History, scene: Scene) -> Iterator[Entry]:
    for event in history.operator_events:
        if event.kind is OperatorEventKind.LOG or not scene.start <= event.at <= scene.end:
            continue
        text = f"process {event.kind}" + (f": {event.text}" if event.text else "")
        yield Entry(at=event.at, who=Actor.OPERATOR, text=text)


def _marks(history: History, scene: Scene) -> Iterator[Entry]:
    for gap in history.gaps:
        if scene.start <= gap.at <= scene.end:
            kind = gap.kind or "every kind"
            yield Entry(
                at=gap.at, who="", text=f"── gap: {kind} may have changed unseen ({gap.reason})"
            )
    checkpoint = scene.checkpoint
    if checkpoint is None:
        return
    if checkpoint.reached_at is not None:
        yield Entry(at=checkpoint.reached_at, who="", text="── everything matches from here on")
    deadline = checkpoint.since + checkpoint.deadline
    if checkpoint.deadline and deadline <= checkpoint.at:
        yield Entry(at=deadline, who="", text=f"── deadline, {checkpoint.deadline:g} s")
    why = {
        CheckpointEnd.HELD: f"matched and held for {checkpoint.hold:g} s",
        CheckpointEnd.DEADLINE: "the bounds are used up",
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
            text = f"{entry.text} (×{counts[key]} within {span:.1f} s)"
            kept.append(Entry(at=entry.at, who=entry.who, text=text))
    return kept
