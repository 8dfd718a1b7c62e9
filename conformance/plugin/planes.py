"""Control planes with an operator and a recorder: opened by their owner, seen by all workers."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path
from typing import Any

from conformance.cluster.embedded import EmbeddedPlane
from conformance.cluster.provider import choose
from conformance.driver import graphs
from conformance.driver.namespaces import namespace_name, open_namespace
from conformance.driver.requests import path_of, send
from conformance.driver.session import OperatorControl, Session
from conformance.history.records import OperatorEvent, OperatorEventKind, to_json
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND
from conformance.model.kinds import UNRECORDED, Layer
from conformance.model.manifest import manifest
from conformance.operator.install import install
from conformance.operator.profiles import LoadedProfile
from conformance.operator.running import RunningOperator
from conformance.plugin.leftovers import judge_run
from conformance.plugin.run_options import RunOptions
from conformance.record.process import RecorderProcess
from conformance.record.tail import Tail
from conformance.rules.base import Sight, Wanted
from conformance.rules.match import mismatches

OPERATOR_EVENTS = "_operator.jsonl"
# An operator that panics on one case must not take the others with it; one that dies at every start
# must not be started for ever.
_RESTARTS = 20


class OpenPlane:
    """One control plane, one recorder, one operator. `open()` and `close()`; the opener owns it."""

    def __init__(self, *, loaded: LoadedProfile, options: RunOptions, name: str) -> None:
        self._loaded = loaded
        self._options = options
        self.name = name
        self.directory = options.results / "live" / name
        self._plane: EmbeddedPlane | None = None
        self._recorder: RecorderProcess | None = None
        self._operator: RunningOperator | None = None
        self._opened_at = 0.0
        self._lock = threading.Lock()
        self._exited = threading.Event()
        self._closing = threading.Event()

    @property
    def session(self) -> Session:
        """What a case in this very process gets: it may stop the operator."""
        return self._session(control=self._operator)

    def _session(self, *, control: OperatorControl | None) -> Session:
        if self._plane is None or self._operator is None:
            raise InfraError(f"the control plane {self.name} is not open")
        return Session(
            profile=self._loaded.profile,
            bounds=self._options.bounds,
            kubeconfig=self._plane.kubeconfig,
            recording=self.directory,
            results=self._options.results,
            operator_events=self.directory / OPERATOR_EVENTS,
            operator_log=self._operator.log_path,
            versions=self._plane.versions,
            users=users(self._loaded),
            control=control,
        )

    def open(self) -> None:
        """Start everything and warm the operator up. Raises InfraError or UsageError with nothing
        left running."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._plane = choose(
                self._options.cluster, logs=self._options.results / "logs" / self.name
            )
            self._plane.start()
            self._recorder = RecorderProcess.start(
                kubeconfig=self._plane.kubeconfig, directory=self.directory,
                audit_log=self._plane.audit_log, users=users(self._loaded),
            )  # fmt: skip
            self._recorder.wait_ready()
            self._operator = install(
                self._plane, self._loaded, binary=self._options.binary, crds=self._options.crds,
                faults=self._options.faults, bounds=self._options.bounds,
                warm_up=lambda _running: self._warm_up(), on_event=self._on_event,
            )  # fmt: skip
            threading.Thread(target=self._watch_operator, daemon=True).start()
            self._opened_at = time.time()
        except BaseException:
            self.close()
            raise

    def judge_end(self) -> None:
        """Judge what the operator left outside the cases' namespaces, while everything still runs."""
        if self._operator is not None and self._plane is not None:
            judge_run(self._session(control=None), started_at=self._opened_at)

    def close(self) -> None:
        """End the operator, the recorder and the control plane."""
        self._closing.set()
        operator, self._operator = self._operator, None
        recorder, self._recorder = self._recorder, None
        plane, self._plane = self._plane, None
        # Last in, first out, and each even if an earlier one fails.
        with contextlib.ExitStack() as ending:
            if plane is not None:
                ending.callback(plane.stop)
            if recorder is not None:
                ending.callback(recorder.stop)
            if operator is not None:
                ending.callback(operator.close)

    def describe(self) -> dict[str, Any]:
        """Plain data from which a worker makes its Session."""
        session = self._session(control=None)
        return {
            "kubeconfig": str(session.kubeconfig),
            "recording": str(session.recording),
            "operator_log": str(session.operator_log),
            "versions": dict(session.versions),
            "users": dict(session.users),
        }

    # Parts.

    def _warm_up(self) -> None:
        """Let the operator bring a throw-away graph up once: /readyz was seen to say ok up to 8 s
        before the first reconcile. One that never does is left to the cases to judge."""
        assert self._plane is not None
        assert self._recorder is not None
        profile, bounds = self._loaded.profile, self._options.bounds
        graph = graphs.agg().replace(name="warm-up", annotations=dict(profile.graph_annotations))
        version = profile.versions[0]
        with Api.from_kubeconfig(self._plane.kubeconfig) as api:
            # A kind that is recorded late starts with a gap mark, which no case must see.
            kinds = (kind for kind in api.discover() if kind.kind not in UNRECORDED)
            self._recorder.wait_recording(kinds)
            namespace = namespace_name(f"warm-up-{self.name}")
            tail = Tail(self.directory, namespace)
            open_namespace(api, namespace, bounds=bounds)
            body = manifest(graph, version=version, namespace=namespace)
            send(api, "POST", path_of(GRAPH_KIND, version, namespace), body=body)
            wanted = Wanted(namespace=namespace, graphs=(graph,), components=(), profile=profile)
            end = time.monotonic() + bounds.warm_up
            while time.monotonic() < end:
                tail.poll()
                if not mismatches(Sight(state=tail.state(), wanted=wanted)):
                    break
                time.sleep(bounds.poll)
            api.request("DELETE", path_of(GRAPH_KIND, version, namespace, graph.name))

    def _watch_operator(self) -> None:
        """Start the operator again after an exit that nobody asked for: the event is on record, and
        the other cases need an operator."""
        for _ in range(_RESTARTS):
            while not self._exited.wait(0.2):
                if self._closing.is_set():
                    return
            self._exited.clear()
            operator = self._operator
            if operator is None or operator.alive():
                continue
            with contextlib.suppress(InfraError):  # not ready again: its exit is on record, too
                operator.start()

    def _on_event(self, event: OperatorEvent) -> None:
        with self._lock, (self.directory / OPERATOR_EVENTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(to_json(event)) + "\n")
        if event.kind is OperatorEventKind.EXITED:
            self._exited.set()


def users(loaded: LoadedProfile) -> dict[str, str]:
    """User name in the audit log → layer, for the parts of an embedded plane."""
    return {
        "dgd-conformance": Layer.SUITE,
        loaded.profile.identity_user: Layer.OPERATOR,
        "lws-controller-manager": Layer.LWS_CONTROLLER,
        "kwok": Layer.PLATFORM,
    }


def session_from(
    description: dict[str, Any], *, loaded: LoadedProfile, options: RunOptions
) -> Session:
    """A worker's Session on a plane that another process owns."""
    return Session(
        profile=loaded.profile,
        bounds=options.bounds,
        kubeconfig=Path(description["kubeconfig"]),
        recording=Path(description["recording"]),
        results=options.results,
        operator_events=Path(description["recording"]) / OPERATOR_EVENTS,
        operator_log=Path(description["operator_log"]),
        versions=description["versions"],
        users=description["users"],
    )
