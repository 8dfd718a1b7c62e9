"""Rest until the end of a run: what a case left at rest still matches then, and nobody touched it.
Its graphs stand for minutes, so an operator that acts later than a hold window is seen here."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.history.history import History
from conformance.history.records import (
    Event,
    Foreign,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Scope,
    Soak,
    Write,
)
from conformance.judge.case import Case, CasePoint
from conformance.judge.doubts import missed
from conformance.judge.findings import CheckResult, blame, finding
from conformance.judge.sentences import finding_of
from conformance.judge.wording import by, count, join, noun, seconds
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

_NAME = CheckerName.QUIESCENCE
STATE_CHECKERS = tuple(
    name
    for name in CheckerName
    # The rows of these come from what happens over time.
    if name not in (CheckerName.QUIESCENCE, CheckerName.VALIDITY, CheckerName.OPERATOR_HEALTH)
)
"""Those whose mismatches a state can show."""


@dataclass(frozen=True)
class _Soaked:
    """One case's namespace at the end of the run, read as a case of its own."""

    soak: Soak
    point: CasePoint

    def ended(self, at: float) -> str:
        return f"{seconds(at - self.soak.at)} after case {self.soak.case} had ended at rest"


def check_writes(case: Case) -> CheckResult:
    """Counted writes by the operator after a case had ended at rest."""
    soaked = case.worked_out("soaked", _split)
    findings = [one for row in soaked for one in _writes(row)]
    since = min((soak.at for soak in case.history.soaks), default=0.0)
    for gap in case.history.gaps:
        if gap.at >= since:
            text = "It cannot be told whether the operator was at rest until the end of the run"
            message, at = f"{text}: {missed(gap)}", gap.at
            doubt = finding(_NAME, Verdict.UNKNOWN, "run", message, first_at=at, last_at=at)
            findings.append(doubt)
    return CheckResult(checker=_NAME, findings=tuple(findings), looked_at=len(soaked))


def check_state(case: Case, *, name: CheckerName) -> CheckResult:
    """What no longer matches, as far as it is that checker's to say."""
    soaked = case.worked_out("soaked", _split)
    findings = []
    for row in soaked:
        for mismatch in row.point.mismatches:
            if mismatch.checker is name and not mismatch.soft:
                one = finding_of(row.point, mismatch)
                message = f"{one.message} ({row.ended(row.point.at)})"
                findings.append(dataclasses.replace(one, message=message, first_at=row.soak.at))
    return CheckResult(checker=name, findings=tuple(findings), looked_at=len(soaked))


def _writes(row: _Soaked) -> Iterator[Finding]:
    if row.soak.blocked:
        # An operator may now and then try again what cannot be done.
        return
    case = row.point.case
    counted = [
        write
        for write in case.log.counted(row.soak.at, row.point.at)
        if not case.profile.retains(write.change.obj.kind, write.change.obj.name)
        and not _starts(row, write.change.at)
    ]
    for writer in (Actor.OPERATOR, Actor.UNKNOWN):
        changes = [write.change for write in counted if write.writer is writer]
        if not changes:
            continue
        first, acts = changes[0], Counter(str(change) for change in changes)
        text = (
            f"{noun(first.obj)} was written by {by(writer)} {row.ended(first.at)}, and nobody had "
            f"asked for anything: {count(len(changes), 'write')} in all ({join(acts, most=4)})"
        )
        yield finding(
            _NAME, blame(writer), first.obj, text,
            graph=first.obj.labels.get(case.profile.labels.graph, ""),
            first_at=first.at, last_at=changes[-1].at, case=row.soak.case, writes=dict(acts),
        )  # fmt: skip


def _starts(row: _Soaked, at: float) -> bool:
    """True while an operator that was just started may look at everything anew, as cases that stop it
    give it time to; where these have no cluster of their own, it is the same operator."""
    history = row.point.case.history
    return any(
        event.at >= row.soak.at and 0 <= at - event.at <= history.bounds.deadline
        for event in history.operator_events
        if event.kind in (OperatorEventKind.STARTED, OperatorEventKind.READY)
    )


def _split(case: Case) -> list[_Soaked]:
    """Each case that ended at rest, in its own namespace; split once for all checkers."""
    history = case.history
    if not history.checkpoints:
        return []
    records: dict[str, list[Record]] = defaultdict(list)
    for record in history.records:
        if isinstance(record, Event):
            records[record.obj.namespace].append(record)
        elif isinstance(record, Write):
            records[record.namespace].append(record)
        elif isinstance(record, OperatorEvent):
            records[""].append(record)
    return [
        _own_case(history, soak, records[soak.namespace], records[""]) for soak in history.soaks
    ]


def _own_case(history: History, soak: Soak, own: list[Record], cluster: list[Record]) -> _Soaked:
    header = dataclasses.replace(
        history.header, case=soak.case, namespace=soak.namespace, scope=Scope.CASE
    )
    objects = {record.obj.uid: record.obj for record in own if isinstance(record, Event)}
    others = [
        Foreign(uid=uid, kind=obj.kind, namespace=obj.namespace, name=obj.name, at=soak.at)
        for uid in soak.others
        if (obj := objects.get(uid)) is not None
    ]
    end = dataclasses.replace(
        history.checkpoints[-1],
        since=soak.at, graphs=soak.graphs, components=soak.components, blocked=soak.blocked,
    )  # fmt: skip
    return _Soaked(soak, Case(History([header, *cluster, *own, *others, end])).points[0])
