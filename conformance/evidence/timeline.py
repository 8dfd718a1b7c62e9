"""An excerpt in lines: when, who, what. Times are relative to the API's answer."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

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
_LOGGED = (OperatorEventKind.LOG, OperatorEventKind.PANIC)
_BY_THE_SUITE = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED)
# Events arrive up to this much later (s) than the checkpoint that they belong to.
_SLACK = 0.25
_LEFT_OUT = "           …"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line. `at` in seconds since the epoch; `who` is an actor, or empty for a mark."""

    at: float
    who: str = ""
    text: str


def entries(history: History, excerpt: Excerpt) -> list[Entry]:
    """Everything in the excerpt that is worth a line, by time."""
    found = [
        *(Entry(at=s.answered_at, who=Actor.SUITE, text=describe_step(s)) for s in excerpt.steps),
        *_objects(history, excerpt),
        *_operator(history, excerpt),
        *_marks(history, excerpt),
    ]
    return list(_without_storms(sorted(found, key=lambda entry: entry.at)))


def render(history: History, excerpt: Excerpt, *, limit: int | None = None) -> str:
    """The lines as text. With `limit`, lines in the middle are left out and counted."""
    lines = [
        f"{offset(entry.at - excerpt.zero)}  {entry.who:<14}  {entry.text}".rstrip()
        for entry in entries(history, excerpt)
    ]
    if limit is not None and len(lines) > limit:
        head = limit * 2 // 3
        tail = limit - head
        lines[head:-tail] = [f"{_LEFT_OUT} {count(len(lines) - limit, 'line')} left out here"]
    return "\n".join(lines)


def log(history: History, excerpt: Excerpt, *, limit: int | None = None) -> str:
    """The operator's own log lines. With `limit` only the last, and how many came before."""
    lines = [
        f"{offset(event.at - excerpt.zero)}  {event.text}"
        for event in history.operator_events
        if event.kind in _LOGGED and excerpt.covers(event.at)
    ]
    if limit is not None and len(lines) > limit:
        lines[:-limit] = [f"{_LEFT_OUT} {count(len(lines) - limit, 'earlier line')}"]
    return "\n".join(lines)


def describe_step(step: Step) -> str:
    """`DGD vllm-agg: add-multinode-2 by merge-patch (v1alpha1), answered 200, generation 1→2`."""
    if not step.code:
        return f"{step.name}: {unsent(step)}"
    target = f"{short_kind(step.target_kind)} {step.target}"
    text = f"{target}: {step.name} by {request_of(step)}, answered {step.code}"
    if not step.accepted:
        message = str(step.answer.get("message", "")).strip()
        return f"{text}: {message}" if message else text
    moved = f", generation {step.generation_before}→{step.generation_after}"
    return text + moved if step.moved else text


def request_of(step: Step) -> str:
    """`create (v1beta1)`, `merge-patch (v1alpha1)`: how the step reached the API."""
    method, _, version = step.door.removeprefix("component-").rpartition("-")
    return f"{'create' if step.request.get('verb') == 'POST' else method} ({version})"


def unsent(step: Step) -> str:
    """Why a step made no request: it was superseded, acted on the operator, or only waited."""
    if "superseded" in step.answer:
        return f"no request, {step.answer['superseded']}"
    if ChangeKind.OPERATOR in step.kinds:
        return "no request, this acts on the operator itself"
    return "no request, the case only waits"


def _objects(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    inside, writers = namespaces(history), Case(history).log
    known: dict[str, Obj] = {}
    for event in history.events:
        obj, old = event.obj, known.get(event.obj.uid)
        known[obj.uid] = obj
        told = obj.namespace in inside and obj.kind not in kinds.QUIET
        phrase = _phrase(event, old) if told and excerpt.covers(event.at, slack=_SLACK) else ""
        if phrase:
            yield Entry(at=event.at, who=writers.writer_of(event), text=f"{noun(obj)} {phrase}")


def _phrase(event: Event, old: Obj | None) -> str:
    if event.type is EventType.ADDED:
        return created(event.obj)
    if event.type is EventType.DELETED:
        return "deleted"
    if event.type is EventType.LISTED or old is None:
        return ""
    return ", ".join(changed(old, event.obj))


def _operator(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    for event in history.operator_events:
        if event.kind is OperatorEventKind.LOG or not excerpt.covers(event.at):
            continue
        text = event.text
        if event.kind is not OperatorEventKind.PANIC:
            by = " by the suite" if event.kind in _BY_THE_SUITE else ""
            text = f"{event.kind}{by}" + (f": {text}" if text else "")
        yield Entry(at=event.at, who=Actor.OPERATOR, text=text)


def _marks(history: History, excerpt: Excerpt) -> Iterator[Entry]:
    for gap in history.gaps:
        if excerpt.covers(gap.at):
            kind = gap.kind or "any kind"
            yield Entry(at=gap.at, text=f"── gap: {kind} may have changed unseen ({gap.reason})")
    checkpoint = excerpt.checkpoint
    if checkpoint is None:
        return
    if checkpoint.reached_at is not None:
        yield Entry(at=checkpoint.reached_at, text="── the state matches from here on")
    deadline = checkpoint.since + checkpoint.deadline
    if checkpoint.deadline and deadline <= checkpoint.at:
        yield Entry(at=deadline, text=f"── deadline ({checkpoint.deadline:g} s)")
    why = {
        CheckpointEnd.HELD: f"matched and held for {checkpoint.hold:g} s",
        CheckpointEnd.DEADLINE: "the deadline passed",
        CheckpointEnd.LATE: "late: the operator had no turn of that length",
        CheckpointEnd.INTERRUPTED: "interrupted",
    }[checkpoint.end]
    yield Entry(at=checkpoint.at, text=f"── checkpoint: {why}")


def _without_storms(found: list[Entry]) -> Iterator[Entry]:
    alike: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in found:
        alike[entry.who, entry.text].append(entry)
    for entry in found:
        same = alike[entry.who, entry.text]
        if not entry.who or len(same) <= _REPEATED:
            yield entry
        elif entry is same[0]:
            span = same[-1].at - entry.at
            text = f"{entry.text} ({len(same)} times within {span:.1f} s)"
            yield replace(entry, text=text)
