"""Fresh deploys, one for each graph in a run: what a changed graph is compared with."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

from conformance.driver.environment import CaseEnvironment
from conformance.driver.hold import Wait
from conformance.driver.live_record import LiveRecord
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.requests import GraphRequests
from conformance.driver.wait_line import WaitLine
from conformance.history.records import JSON_LINES, CheckpointEnd, Fresh, Header
from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot, Wanted
from conformance.judge.state.match import mismatches, progress
from conformance.judge.state.status import unobserved
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND, Graph
from conformance.model.manifest import manifest
from conformance.model.state import State
from conformance.record.tail import Tail


class FreshStates:
    """Makes and keeps fresh states; workers of one run share them through files and locks."""

    def __init__(
        self,
        *,
        environment: CaseEnvironment,
        api: Api,
        directory: Path,
        wait_line: WaitLine,
    ) -> None:
        self._environment = environment
        self._api = api
        self._directory = directory
        self._line = wait_line

    def get(self, graph: Graph, annotations: Mapping[str, str]) -> Fresh:
        """The fresh state of the graph (under its own name), made now if nobody made it before."""
        graph = graph.replace(annotations={**graph.annotations, **annotations})
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{graph.name}-{graph.fingerprint()}.json"
        with FileLock(f"{path}.lock"):
            if path.exists():
                fresh = JSON_LINES.decode(path.read_bytes())
                assert isinstance(fresh, Fresh)
                return fresh
            fresh = self._deploy(graph)
            path.write_bytes(JSON_LINES.encode(fresh))
            return fresh

    def prepare(self, graph: Graph) -> None:
        """As `get`, which reports what fails here."""
        with contextlib.suppress(InfraError):
            self.get(graph, {})

    def _deploy(self, graph: Graph) -> Fresh:
        environment, bounds = self._environment, self._environment.bounds
        profile, version = environment.profile, environment.profile.versions[0]
        namespace = namespace_name(f"fresh-{graph.name}")
        tail = Tail(environment.recording, namespace, lag=bounds.recorder_lag)
        open_namespace(self._api, namespace, bounds=bounds, run=environment.run)
        requests = GraphRequests(self._api, namespace, version)
        sent = requests.create(manifest(graph, version=version, namespace=namespace))
        if not sent.answer.ok:
            problem = f"a fresh deploy was answered HTTP {sent.answer.code}: {sent.answer.message}"
            return Fresh(graph=graph, namespace=namespace, problem=problem)
        wanted = Wanted(namespace=namespace, graphs=(graph,), components=(), profile=profile)
        header = Header(
            case="", feature="", title="a fresh deploy", operator=environment.operator,
            namespace=namespace, profile={}, bounds={}, users=environment.users,
            audited=environment.audited,
        )  # fmt: skip

        def look(state: State) -> list[Mismatch]:
            snapshot = Snapshot(state=state, wanted=wanted)
            return mismatches(snapshot) or unobserved(snapshot)

        wait = Wait(
            record=LiveRecord(tail, header), look=look, since=time.time(),
            deadline=bounds.deadline, follow=bounds.follow, hold=bounds.hold, poll=bounds.poll,
        )  # fmt: skip
        ended = wait.until_held(
            self._line,
            lambda state: "fresh deploy: " + progress(Snapshot(state=state, wanted=wanted)),
        )
        objects = tuple(obj.raw for obj in tail.state())
        requests.delete(GRAPH_KIND, graph.name)
        problem = ""
        if ended.end is not CheckpointEnd.HELD:
            first = ended.mismatches[0].message if ended.mismatches else "it never was at rest"
            problem = f"a fresh deploy of {graph.name} did not settle: {first}"
        return Fresh(graph=graph, namespace=namespace, objects=objects, problem=problem)
