"""Lifetimes of objects as bars, grouped by service: what the drawn timeline shows, not its looks."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby

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
    `leaving` is when its deletion was requested, `ready` the spans in which it was Ready (Pods)."""

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
    left_out: int


def groups(history: History, subjects: frozenset[str] = frozenset()) -> list[Group]:
    """All objects of the case's namespaces, by graph and service; `subjects` (`Kind/name`) are
    marked as accused."""
    inside, case = namespaces(history), Case(history)
    # Every object that ever was, so that an owner chain does not end at an owner that is gone.
    ever = State(life.last for life in history.lives.values())
    found: dict[tuple[str, str], list[Bar]] = defaultdict(list)
    for life in history.lives.values():
        obj = life.last
        accused = subject(obj) in subjects
        if obj.namespace in inside and (accused or obj.kind in kinds.SHOWN):
            where = attribute(ever, obj, history.profile)
            bar = _bar(case, life, accused=accused)
            found[where.graph or where.component, where.service].append(bar)
    return [_group(key, found[key]) for key in sorted(found, key=lambda key: (not any(key), key))]


def _group(key: tuple[str, str], found: list[Bar]) -> Group:
    bars: list[Bar] = []
    seen: Counter[str] = Counter()
    for bar in sorted(found, key=lambda bar: (kinds.place(bar.kind), bar.start, bar.label)):
        seen[bar.kind] += 1
        if bar.accused or seen[bar.kind] <= MOST_OF_A_KIND:
            bars.append(bar)
    title = " · ".join(filter(None, key)) or OTHER
    return Group(title=title, bars=tuple(bars), left_out=len(found) - len(bars))


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
    runs = groupby(life.events, key=lambda event: event.obj.ready)
    flips = [(ready, next(events).at) for ready, events in runs]
    ends = [*(at for _, at in flips[1:]), life.deleted_at]
    return tuple((at, end) for (ready, at), end in zip(flips, ends, strict=True) if ready)
