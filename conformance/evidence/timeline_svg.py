"""The drawn timeline: lifetimes of objects by service, with steps, deadlines, holds and gaps."""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

import jinja2

from conformance.evidence import kinds
from conformance.evidence.excerpt import offset, shortened
from conformance.evidence.lifetimes import Bar, Group, groups
from conformance.evidence.timeline import describe_step
from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.judge.wording import by
from conformance.model.graph import short_kind
from conformance.model.kinds import WORKLOADS
from conformance.model.verdict import Finding, Verdict

_WIDTH = 1080
_LEFT = 290
_RIGHT = 24
_ROW = 17
_GROUP_GAP = 5
_STEP_ROW = 14
_HEAD = 30
_TICKS = 10
_NARROWEST = 2.5
_LABEL_WIDTH = 44
_OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    y: int
    label: str
    title: str = ""
    heading: bool = False
    bar: Bar | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepMark:
    x: float
    text: str
    y: int
    title: str
    flip: bool


class _Scale:
    """Seconds since the epoch to pixels."""

    def __init__(self, start: float, end: float) -> None:
        margin = max(0.02 * (end - start), 0.05)
        self.start, self.end = start - margin, end + margin
        self._per_second = (_WIDTH - _LEFT - _RIGHT) / (self.end - self.start)

    def x(self, at: float) -> float:
        inside = min(max(at, self.start), self.end)
        return round(_LEFT + (inside - self.start) * self._per_second, 1)

    def width(self, start: float, end: float | None) -> float:
        """Without `end`, until the right margin."""
        end_x = self.x(self.end if end is None else end)
        return round(max(end_x - self.x(start), 0.0), 1)

    def ticks(self, zero: float) -> list[tuple[float, str]]:
        """Round relative times, at most `_TICKS` of them."""
        steps = (n * 10.0**power for power in itertools.count(-1) for n in (1, 2, 5))
        step = next(s for s in steps if (self.end - self.start) / s <= _TICKS)
        first = int((self.start - zero) // step) + 1
        last = int((self.end - zero) // step)
        return [(self.x(zero + n * step), f"{n * step:g} s") for n in range(first, last + 1)]


def render(history: History, findings: Iterable[Finding] = ()) -> str:
    """The whole case as an SVG document of its own, in which objects that a violation names are
    outlined. The axis counts from the API's answer to the first judged step."""
    accused = frozenset(f.subject for f in findings if f.verdict is Verdict.VIOLATES)
    steps, checkpoints, held = history.steps, history.checkpoints, CheckpointEnd.HELD
    times = [
        *(event.at for event in history.events),
        *(step.answered_at for step in steps),
        *(checkpoint.at for checkpoint in checkpoints),
    ]
    start = min((step.sent_at for step in steps), default=min(times, default=0.0))
    end = max(times, default=start + 1.0)
    scale = _Scale(start, max(end, start + 0.5))
    zero = next((step.answered_at for step in steps if step.judged), start)
    step_marks = _step_marks(history, scale)
    top = _HEAD + _STEP_ROW * max((mark.y for mark in step_marks), default=0) + _STEP_ROW
    found = groups(history, accused)
    rows = _rows(found, zero, top + 18)
    bottom = rows[-1].y + _ROW if rows else top + 40
    return _template().render(
        width=_WIDTH,
        height=bottom + 46,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=top,
        bottom=bottom,
        head=_HEAD,
        step_row=_STEP_ROW,
        flip_beyond=_WIDTH - 120,
        title=f"{history.header.case} · {history.header.operator}",
        ticks=scale.ticks(zero),
        rows=rows,
        scale=scale,
        narrowest=_NARROWEST,
        class_of=_class,
        steps=step_marks,
        holds=[
            (scale.x(one.reached_at), scale.width(one.reached_at, one.at), one.end is held)
            for one in checkpoints
            if one.reached_at
        ],
        deadlines=[
            (scale.x(one.since + one.deadline), f"deadline {one.deadline:g} s")
            for one in checkpoints
            if one.end is not held and 0 < one.deadline <= one.at - one.since
        ],
        gaps=[(scale.x(gap.at), gap.kind or "any kind", gap.reason) for gap in history.gaps],
        legend=_legend({bar.kind for group in found for bar in group.bars}),
    )


@functools.cache
def _template() -> jinja2.Template:
    text = resources.files("conformance.evidence").joinpath("templates/timeline.svg.j2").read_text()
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(text)


def _rows(found: Iterable[Group], zero: float, y: int) -> list[_Row]:
    rows: list[_Row] = []
    for group in found:
        rows.append(_Row(y=y, label=group.title, heading=True))
        for bar in group.bars:
            y += _ROW
            label = shortened(bar.label, _LABEL_WIDTH)
            rows.append(_Row(y=y, label=label, title=_title(bar, zero), bar=bar))
        if group.left_out:
            y += _ROW
            rows.append(_Row(y=y, label=f"and {group.left_out} more"))
        y += _ROW + _GROUP_GAP
    return rows


def _title(bar: Bar, zero: float) -> str:
    start = offset(bar.start - zero).strip()
    there = "still there at the end"
    gone = there if bar.end is None else f"gone at {offset(bar.end - zero).strip()}"
    return f"{bar.label}: from {start}, {gone}; created by {by(bar.creator)}"


def _step_marks(history: History, scale: _Scale) -> list[_StepMark]:
    marks: list[_StepMark] = []
    right_most: list[float] = []
    for step in history.steps:
        x = scale.x(step.answered_at)
        text = f"{step.name} → {step.code}" if step.code else step.name
        width = 6.2 * len(text) + 10
        flip = x + width > _WIDTH
        left = x - width if flip else x
        # The first line on which it does not run into an earlier label.
        y = next((n for n, end in enumerate(right_most) if end <= left), len(right_most))
        right_most[y : y + 1] = [left + width]
        marks.append(_StepMark(x=x, text=text, y=y, title=describe_step(step), flip=flip))
    return marks


def _class(kind: str) -> str:
    """The class of its bars in the style sheet."""
    if kind in WORKLOADS:
        return "multinode" if WORKLOADS[kind].multinode else "single-node"
    return short_kind(kind).lower() if kind in kinds.SHOWN else _OTHER


def _legend(present: set[str]) -> list[tuple[float, str, str]]:
    names = {kind: short_kind(kind) for kind in kinds.SHOWN if kind in present}
    if "Pod" in names:
        names["Pod"] = "Pod (strong: Ready)"
    if present - names.keys():
        names[_OTHER] = _OTHER
    legend = []
    x = float(_LEFT)
    for kind, name in names.items():
        legend.append((x, _class(kind), name))
        x += 7 * len(name) + 28
    return legend
