"""Checkpoints: wait for what is wanted, prove the record by lists, print the tables."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from conformance.driver.notebook import Notebook
from conformance.driver.progress import Progress
from conformance.driver.reading import Reading
from conformance.driver.session import Session
from conformance.driver.settle import settle
from conformance.history.records import Checkpoint, CheckpointEnd, Tables
from conformance.judge.state.base import Mismatch, Sight, Wanted
from conformance.judge.state.match import blocked_mismatches, mismatches, progress, unobserved
from conformance.kube import Api, Resource
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP, Graph
from conformance.model.kinds import LWS, LWS_GROUP, POD_GROUP, POD_GROUP_GROUP
from conformance.model.state import State
from conformance.model.transition import ChangeKind
from conformance.record.verify import verify

# What a person who reads a bug report about this asks for first: kind → group.
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
    """The case cannot usefully go on: a checkpoint was not held. Judging says what that means."""


class Checkpoints:
    """Makes the checkpoints of one case."""

    def __init__(
        self,
        *,
        session: Session,
        api: Api,
        reading: Reading,
        namespace: str,
        notebook: Notebook,
        progress_line: Progress,
    ) -> None:
        self._profile = session.profile
        self._bounds = session.bounds
        self._api = api
        self._reading = reading
        self._namespace = namespace
        self._notebook = notebook
        self._progress = progress_line

    def settle(
        self,
        graphs: Mapping[str, Graph],
        components: Mapping[str, Graph],
        *,
        judged: bool,
        hold: float,
        blocked: bool = False,
    ) -> Checkpoint:
        """Wait until these graphs and bare components are reached and held, and journal the checkpoint.

        Raises CaseOver if it was not held.
        """
        wanted = Wanted(
            namespace=self._namespace, graphs=tuple(graphs.values()),
            components=tuple(components.values()), profile=self._profile,
            others=self._notebook.others,
        )  # fmt: skip

        def look(state: State) -> list[Mismatch]:
            sight = Sight(state=state, wanted=wanted)
            if blocked:
                return blocked_mismatches(sight)
            return mismatches(sight) or unobserved(sight)

        pending, bounds = self._notebook.pending, self._bounds
        deleting = any(ChangeKind.DELETE in step.kinds for step in pending)
        deadline = bounds.deletion_deadline if deleting else bounds.deadline
        since = max((step.answered_at for step in pending), default=time.time())
        settled = settle(
            self._reading, look=look, since=since, deadline=deadline,
            follow=bounds.follow, hold=hold, poll=bounds.poll, progress=self._progress, quiet=blocked,
            requests=int(bounds.requests(hold, served=len(graphs) + len(components)))
            if judged else None,
            what=lambda state: progress(Sight(state=state, wanted=wanted)),
        )  # fmt: skip
        failed = settled.end is not CheckpointEnd.HELD
        verified: dict[str, int] = {}
        disagreed: dict[str, str] = {}
        if judged or failed:
            verified, disagreed = verify(
                self._api, self._reading.tail, self._namespace, self._verified_kinds(),
                bounds.recorder_lag,
            )  # fmt: skip
        name = f"checkpoint {len(self._notebook.checkpoints) + 1}"
        self._print_tables(name)
        checkpoint = Checkpoint(
            name=name, at=settled.ended_at, since=since, end=settled.end,
            revision=max([self._reading.tail.revision, *verified.values()]), graphs=wanted.graphs,
            components=wanted.components, judged=judged or failed, reached_at=settled.reached_at,
            hold=hold, deadline=settled.deadline, blocked=blocked, verified=verified,
            disagreed=disagreed, steps=tuple(step.name for step in pending),
        )  # fmt: skip
        self._notebook.judged_by(checkpoint)
        if failed:
            raise CaseOver
        return checkpoint

    def _verified_kinds(self) -> list[Resource]:
        """Kinds that are listed even if nothing of them was ever seen here: a missed one would hide
        the very object that this suite looks for."""
        found = []
        for kind, group in VERIFIED_KINDS.items():
            with contextlib.suppress(InfraError):
                found.append(self._api.resource_for(kind, group))
        return found

    def _print_tables(self, checkpoint: str) -> None:
        text = {}
        # Of kinds without an object the table is empty, and each is a request in a busy checkpoint.
        there = {obj.kind for obj in self._reading.state()}
        for kind, group in TABLE_KINDS.items():
            if kind not in there:
                continue
            # A cluster may lack a kind (no gang scheduler, say); then there is no table of it.
            with contextlib.suppress(InfraError):
                table = self._api.table(self._api.resource_for(kind, group), self._namespace)
                if table:
                    text[kind] = table
        self._notebook.append(Tables(checkpoint=checkpoint, at=time.time(), text=text))
