"""Control planes with an operator and a recorder: opened by their owner, seen by all workers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from conformance.cluster.protocol import Cluster
from conformance.cluster.provider import choose
from conformance.driver import graphs
from conformance.driver.environment import CaseEnvironment
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.requests import GraphRequests
from conformance.history.records import JSON_LINES, OperatorEvent
from conformance.judge.authors import operators_managers
from conformance.judge.snapshot import Snapshot, Wanted
from conformance.judge.state.match import mismatches
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND
from conformance.model.kinds import UNRECORDED, Actor
from conformance.model.manifest import manifest
from conformance.operator.install import install
from conformance.operator.installed import InstalledOperator
from conformance.operator.profiles import LoadedProfile
from conformance.plugin.end_of_run import judge_run
from conformance.plugin.run_options import RunOptions
from conformance.record.process import RecorderProcess
from conformance.record.tail import Tail

OPERATOR_EVENTS = "_operator.jsonl"


class TestEnvironment:
    """One control plane, one recorder, one operator. `open()` and `close()`; the opener owns it."""

    def __init__(
        self,
        *,
        loaded: LoadedProfile,
        options: RunOptions,
        name: str,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say` tells a line to the person who runs the suite."""
        self._say = say
        self._loaded = loaded
        self._options = options
        self.name = name
        self.directory = options.live / name
        self._cluster: Cluster | None = None
        self._recorder: RecorderProcess | None = None
        self._operator: InstalledOperator | None = None
        self._managers: set[str] = set()
        self._opened_at = 0.0
        self._lock = threading.Lock()

    def for_cases(self, *, control: bool = False) -> CaseEnvironment:
        """What cases need to know; with `control` they may stop the operator, in this process alone."""
        if self._cluster is None or self._operator is None:
            raise InfraError(f"the control plane {self.name} is not open")
        # In pods the operator's user is its ServiceAccount.
        user = {"identity_user": self._operator.users[0]}
        operators_users = (*self._operator.users, *self._managers)
        return CaseEnvironment(
            profile=self._loaded.profile.model_copy(update=user),
            bounds=self._options.bounds,
            kubeconfig=self._cluster.kubeconfig,
            recording=self.directory,
            results=self._options.results,
            operator_events=self.directory / OPERATOR_EVENTS,
            operator_log=self._operator.log_path,
            versions=self._cluster.versions,
            users={**self._cluster.users, **dict.fromkeys(operators_users, Actor.OPERATOR)},
            audited=self._cluster.audit_log is not None,
            delete_namespaces=not self._cluster.throw_away,
            run=self._cluster.run,
            attachable=self._operator.attachable,
            control=self._operator.control if control else None,
        )

    def open(self) -> None:
        """Start everything and warm the operator up. Raises InfraError or UsageError with nothing
        left running."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._cluster = choose(
                self._options.cluster,
                logs=self._logs,
                profile=self._loaded.profile,
                tell=self._say,
            )
            for line in self._cluster.plan():
                self._say(line)
            self._cluster.start()
            self._recorder = RecorderProcess.start(
                kubeconfig=self._cluster.kubeconfig, directory=self.directory,
                audit_log=self._cluster.audit_log, users=self._cluster.users,
            )  # fmt: skip
            self._recorder.wait_ready()
            self._operator = self._install(self._cluster)
            self._opened_at = time.time()
        except BaseException as error:
            if isinstance(error, InfraError):
                self.keep_evidence()
            self.close()
            raise

    def failure(self) -> str | None:
        """One sentence if a part of the control plane was seen to have died, else None."""
        return self._cluster.failure() if self._cluster is not None else None

    @property
    def judges_end(self) -> bool:
        """True if the end of a run is judged here. Elsewhere the operator works for others, too, and
        what it makes for them is theirs."""
        return self._operator is not None and self._cluster is not None and self._cluster.throw_away

    def judge_end(self) -> None:
        """Judge, while everything still runs, whether all that stood at rest still does, and what the
        operator leaves once every graph is deleted."""
        if self.judges_end:
            judge_run(self.for_cases(), started_at=self._opened_at)

    def keep_evidence(self) -> None:
        """Export what goes with a cluster and may explain a failure, next to its logs. Best effort: the
        failure itself is on record already."""
        if self._cluster is not None:
            with contextlib.suppress(InfraError, OSError):
                self._cluster.export_evidence(self._logs)

    def close(self) -> None:
        """End the operator, the recorder and the control plane."""
        operator, self._operator = self._operator, None
        recorder, self._recorder = self._recorder, None
        cluster, self._cluster = self._cluster, None
        # Last in, first out, and each even if an earlier one fails.
        with contextlib.ExitStack() as ending:
            if cluster is not None:
                ending.callback(cluster.stop)
            if recorder is not None:
                ending.callback(recorder.stop)
            if operator is not None:
                ending.callback(operator.close)
            if cluster is not None and operator is not None:
                ending.callback(cluster.clear)

    # Parts.

    @property
    def _logs(self) -> Path:
        return self._options.results / "logs" / self.name

    def _install(self, cluster: Cluster) -> InstalledOperator:
        return install(
            cluster, self._loaded, options=self._options.operator_options,
            bounds=self._options.bounds, logs=self._logs, warm_up=lambda _: self._warm_up(),
            on_event=self._on_event,
        )  # fmt: skip

    def _warm_up(self) -> None:
        """Let the operator bring a throw-away graph up once: /readyz was seen to say ok up to 8 s
        before the first reconcile. One that never does is left to the cases to judge."""
        assert self._cluster is not None
        assert self._recorder is not None
        profile, bounds = self._loaded.profile, self._options.bounds
        graph = graphs.agg().replace(name="warm-up", annotations=dict(profile.graph_annotations))
        version = profile.versions[0]
        with Api.from_kubeconfig(self._cluster.kubeconfig) as api:
            # A kind that is recorded late starts with a gap mark, which no case must see.
            kinds = (kind for kind in api.discover() if kind.kind not in UNRECORDED)
            self._recorder.wait_recording(kinds)
            namespace = namespace_name(f"warm-up-{self.name}")
            tail = Tail(self.directory, namespace)
            open_namespace(api, namespace, bounds=bounds, run=self._cluster.run)
            requests = GraphRequests(api, namespace, version)
            requests.create(manifest(graph, version=version, namespace=namespace))
            wanted = Wanted(namespace=namespace, graphs=(graph,), components=(), profile=profile)
            end = time.monotonic() + bounds.warm_up
            while time.monotonic() < end:
                tail.poll()
                if not mismatches(Snapshot(state=tail.state(), wanted=wanted)):
                    break
                time.sleep(bounds.poll)
            if self._cluster.audit_log is None:
                made = tail.state()
                self._managers = operators_managers(made, known=self._cluster.users)
            requests.delete(GRAPH_KIND, graph.name)
            if not self._cluster.throw_away:
                api.request("DELETE", f"/api/v1/namespaces/{namespace}")

    def _on_event(self, event: OperatorEvent) -> None:
        with self._lock, (self.directory / OPERATOR_EVENTS).open("ab") as file:
            file.write(JSON_LINES.encode(event))
