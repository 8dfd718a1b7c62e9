"""The judgement of the end of a run: is all that was at rest still as it was, and once every graph is
deleted, does the operator leave anything anywhere, or go on writing?"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.driver.environment import CaseEnvironment
from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    Record,
    Scope,
)
from conformance.judge.case import Case
from conformance.judge.run.leftovers import left
from conformance.judge.run.storms import too_many
from conformance.judge.verdict import judge
from conformance.kube import Api, Resource
from conformance.model.errors import ConformanceError
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.labels import OWNED
from conformance.model.run_cases import FEATURE, RunCase
from conformance.plugin.results import judge_and_store
from conformance.record.endings import read_endings
from conformance.record.operator_log import read_operator_events
from conformance.record.run_record import RunRecord
from conformance.report.files import write_case
from conformance.report.model import CaseResult, NotRun

# A hundred graphs at once need some 20 s on two cores, more under load: one more deletion deadline
# for each so many, as long as things go.
_GRAPHS_A_DEADLINE = 25
_POLL_SECONDS = 0.5
_AGAIN_SECONDS = 5.0
# Nothing else runs any more: a recorder that is behind is waited for, a dead one is told.
_RECORDER_SECONDS = 60.0
_GRAPHS = (GRAPH_KIND, COMPONENT_KIND)


def judge_run(environment: CaseEnvironment, *, started_at: float) -> None:
    """Record and judge the end of a run, and write the results next to those of the cases. A result
    says what kept it from being judged; its verdict is then at best unknown."""
    endings = read_endings(environment.recording)
    with contextlib.closing(RunRecord(environment.recording, endings)) as record:
        if endings.soaks:
            _Judging(environment, RunCase.REST, Scope.SOAK, started_at, record).run(_look_again)
        else:
            _nothing_at_rest(environment)
        record.end_soak()
        _Judging(environment, RunCase.NOTHING_LEFT, Scope.RUN, started_at, record).run(_delete_all)


def _nothing_at_rest(environment: CaseEnvironment) -> None:
    """Say that no case conformed, so that none left a graph to look at again."""
    result = CaseResult(
        id=RunCase.REST, feature=FEATURE, title=RunCase.REST.meaning, operator=environment.operator,
        not_run=NotRun.NOTHING_TO_JUDGE, reason="no case came to an end at rest", required=False,
    )  # fmt: skip
    write_case(environment.results, result)


@dataclass
class _Judging:
    """One judgement in the making. `began` is when, in seconds since the epoch."""

    environment: CaseEnvironment
    case: RunCase
    scope: Scope
    started_at: float
    record: RunRecord
    began: float = field(default_factory=time.time)
    end: CheckpointEnd = CheckpointEnd.HELD
    hold: float = 0.0
    records: list[Record] = field(default_factory=list)

    def run(self, look: Callable[[_Judging], None]) -> None:
        problem = ""
        try:
            look(self)
        except ConformanceError as error:  # a dead API server, a kubeconfig that went with it
            problem, self.end = str(error), CheckpointEnd.INTERRUPTED
        judge_and_store(self.environment, self.history(), began=self.began, error=problem)

    def history(self) -> History:
        """What is known by now, as the history of a checkpoint that is now."""
        header = self.environment.header(
            case=self.case, feature=FEATURE, title=self.case.meaning, namespace="",
            scope=self.scope, started_at=self.started_at,
        )  # fmt: skip
        revision = max((r.revision for r in self.records if isinstance(r, Event)), default=0)
        checkpoint = Checkpoint(
            name="the end of the run", at=time.time(), since=self.began, end=self.end,
            revision=revision, graphs=(), hold=self.hold,
        )  # fmt: skip
        return History([header, *self.records, checkpoint])


def _look_again(judging: _Judging) -> None:
    """Look at what was at rest, and for some seconds more if something has changed: the platform may
    be about to mend it."""
    environment, record = judging.environment, judging.record
    until = time.monotonic() + environment.bounds.follow
    while True:
        record.catch_up(within=_RECORDER_SECONDS)
        judging.records = [*record.soaked(), *read_operator_events(environment.operator_events)]
        if not any(f.gates for f in judge(judging.history()).findings):
            return
        if time.monotonic() > until:
            judging.end = CheckpointEnd.DEADLINE
            return
        time.sleep(_POLL_SECONDS)


def _delete_all(judging: _Judging) -> None:
    """Delete every graph, wait until all that should go has gone, then until the operator has been at
    rest for a hold window."""
    graphs = _delete_graphs(judging.environment)
    gone = _await_gone(judging, graphs)
    if not gone:
        judging.end = CheckpointEnd.DEADLINE
    # With a graph that does not go the operator still has something to do.
    if not _graphs_left(judging.record):
        _await_rest(judging)


def _delete_graphs(environment: CaseEnvironment, *, components: bool = True) -> int:
    """Delete every graph, and with `components` every component that no graph owns, in the suite's
    namespaces; how many there were."""
    with Api.from_kubeconfig(environment.kubeconfig) as api:
        kinds = [api.resource_for(GRAPH_KIND, GROUP)]
        if components and environment.profile.supports(Feature.COMPONENT):
            kinds.append(api.resource_for(COMPONENT_KIND, GROUP))
        owned = {
            item["metadata"]["name"]
            for item in api.metadata_list(api.resource_for("Namespace", ""))[0]
            if item["metadata"].get("labels", {}).get(OWNED)
        }
        found: list[tuple[Resource, str, str]] = []
        for kind in kinds:
            for item in api.metadata_list(kind)[0]:
                meta = item["metadata"]
                if meta["namespace"] in owned and not meta.get("ownerReferences"):
                    found.append((kind, meta["name"], meta["namespace"]))
        for kind, name, namespace in found:
            api.delete(kind, name, namespace)
        return len(found)


def _await_gone(judging: _Judging, graphs: int) -> bool:
    """True once nothing is left that should have gone. It may take as long as a deletion may, and
    longer while objects go: not beyond a bound that grows with the number of graphs."""
    bounds, record = judging.environment.bounds, judging.record
    allowed = bounds.deletion_deadline
    longest = allowed * (2 + graphs / _GRAPHS_A_DEADLINE)
    begun = again = time.time()
    there = {event.obj.uid for event in record.present()}
    while True:
        record.catch_up(within=_RECORDER_SECONDS)
        judging.records = record.remaining(
            since=judging.started_at, requests=time.time() - bounds.hold
        )
        now = time.time()
        # What is made again and again goes again and again: only what was there at first counts.
        still = there & {event.obj.uid for event in record.present()}
        if len(still) < len(there):
            there, allowed = still, max(allowed, min(now - begun + bounds.follow, longest))
        if now - again > _AGAIN_SECONDS and _graphs_left(record):
            # A fresh deploy that a case no longer waited for may have come only now.
            again = now
            _delete_graphs(judging.environment, components=False)
        # Whole graphs first: to look at everything takes the time of the platform's own work.
        if not _graphs_left(record) and not left(Case(judging.history())):
            return True
        if now - begun > allowed:
            return False
        time.sleep(_POLL_SECONDS)


def _graphs_left(record: RunRecord) -> bool:
    return any(event.obj.kind in _GRAPHS for event in record.present())


def _await_rest(judging: _Judging) -> None:
    """Until the operator has sent no more than it may for a hold window, at most until the deadline:
    it may still have to find out that all is gone."""
    bounds, record = judging.environment.bounds, judging.record
    judging.hold = bounds.hold
    begun = time.time()
    while True:
        record.catch_up(within=_RECORDER_SECONDS)
        now = time.time()
        judging.records = record.remaining(since=judging.started_at, requests=now - bounds.hold)
        allowed = bounds.write_rate * bounds.hold
        storm = too_many(judging.history(), now - bounds.hold, now, allowed=allowed)
        if now - begun >= bounds.hold and not storm:
            return
        if now - begun > bounds.deadline:
            judging.end = CheckpointEnd.DEADLINE
            return
        time.sleep(_POLL_SECONDS)
