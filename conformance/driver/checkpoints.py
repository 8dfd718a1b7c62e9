"""Checkpoints: wait for the wanted state, prove the record by lists, print the tables."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from conformance.driver.case_journal import CaseJournal
from conformance.driver.environment import CaseEnvironment
from conformance.driver.hold import Wait
from conformance.driver.live_record import LiveRecord
from conformance.driver.wait_line import WaitLine
from conformance.history.records import Checkpoint, CheckpointEnd, Tables
from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot, Wanted
from conformance.judge.state.match import blocked_mismatches, mismatches, progress
from conformance.judge.state.status import unobserved
from conformance.kube import Api, Resource
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP, Graph
from conformance.model.kinds import LWS, LWS_GROUP, POD_GROUP, POD_GROUP_GROUP
from conformance.model.state import State
from conformance.model.transition import ChangeKind
from conformance.record.verify import verify

# What the reader of a bug report asks for first: kind → group.
TABLE_KINDS = {
    GRAPH_KIND: GROUP,
    COMPONENT_KIND: GROUP,
    "Deployment": "apps",
    LWS: LWS_GROUP,
    POD_GROUP: POD_GROUP_GROUP,
    "Service": "",
    "Pod": "",
}
VERIFIED_KINDS = {**TABLE_KINDS, "StatefulSet": "apps", "ReplicaSet": "apps"}


class CaseOver(Exception):  # noqa: N818 - no error: the case simply ends
    """A checkpoint was not held, so what follows would prove nothing. Judging says what that means."""


class Checkpoints:
    """Makes the checkpoints of one case."""

    def __init__(
        self,
        *,
        environment: CaseEnvironment,
        api: Api,
        record: LiveRecord,
        namespace: str,
        journal: CaseJournal,
        wait_line: WaitLine,
    ) -> None:
        self._profile = environment.profile
        self._bounds = environment.bounds
        self._api = api
        self._record = record
        self._namespace = namespace
        self._journal = journal
        self._line = wait_line

    def reach(
        self,
        graphs: Mapping[str, Graph],
        components: Mapping[str, Graph],
        *,
        judged: bool,
        hold: float,
        blocked: bool = False,
    ) -> None:
        """Wait until these graphs and bare components are reached and held, and journal the checkpoint.

        Raises CaseOver if it was not held.
        """
        wanted = Wanted(
            namespace=self._namespace, graphs=tuple(graphs.values()),
            components=tuple(components.values()), profile=self._profile,
            others=self._journal.others,
        )  # fmt: skip

        def look(state: State) -> list[Mismatch]:
            snapshot = Snapshot(state=state, wanted=wanted)
            if blocked:
                return blocked_mismatches(snapshot)
            return mismatches(snapshot) or unobserved(snapshot)

        pending, bounds = self._journal.pending, self._bounds
        deleting = any(ChangeKind.DELETE in step.kinds for step in pending)
        since = max((step.answered_at for step in pending), default=time.time())
        requests = bounds.requests(hold, served=len(graphs) + len(components))
        wait = Wait(
            record=self._record, look=look, since=since, hold=hold, follow=bounds.follow,
            deadline=bounds.deletion_deadline if deleting else bounds.deadline, poll=bounds.poll,
            quiet=blocked, requests=int(requests) if judged else None,
        )  # fmt: skip
        ended = wait.until_held(
            self._line, lambda state: progress(Snapshot(state=state, wanted=wanted))
        )
        failed = ended.end is not CheckpointEnd.HELD
        verified: dict[str, int] = {}
        disagreed: dict[str, str] = {}
        if judged or failed:
            verified, disagreed = verify(
                self._api, self._record.tail, self._namespace, self._verified_kinds(),
                bounds.recorder_lag,
            )  # fmt: skip
        name = f"checkpoint {len(self._journal.checkpoints) + 1}"
        self._print_tables(name)
        checkpoint = Checkpoint(
            name=name, at=ended.ended_at, since=since, end=ended.end,
            revision=max([self._record.tail.revision, *verified.values()]), graphs=wanted.graphs,
            components=wanted.components, judged=judged or failed, reached_at=ended.reached_at,
            hold=hold, deadline=ended.deadline, blocked=blocked, verified=verified,
            disagreed=disagreed, steps=tuple(step.name for step in pending),
        )  # fmt: skip
        self._journal.judged_by(checkpoint)
        if failed:
            raise CaseOver

    def _verified_kinds(self) -> list[Resource]:
        """Kinds that are listed even if none was ever seen here: a missed object of theirs is the very
        one that this suite looks for."""
        found = []
        for kind, group in VERIFIED_KINDS.items():
            with contextlib.suppress(InfraError):
                found.append(self._api.resource_for(kind, group))
        return found

    def _print_tables(self, checkpoint: str) -> None:
        text = {}
        # A kind without objects has an empty table, and each is a request in a busy checkpoint.
        there = {obj.kind for obj in self._record.state()}
        for kind, group in TABLE_KINDS.items():
            if kind not in there:
                continue
            # A cluster may lack a kind (no gang scheduler, say); then there is no table of it.
            with contextlib.suppress(InfraError):
                table = self._api.table(self._api.resource_for(kind, group), self._namespace)
                if table:
                    text[kind] = table
        self._journal.append(Tables(checkpoint=checkpoint, at=time.time(), text=text))
