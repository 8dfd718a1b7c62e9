"""A case from the suite's side: what it wants, what it did, its checkpoints, its end."""

import contextlib
import threading
import time
from typing import Any

from conformance.driver.case_journal import CaseJournal
from conformance.driver.environment import CaseEnvironment
from conformance.driver.fresh import FreshStates
from conformance.driver.hold import LiveRecord, Wait
from conformance.driver.namespaces import close_namespace
from conformance.driver.requests import GraphRequests, Sent
from conformance.driver.waiting import WaitLine
from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Header,
    OperatorEvent,
    Step,
    Tables,
)
from conformance.judge.snapshot import Wanted
from conformance.kube import Api, Resource
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, GROUP, ApiVersion, Graph
from conformance.model.kinds import LWS, LWS_GROUP, POD_GROUP, POD_GROUP_GROUP
from conformance.model.transition import ChangeKind
from conformance.record.tail import Tail
from conformance.record.verify import verify

# What the reader of a bug report asks for first: kind → group.
_TABLE_KINDS = {
    GRAPH_KIND: GROUP, COMPONENT_KIND: GROUP, "Deployment": "apps", LWS: LWS_GROUP,
    POD_GROUP: POD_GROUP_GROUP, "Service": "", "Pod": "",
}  # fmt: skip
# Listed even if none was ever seen here: a missed object of theirs is the very one that this suite
# looks for.
_VERIFIED_KINDS = {**_TABLE_KINDS, "StatefulSet": "apps", "ReplicaSet": "apps"}


class CaseOver(Exception):  # noqa: N818 - no error: the case simply ends
    """A checkpoint was not held, so what follows would prove nothing. Judging says what that means."""


class CaseRun:
    """One case in one namespace, with one history. Raises InfraError from any method when cluster or
    recorder fail; the case is then `unknown`."""

    def __init__(
        self,
        *,
        environment: CaseEnvironment,
        api: Api,
        tail: Tail,
        header: Header,
        process: str = "main",
    ) -> None:
        """`process` names the one that runs the case among those of the run."""
        self.environment = environment
        self.profile = environment.profile
        self.bounds = environment.bounds
        self.namespace = header.namespace
        self.case = header.case
        self.started_at = header.started_at
        self._api = api
        self._requests = GraphRequests(api, self.namespace, self.version)
        self._record = LiveRecord(tail, header)
        self._header = header
        self._line = WaitLine(
            path=environment.results / "live" / f"{process}.waiting", case=self.case
        )
        self._fresh = FreshStates(environment, api, self._line)
        self._journal = CaseJournal(
            environment.recording / "journal" / f"{self.namespace}.jsonl", namespace=self.namespace
        )
        self._graphs: dict[str, Graph] = {}
        self._components: dict[str, Graph] = {}

    @property
    def version(self) -> ApiVersion:
        """The API version that this profile's cases use unless they say otherwise."""
        return self.profile.versions[0]

    @property
    def steps(self) -> list[Step]:
        """What the case did so far, with the API's answers."""
        return self._journal.steps

    def compare_with_fresh(self) -> None:
        """Deploy each graph afresh as it now is, to compare the reached state with. Not one that was
        deployed and never changed, or whose target cannot be reached."""
        checkpoints = self._journal.checkpoints
        if checkpoints and not checkpoints[-1].blocked:
            for graph in self._changed():
                self._journal.append(self._fresh.get(graph))

    def finish(self, operator_events: list[OperatorEvent]) -> History:
        """The whole history, once the case is over."""
        with contextlib.suppress(InfraError):  # a dead recorder has left its gap mark in the tail
            self._record.tail.catch_up(time.time())
        return self._record.tail.history(self._header, [*self._journal.records, *operator_events])

    def clean_up(self) -> None:
        """Delete what the case made, without waiting."""
        for kind, names in ((GRAPH_KIND, self._graphs), (COMPONENT_KIND, self._components)):
            for name in names:
                self._requests.delete(kind, name)
        if self.environment.delete_namespaces:
            close_namespace(self._api, self.namespace)

    def close(self) -> None:
        """Close files."""
        self._record.tail.close()
        self._journal.close()

    def _note(
        self, sent: Sent, wanted: dict[str, Graph], *, before: Graph | None, after: Graph | None,
        **fields: Any,
    ) -> Step:  # fmt: skip
        """Journal a request about one of the wanted graphs; if it was accepted, `after` is wanted."""
        step = self._journal.sent(sent, before=before, after=after, **fields)
        if step.accepted and after is not None:
            wanted[after.name] = after
        elif step.accepted and before is not None:
            del wanted[before.name]
        return step

    def _reach(self, *, judged: bool, hold: float, blocked: bool = False) -> None:
        """Wait until all that was sent since the last checkpoint is reached and held, prove the record
        by lists, and journal the checkpoint. Raises CaseOver if it was not held."""
        if judged and not blocked:
            # The fresh deploys that will be asked for begin while the hold window is waited for.
            for graph in self._changed():
                threading.Thread(target=self._fresh.prepare, args=(graph,), daemon=True).start()
        wanted = Wanted(
            namespace=self.namespace, graphs=tuple(self._graphs.values()),
            components=tuple(self._components.values()), profile=self.profile,
            others=self._journal.others,
        )  # fmt: skip
        pending, bounds, tail = self._journal.pending, self.bounds, self._record.tail
        deleting = any(ChangeKind.DELETE in step.kinds for step in pending)
        since = max((step.answered_at for step in pending), default=time.time())
        requests = bounds.requests(hold, served=len(wanted.graphs) + len(wanted.components))
        wait = Wait(
            record=self._record, wanted=wanted, bounds=bounds, since=since, hold=hold,
            deadline=bounds.deletion_deadline if deleting else bounds.deadline, blocked=blocked,
            requests=int(requests) if judged else None,
        )  # fmt: skip
        ended = wait.until_held(self._line)
        failed = ended.end is not CheckpointEnd.HELD
        verified: dict[str, int] = {}
        disagreed: dict[str, str] = {}
        if judged or failed:
            kinds = self._served(_VERIFIED_KINDS)
            lag = bounds.recorder_lag
            verified, disagreed = verify(self._api, tail, self.namespace, kinds, lag)
        checkpoint = Checkpoint(
            name=f"checkpoint {len(self._journal.checkpoints) + 1}", at=ended.ended_at, since=since,
            end=ended.end, revision=max([tail.revision, *verified.values()]), graphs=wanted.graphs,
            components=wanted.components, judged=judged or failed, reached_at=ended.reached_at,
            hold=hold, deadline=ended.deadline, turn=round(ended.turn, 3), blocked=blocked,
            verified=verified, disagreed=disagreed, steps=tuple(step.name for step in pending),
        )  # fmt: skip
        self._print_tables(checkpoint.name)
        self._journal.judged_by(checkpoint)
        if failed:
            raise CaseOver

    def _served(self, kinds: dict[str, str]) -> list[Resource]:
        """Those kinds that the cluster has: it may lack one (no gang scheduler, say)."""
        found = []
        for kind, group in kinds.items():
            with contextlib.suppress(InfraError):
                found.append(self._api.resource_for(kind, group))
        return found

    def _print_tables(self, checkpoint: str) -> None:
        # A kind without objects has an empty table, and each is a request in a busy checkpoint.
        there = {obj.kind for obj in self._record.state()}
        text = {}
        for resource in self._served({k: g for k, g in _TABLE_KINDS.items() if k in there}):
            with contextlib.suppress(InfraError):
                table = self._api.table(resource, self.namespace)
                if table:
                    text[resource.kind] = table
        self._journal.append(Tables(checkpoint=checkpoint, at=time.time(), text=text))

    def _changed(self) -> list[Graph]:
        """Graphs that a step changed, as they now are; of equal ones the first."""
        changed = {
            step.target
            for step in self.steps
            if step.accepted and step.moves_generation and ChangeKind.DEPLOY not in step.kinds
        }
        wanted: dict[str, Graph] = {}
        for name, graph in self._graphs.items():
            if name in changed:
                wanted.setdefault(graph.fingerprint(), graph)
        return list(wanted.values())
