"""The judgement of the end of a run: is all that was at rest still as it was, and once every graph is
deleted, does the operator leave anything anywhere, or go on writing?"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.driver.environment import CaseEnvironment
from conformance.driver.waiting import until
from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, Event, Record, Scope
from conformance.judge.case import Case
from conformance.judge.run.leftovers import left
from conformance.judge.run.storms import too_many
from conformance.judge.verdict import judge
from conformance.kube import Api
from conformance.model.errors import ConformanceError
from conformance.model.features import Feature
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP
from conformance.model.labels import OWNED
from conformance.model.run_cases import FEATURE, RunCase
from conformance.plugin.results import judge_and_store
from conformance.record.logs import read_operator_events
from conformance.record.run_record import RunRecord, read_endings
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
            # No case conformed, so none left a graph to look at again.
            result = CaseResult(
                id=RunCase.REST, feature=FEATURE, title=RunCase.REST.meaning,
                operator=environment.operator, not_run=NotRun.NOTHING_TO_JUDGE,
                reason="no case came to an end at rest", required=False,
            )  # fmt: skip
            write_case(environment.results, result)
        record.end_soak()
        _Judging(environment, RunCase.NOTHING_LEFT, Scope.RUN, started_at, record).run(_delete_all)


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

    def until(self, condition: Callable[[], bool], *, within: float) -> None:
        """Wait for it; if it does not come, the judgement is of the deadline."""
        if not until(condition, every=_POLL_SECONDS, within=within):
            self.end = CheckpointEnd.DEADLINE

    def read_remaining(self) -> float:
        """Read what is left, and the requests of a hold window that ends now; when that is."""
        self.record.catch_up(within=_RECORDER_SECONDS)
        now = time.time()
        since = now - self.environment.bounds.hold
        self.records = self.record.remaining(since=self.started_at, requests=since)
        return now

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

    def unchanged() -> bool:
        record.catch_up(within=_RECORDER_SECONDS)
        judging.records = [*record.soaked(), *read_operator_events(environment.operator_events)]
        return not any(f.gates for f in judge(judging.history()).findings)

    judging.until(unchanged, within=environment.bounds.follow)


def _delete_all(judging: _Judging) -> None:
    """Delete every graph, wait until all that should go has gone, then until the operator has been at
    rest for a hold window."""
    graphs = _delete_graphs(judging.environment)
    if not _await_gone(judging, graphs):
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
        found = [
            (kind, item["metadata"])
            for kind in kinds
            for item in api.metadata_list(kind)[0]
            if item["metadata"]["namespace"] in owned
            and not item["metadata"].get("ownerReferences")
        ]
        for kind, meta in found:
            api.delete(kind, meta["name"], meta["namespace"])
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
        now = judging.read_remaining()
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
    bounds = judging.environment.bounds
    judging.hold = bounds.hold
    begun = time.time()

    def at_rest() -> bool:
        now = judging.read_remaining()
        allowed = bounds.write_rate * bounds.hold
        storm = too_many(judging.history(), now - bounds.hold, now, allowed=allowed)
        return now - begun >= bounds.hold and not storm

    judging.until(at_rest, within=bounds.deadline)
