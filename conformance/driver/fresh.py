"""Fresh deploys of graphs, made once a graph and run, to compare transitioned states with."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.progress import Progress
from conformance.driver.reading import Reading
from conformance.driver.requests import path_of, send
from conformance.driver.session import Session
from conformance.driver.settle import settle
from conformance.history.records import CheckpointEnd, Fresh, Header, from_json, to_json
from conformance.judge.state.base import Mismatch, Sight, Wanted
from conformance.judge.state.match import mismatches, progress, unobserved
from conformance.kube import FIELD_MANAGER, Api
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
        session: Session,
        api: Api,
        directory: Path,
        progress_line: Progress,
    ) -> None:
        self._session = session
        self._api = api
        self._directory = directory
        self._progress = progress_line

    def get(self, graph: Graph, annotations: Mapping[str, str]) -> Fresh:
        """The fresh state of the graph (under its own name), made now if nobody made it before."""
        graph = graph.replace(annotations={**graph.annotations, **annotations})
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{graph.name}-{graph.fingerprint()}.json"
        with FileLock(f"{path}.lock"):
            if path.exists():
                fresh = from_json(json.loads(path.read_text()))
                assert isinstance(fresh, Fresh)
                return fresh
            fresh = self._deploy(graph)
            path.write_text(json.dumps(to_json(fresh)))
            return fresh

    def prepare(self, graph: Graph) -> None:
        """As `get`, but what fails here is left to `get` to say."""
        with contextlib.suppress(InfraError):
            self.get(graph, {})

    def _header(self, namespace: str) -> Header:
        session = self._session
        return Header(
            case="", feature="", title="a fresh deploy", operator=session.operator,
            namespace=namespace, profile={}, bounds={}, users=session.users,
            audited=session.audited,
        )  # fmt: skip

    def _deploy(self, graph: Graph) -> Fresh:
        bounds, profile = self._session.bounds, self._session.profile
        namespace = namespace_name(f"fresh-{graph.name}")
        tail = Tail(self._session.recording, namespace, lag=bounds.recorder_lag)
        open_namespace(self._api, namespace, bounds=bounds, run=self._session.run)
        version = profile.versions[0]
        path = path_of(GRAPH_KIND, version, namespace)
        sent = send(
            self._api, "POST", path, params={"fieldManager": FIELD_MANAGER},
            body=manifest(graph, version=version, namespace=namespace),
        )  # fmt: skip
        if not sent.answer.ok:
            problem = f"a fresh deploy was answered HTTP {sent.answer.code}: {sent.answer.message}"
            return Fresh(graph=graph, namespace=namespace, problem=problem)
        wanted = Wanted(namespace=namespace, graphs=(graph,), components=(), profile=profile)

        def look(state: State) -> list[Mismatch]:
            sight = Sight(state=state, wanted=wanted)
            return mismatches(sight) or unobserved(sight)

        settled = settle(
            Reading(tail, self._header(namespace)), look=look, since=time.time(),
            deadline=bounds.deadline, follow=bounds.follow, hold=bounds.hold, poll=bounds.poll,
            progress=self._progress,
            what=lambda state: "fresh deploy: " + progress(Sight(state=state, wanted=wanted)),
        )  # fmt: skip
        objects = tuple(obj.raw for obj in tail.state())
        self._api.request("DELETE", path_of(GRAPH_KIND, version, namespace, graph.name))
        problem = ""
        if settled.end is not CheckpointEnd.HELD:
            first = settled.mismatches[0].message if settled.mismatches else "it never was at rest"
            problem = f"a fresh deploy of {graph.name} did not settle: {first}"
        return Fresh(graph=graph, namespace=namespace, objects=objects, problem=problem)
