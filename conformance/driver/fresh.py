"""Throw-away deploys; and the fresh ones, one for each graph in a run, that a changed graph is
compared with."""

import contextlib
import time

from filelock import FileLock

from conformance.driver.environment import CaseEnvironment
from conformance.driver.hold import LiveRecord, Wait
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.requests import GraphRequests
from conformance.driver.waiting import WaitLine
from conformance.history.records import JSON_LINES, CheckpointEnd, Fresh
from conformance.judge.snapshot import Wanted
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND, Graph
from conformance.model.manifest import manifest
from conformance.record.tail import Tail


class ThrowAway:
    """A graph that is deployed in a namespace of its own, which begins like `stem`, only to be looked
    at. Raises InfraError if the namespace cannot be made; the API may refuse the graph (`sent`)."""

    def __init__(self, graph: Graph, *, stem: str, api: Api, environment: CaseEnvironment) -> None:
        profile, bounds = environment.profile, environment.bounds
        version, self.namespace = profile.versions[0], namespace_name(stem)
        self.tail = Tail(environment.recording, self.namespace, lag=bounds.recorder_lag)
        self.wanted = Wanted(
            namespace=self.namespace, graphs=(graph,), components=(), profile=profile
        )
        open_namespace(api, self.namespace, bounds=bounds, run=environment.run)
        self._requests = GraphRequests(api, self.namespace, version)
        body = manifest(graph, version=version, namespace=self.namespace)
        self.sent = self._requests.create(body)

    def delete(self) -> None:
        """Delete the graph, without waiting."""
        for graph in self.wanted.graphs:
            self._requests.delete(GRAPH_KIND, graph.name)


class FreshStates:
    """Makes and keeps fresh states; workers of one run share them through files and locks."""

    def __init__(self, environment: CaseEnvironment, api: Api, line: WaitLine) -> None:
        self._environment = environment
        self._api = api
        self._line = line
        # Shared by all clusters of the operator: where a graph was deployed makes no difference.
        self._directory = environment.results / "live" / f"fresh-{environment.operator}"

    def get(self, graph: Graph) -> Fresh:
        """The fresh state of the graph (under its own name), made now if nobody made it before."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{graph.name}-{graph.fingerprint()}.json"
        with FileLock(f"{path}.lock"):
            if path.exists():
                fresh = JSON_LINES.decode(path.read_bytes())
                assert isinstance(fresh, Fresh)
                return fresh
            fresh = self._deploy(graph)
            if not fresh.late:  # another may have more time
                path.write_bytes(JSON_LINES.encode(fresh))
            return fresh

    def prepare(self, graph: Graph) -> None:
        """As `get`, which reports what fails here."""
        with contextlib.suppress(InfraError):
            self.get(graph)

    def _deploy(self, graph: Graph) -> Fresh:
        environment, bounds = self._environment, self._environment.bounds
        deploy = ThrowAway(
            graph, stem=f"fresh-{graph.name}", api=self._api, environment=environment
        )
        answer = deploy.sent.answer
        if not answer.ok:
            problem = f"a fresh deploy was answered HTTP {answer.code}: {answer.message}"
            return Fresh(graph=graph, namespace=deploy.namespace, problem=problem)
        header = environment.header(
            case="", feature="", title="a fresh deploy", namespace=deploy.namespace
        )
        wait = Wait(
            record=LiveRecord(deploy.tail, header), wanted=deploy.wanted, bounds=bounds,
            since=time.time(), deadline=bounds.deadline, hold=bounds.hold, what="fresh deploy: ",
        )  # fmt: skip
        ended = wait.until_held(self._line)
        objects = tuple(obj.raw for obj in deploy.tail.state())
        deploy.delete()
        problem = ""
        if ended.end is not CheckpointEnd.HELD:
            first = ended.mismatches[0].message if ended.mismatches else "it never was at rest"
            problem = f"a fresh deploy of {graph.name} did not settle: {first}"
        return Fresh(
            graph=graph, namespace=deploy.namespace, objects=objects, problem=problem,
            late=ended.end is CheckpointEnd.LATE,
        )  # fmt: skip
