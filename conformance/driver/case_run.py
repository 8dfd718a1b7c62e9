"""A case from the suite's side: what it wants, what it did, its record, its end."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from conformance.driver.case_journal import CaseJournal
from conformance.driver.checkpoints import Checkpoints
from conformance.driver.environment import CaseEnvironment
from conformance.driver.fresh import FreshStates
from conformance.driver.live_record import LiveRecord
from conformance.driver.requests import GraphRequests, Sent
from conformance.driver.wait_line import WaitLine
from conformance.history.history import History
from conformance.history.records import Header, OperatorEvent, Step
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, ApiVersion, Graph
from conformance.model.transition import ChangeKind
from conformance.record.tail import Tail


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
        wait_line: WaitLine,
        fresh: FreshStates,
        journal: CaseJournal,
    ) -> None:
        self.environment = environment
        self.profile = environment.profile
        self.bounds = environment.bounds
        self.namespace = header.namespace
        self.case = header.case
        self.started_at = header.started_at
        self._api = api
        self._requests = GraphRequests(api, header.namespace, self.version)
        self._record = LiveRecord(tail, header)
        self._header = header
        self._fresh = fresh
        self._journal = journal
        self._checkpoints = Checkpoints(
            environment=environment, api=api, record=self._record, namespace=header.namespace,
            journal=journal, wait_line=wait_line,
        )  # fmt: skip
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
                self._journal.append(self._fresh.get(graph, {}))

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
            self._api.request("DELETE", f"/api/v1/namespaces/{self.namespace}")

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
        """Wait for the checkpoint of everything sent since the last one. Raises CaseOver."""
        if judged and not blocked:
            # The fresh deploys that will be asked for begin while the hold window is waited for.
            for graph in self._changed():
                threading.Thread(target=self._fresh.prepare, args=(graph,), daemon=True).start()
        self._checkpoints.reach(
            self._graphs, self._components, judged=judged, hold=hold, blocked=blocked
        )

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
