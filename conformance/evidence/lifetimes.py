"""Lifetimes of objects as bars, grouped by service: what the drawn timeline shows, not its looks."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.evidence import kinds
from conformance.evidence.excerpt import namespaces
from conformance.history.history import History, Life
from conformance.judge.case import Case
from conformance.judge.wording import noun, subject
from conformance.model.kinds import Actor
from conformance.model.ownership import attribute
from conformance.model.state import State

# More rows of one kind in one group than this say nothing new, and make the picture unreadable.
MOST_OF_A_KIND = 8
OTHER = "not of a service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One object's life. Times are seconds since the epoch; `end` None: it was there at the end.

    `leaving` is when its deletion was requested, `ready` the spans in which it was Ready (Pods).
    """

    label: str
    kind: str
    start: float
    end: float | None
    leaving: float | None
    ready: tuple[tuple[float, float | None], ...]
    creator: Actor
    accused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The bars of one service of one graph; `left_out` counts those beyond what is readable."""

    title: str
    bars: tuple[Bar, ...]
    left_out: int = 0


def groups(history: History, subjects: frozenset[str] = frozenset()) -> list[Group]:
    """All objects of the case's namespaces, by graph and service; `subjects` (`Kind/name`) are
    marked as accused."""
    inside, case = namespaces(history), Case(history)
    # Every object that ever was, so that an owner chain does not end at an owner that is gone.
    ever = State(life.last for life in history.lives.values())
    found: dict[tuple[str, str], list[Life]] = {}
    for life in history.lives.values():
        obj = life.last
        wanted = obj.kind in kinds.SHOWN or subject(obj) in subjects
        if wanted and obj.namespace in inside:
            where = attribute(ever, obj, history.profile)
            found.setdefault((where.graph or where.component, where.service), []).append(life)
    return [
        _group(case, title=_title(*key), lives=found[key], subjects=subjects)
        for key in sorted(found, key=lambda key: (not any(key), key))
    ]


def _title(graph: str, service: str) -> str:
    return " · ".join(part for part in (graph, service) if part) or OTHER


def _group(case: Case, *, title: str, lives: list[Life], subjects: frozenset[str]) -> Group:
    bars: list[Bar] = []
    left_out = 0
    shown: dict[str, int] = {}
    for life in sorted(
        lives, key=lambda one: (kinds.place(one.last.kind), one.events[0].at, one.last.name)
    ):
        kind = life.last.kind
        accused = subject(life.last) in subjects
        shown[kind] = shown.get(kind, 0) + 1
        if shown[kind] > MOST_OF_A_KIND and not accused:
            left_out += 1
        else:
            bars.append(_bar(case, life, accused=accused))
    return Group(title=title, bars=tuple(bars), left_out=left_out)


def _bar(case: Case, life: Life, *, accused: bool) -> Bar:
    return Bar(
        label=noun(life.last),
        kind=life.last.kind,
        start=life.events[0].at,
        end=life.deleted_at,
        leaving=next((event.at for event in life.events if event.obj.deleting), None),
        ready=_ready(life) if life.last.kind == "Pod" else (),
        creator=case.creator(life.uid),
        accused=accused,
    )


def _ready(life: Life) -> tuple[tuple[float, float | None], ...]:
    spans: list[tuple[float, float | None]] = []
    since: float | None = None
    for event in life.events:
        if event.obj.ready and since is None:
            since = event.at
        elif not event.obj.ready and since is not None:
            spans.append((since, event.at))
            since = None
    return (*spans, (since, life.deleted_at)) if since is not None else tuple(spans)
