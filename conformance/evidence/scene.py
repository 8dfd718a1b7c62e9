"""The stretch of a history that a judgement is about: which moment, from when, until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.history.history import History
from conformance.history.records import Moment, Step
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import LWS
from conformance.model.state import Obj, State
from conformance.model.verdict import Finding

SHORT_KINDS = {GRAPH_KIND: "DGD", COMPONENT_KIND: "DCD", LWS: "LWS"}
"""The names by which operator authors call them; every other kind is written out."""


def noun(obj: Obj) -> str:
    """`LWS vllm-agg-worker-0`: how an object is called in a line of evidence."""
    return f"{SHORT_KINDS.get(obj.kind, obj.kind)} {obj.name}"


def offset(seconds: float) -> str:
    """A time relative to the API's answer, `+1.20 s`, in ten columns."""
    return f"{seconds:+8.2f} s"


def namespaces(history: History) -> set[str]:
    """The namespaces that the case worked in."""
    return {history.namespace, *(step.namespace for step in history.steps if step.namespace)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One verdict moment with its steps. Times are seconds since the epoch.

    `zero` is the API's answer to the last step: the instant at which the deadline began. `moment`
    is None when the case ended before any verdict moment.
    """

    moment: Moment | None
    steps: tuple[Step, ...]
    start: float
    end: float
    zero: float
    before: State
    after: State


def scene_of(history: History, finding: Finding | None = None) -> Scene:
    """The scene that a finding is about: the moment that judges its step, else the one at whose
    time it was last seen, else the last judged one."""
    moment = _moment(history, finding)
    steps = tuple(history.steps_of(moment)) if moment else tuple(history.steps)
    times = [event.at for event in history.events]
    first = min((step.sent_at for step in steps), default=min(times, default=0.0))
    zero = moment.since if moment else max((s.answered_at for s in steps), default=first)
    end = moment.at if moment else max([*times, zero])
    earlier = history.moment_before(moment) if moment else None
    before = history.at_moment(earlier) if earlier else history.at_time(first)
    after = history.at_moment(moment) if moment else history.at_time(end)
    inside = namespaces(history)
    return Scene(
        moment=moment,
        steps=steps,
        start=first,
        end=end,
        zero=zero,
        before=_within(before, inside),
        after=_within(after, inside),
    )


def _within(state: State, names: Iterable[str]) -> State:
    kept = set(names)
    objects = (obj for obj in state if obj.namespace in kept)
    return State(objects, revision=state.revision, at=state.at)


def _moment(history: History, finding: Finding | None) -> Moment | None:
    moments = history.moments
    if finding is not None:
        for moment in moments:
            if finding.step and finding.step in moment.steps:
                return moment
        if finding.last_at is not None and not finding.step:
            for moment in moments:
                if finding.last_at <= moment.at:
                    return moment
    judged = [moment for moment in moments if moment.judged] or moments
    return judged[-1] if judged else None
