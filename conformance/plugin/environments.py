"""Control planes with an operator and a recorder: opened by their owner, seen by all workers."""

import contextlib
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from conformance.cluster.protocol import Cluster
from conformance.cluster.provider import choose
from conformance.driver import graphs
from conformance.driver.environment import CaseEnvironment
from conformance.driver.fresh import ThrowAway
from conformance.driver.namespaces import close_namespace
from conformance.driver.waiting import until
from conformance.history.records import JSON_LINES, OperatorEvent, OperatorEventKind
from conformance.judge.authors import operators_managers
from conformance.judge.snapshot import Snapshot
from conformance.judge.state.match import mismatches
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.kinds import UNRECORDED, Actor
from conformance.operator.install import install
from conformance.operator.installed import InstalledOperator
from conformance.operator.profiles import LoadedProfile
from conformance.plugin.end_of_run import judge_run
from conformance.plugin.run_options import RunOptions
from conformance.record.meter import Measured
from conformance.record.process import RecorderProcess

OPERATOR_EVENTS = "_operator.jsonl"


@dataclass(kw_only=True)
class TestEnvironment:
    """One control plane, one recorder, one operator. `open()` and `close()`; the opener owns it."""

    loaded: LoadedProfile
    options: RunOptions
    name: str
    say: Callable[[str], None] = lambda _: None
    """Tells a line to the person who runs the suite."""
    _cluster: Cluster | None = None
    _operator: InstalledOperator | None = None
    _managers: Collection[str] = ()
    _opened_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # Last in, first out, and each even if an earlier one fails.
    _ending: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def directory(self) -> Path:
        """Where the recorder writes."""
        return self.options.live / self.name

    def for_cases(self, *, control: bool = False) -> CaseEnvironment:
        """What cases need to know; with `control` they may stop the operator, in this process alone."""
        if self._cluster is None or self._operator is None:
            raise InfraError(f"the control plane {self.name} is not open")
        # In pods the operator's user is its ServiceAccount.
        user = {"identity_user": self._operator.users[0]}
        operators_users = (*self._operator.users, *self._managers)
        return CaseEnvironment(
            profile=self.loaded.profile.model_copy(update=user), bounds=self.options.bounds,
            kubeconfig=self._cluster.kubeconfig, recording=self.directory,
            results=self.options.results, operator_events=self.directory / OPERATOR_EVENTS,
            operator_log=self._operator.log_path, versions=self._cluster.versions,
            users={**self._cluster.users, **dict.fromkeys(operators_users, Actor.OPERATOR)},
            audited=self._cluster.audit_log is not None, run=self._cluster.run,
            delete_namespaces=not self._cluster.throw_away, attachable=self._operator.attachable,
            control=self._operator.control if control else None,
        )  # fmt: skip

    def open(self) -> None:
        """Start everything and warm the operator up. If it raises InfraError or UsageError, nothing is
        left running."""
        self.directory.mkdir(parents=True, exist_ok=True)
        profile, options = self.loaded.profile, self.options
        try:
            cluster = self._cluster = choose(
                options.cluster, logs=self._logs, profile=profile, tell=self.say
            )
            self._ending.callback(cluster.stop)
            for line in cluster.plan():
                self.say(line)
            cluster.start()
            recorder = RecorderProcess.start(
                kubeconfig=cluster.kubeconfig, directory=self.directory,
                audit_log=cluster.audit_log, users=cluster.users,
            )  # fmt: skip
            self._ending.callback(recorder.stop)
            recorder.wait_ready()
            self._operator = install(
                cluster, self.loaded, options=options.operator_options, bounds=options.bounds,
                logs=self._logs, warm_up=lambda operator: self._warm_up(operator, recorder),
                on_event=self._on_event,
            )  # fmt: skip
            self._note_measured()
            self._ending.callback(self._operator.close)
            self._ending.callback(cluster.clear)
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
        """Judge the end of the run, while everything still runs. Only if `judges_end`."""
        judge_run(self.for_cases(), started_at=self._opened_at)

    def keep_evidence(self) -> None:
        """Export what goes with a cluster and may explain a failure, which is on record already."""
        if self._cluster is not None:
            with contextlib.suppress(InfraError, OSError):
                self._cluster.export_evidence(self._logs)

    def close(self) -> None:
        """End the operator, the recorder and the control plane."""
        self._ending.close()

    @property
    def _logs(self) -> Path:
        return self.options.results / "logs" / self.name

    def _warm_up(self, operator: InstalledOperator, recorder: RecorderProcess) -> None:
        """Let the operator bring a throw-away graph up once: /readyz was seen to say ok up to 8 s
        before the first reconcile. One that never does is left to the cases to judge."""
        self._operator = operator
        environment = self.for_cases()
        bounds, annotations = environment.bounds, environment.profile.graph_annotations
        graph = graphs.agg().replace(name="warm-up", annotations=dict(annotations))
        with Api.from_kubeconfig(environment.kubeconfig) as api:
            # A kind that is recorded late starts with a gap mark, which no case must see.
            recorder.wait_recording(k for k in api.discover() if k.kind not in UNRECORDED)
            stem = f"warm-up-{self.name}"
            deploy = ThrowAway(graph, stem=stem, api=api, environment=environment)

            def up() -> bool:
                deploy.tail.poll()
                return not mismatches(Snapshot(deploy.tail.state(), deploy.wanted))

            until(up, every=bounds.poll, within=bounds.warm_up)
            if not environment.audited:
                made = deploy.tail.state()
                self._managers = operators_managers(made, known=environment.users)
            deploy.delete()
            if environment.delete_namespaces:
                close_namespace(api, deploy.namespace)

    def _on_event(self, event: OperatorEvent) -> None:
        with self._lock, (self.directory / OPERATOR_EVENTS).open("ab") as file:
            file.write(JSON_LINES.encode(event))
        if event.kind is OperatorEventKind.READY:
            self._note_measured()

    def _note_measured(self) -> None:
        """Tell the recorder whose load it measures."""
        cluster, operator = self._cluster, self._operator
        if cluster is not None and operator is not None:
            pid = operator.control.pid
            Measured(
                operator=() if pid is None else (pid,), platform=cluster.pids,
                users=(*operator.users, *self._managers), own=(operator.settings.namespace,),
            ).write(self.directory)  # fmt: skip
