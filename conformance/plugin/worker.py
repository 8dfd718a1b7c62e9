"""What one test process keeps between cases: clients, logs, and an environment of its own if it needs
one. In a run without pytest-xdist the controller is its only worker."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.driver.environment import CaseEnvironment
from conformance.driver.waiting import until
from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.kube import Api
from conformance.model.errors import InfraError
from conformance.operator.pods.control import attach
from conformance.plugin.director import Signal, needs_closed, signal
from conformance.plugin.environments import TestEnvironment
from conformance.plugin.run_options import RunOptions
from conformance.record.logs import OperatorLog, read_operator_events

WORKER = pytest.StashKey["Worker"]()
# A cold machine under load; a cluster that needs longer than this will not come.
_OPEN_SECONDS = 600.0
# The longest case lasts some minutes, and a worker runs at most one of them after another.
_QUIET_SECONDS = 1800.0


class Worker:
    """One test process."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._shared: dict[tuple[str, bool], CaseEnvironment] = {}
        self._own: TestEnvironment | None = None
        self._apis: dict[Path, Api] = {}
        self._logs: dict[Path, OperatorLog] = {}

    def environment(self, operator: str, *, disruptive: bool) -> CaseEnvironment:
        """What a case runs in; opened or awaited the first time. Raises InfraError, UsageError."""
        if disruptive and not self._options.cluster.one_cluster:
            if self._own is None or self._own.loaded.name != operator:
                self._close_own()
                self._own = open_own(self._options, operator)
            return self._own.for_cases(control=True)
        key = (operator, disruptive)
        if key not in self._shared:
            self._shared[key] = await_shared(self._options, operator, disruptive=disruptive)
        return self._shared[key]

    def api(self, environment: CaseEnvironment) -> Api:
        """A client for its cluster."""
        path = environment.kubeconfig
        if path not in self._apis:
            self._apis[path] = Api.from_kubeconfig(path)
        return self._apis[path]

    def operator_events(self, environment: CaseEnvironment, namespace: str) -> list[OperatorEvent]:
        """What happened to the operator since its environment was opened, and the lines that its log
        has about the namespace since the last call."""
        events = read_operator_events(environment.operator_events)
        path = environment.operator_log
        if path is not None:
            lines = self._logs.setdefault(path, OperatorLog(path)).read()
            logged = (line for line in lines if line.kind is OperatorEventKind.LOG)
            events += [line for line in logged if namespace in line.text]
        return events

    def close(self) -> None:
        """Close the own environment and the clients."""
        for api in self._apis.values():
            api.close()
        self._close_own()

    def _close_own(self) -> None:
        if self._own is not None:
            own, self._own = self._own, None
            own.close()


def await_shared(
    options: RunOptions, operator: str, *, disruptive: bool = False
) -> CaseEnvironment:
    """Wait for the shared environment of an operator; with `disruptive` until no other case needs it,
    and with the power to stop the operator if it can be had. Raises InfraError if it will not come."""
    opened, failed = (signal(options, operator, s) for s in (Signal.OPEN, Signal.FAILED))
    _await(lambda: opened.exists() or failed.exists(), f"the control plane of {operator}")
    if failed.exists():
        raise InfraError(failed.read_text())
    shared = CaseEnvironment.model_validate_json(opened.read_text())
    if not disruptive:
        return shared
    quiet = signal(options, operator, Signal.QUIET)
    _await(quiet.exists, f"the other cases of {operator} to end", within=_QUIET_SECONDS)
    if not shared.attachable:
        return shared
    control = attach(shared.attachable, shared.kubeconfig, shared.profile)
    return shared.model_copy(update={"control": control})


def open_own(options: RunOptions, operator: str) -> TestEnvironment:
    """Open an environment for disruptive cases. If the operator has fixed ports or paths, first wait
    until the shared one is closed."""
    loaded = options.operator(operator)
    if needs_closed(options, operator):
        closed = signal(options, operator, Signal.CLOSED)
        _await(closed.exists, f"the shared control plane of {operator} to be closed")
    environment = TestEnvironment(loaded=loaded, options=options, name=f"{operator}-own")
    environment.open()
    return environment


def _await(condition: Callable[[], bool], what: str, *, within: float | None = None) -> None:
    within = within or _OPEN_SECONDS
    if not until(condition, every=0.05, within=within):
        raise InfraError(f"waited {within:.0f} s for {what}, in vain")
