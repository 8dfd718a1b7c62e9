"""An operator on a cluster: `InstalledOperator`, its `OperatorControl` and its `OperatorEvents`."""

from __future__ import annotations

import abc
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

from conformance.cluster.protocol import Cluster
from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.kube import Api, apply_manifests
from conformance.model.bounds import Bounds
from conformance.model.crash import CrashScanner
from conformance.model.errors import InfraError
from conformance.model.installs import ClusterInstall, ProcessInstall
from conformance.model.profile import Profile
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.probes import check_features, check_versions, wait_for_webhooks
from conformance.operator.profiles import LoadedProfile

OnEvent: TypeAlias = Callable[[OperatorEvent], None]
_ENDS = (OperatorEventKind.STOPPED, OperatorEventKind.KILLED, OperatorEventKind.EXITED)


class StartError(InfraError):
    """The operator did not become ready: it ended, or the time was up."""


class OperatorControl(abc.ABC):
    """Stops, kills and starts one operator."""

    @property
    def pid(self) -> int | None:
        """Its process id, if it is a process of this machine."""
        return None

    @abc.abstractmethod
    def alive(self) -> bool:
        """True if it runs just now."""

    def stop(self) -> None:
        """End it in an orderly way, and wait until it is gone. Raises InfraError if it stays."""
        self._end(OperatorEventKind.STOPPED)

    def kill(self) -> None:
        """End it at once, as a node failure would, and wait until it is gone. Raises InfraError."""
        self._end(OperatorEventKind.KILLED)

    @abc.abstractmethod
    def start(self) -> None:
        """Start it again and wait until it is ready. Raises StartError with the reason."""

    @abc.abstractmethod
    def wait_ready(self) -> None:
        """Wait until it is ready. Raises StartError with the reason."""

    @abc.abstractmethod
    def require_running(self, when: str) -> None:
        """Raise StartError with the reason if it does not run; `when` says what was being done."""

    @abc.abstractmethod
    def supervise(self) -> None:
        """From now on it is started again after an exit that nobody asked for: other cases need it."""

    @abc.abstractmethod
    def _end(self, how: OperatorEventKind) -> None: ...


class OperatorEvents:
    """What happens to one operator, in order. `on_event` gets each event as it comes, from any thread.
    An EXITED among them is one that nobody asked for: a finding."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._crashes = CrashScanner()
        self._lock = threading.RLock()

    def add(self, kind: OperatorEventKind, text: str = "") -> None:
        """Note what happens just now. An exit with a traceback as its last words is a crash, too."""
        with self._lock:
            traceback = self._crashes.ended() if kind in _ENDS else ""
            if traceback and kind is OperatorEventKind.EXITED:
                self._note(OperatorEventKind.PANIC, traceback)
            self._note(kind, text)

    def read(self, line: str) -> None:
        """Look for a crash in the next line of the operator's log."""
        with self._lock:
            if self._crashes.read(line):
                self._note(OperatorEventKind.PANIC, line.strip()[:300])

    def _note(self, kind: OperatorEventKind, text: str) -> None:
        self._on_event(OperatorEvent(kind=kind, at=time.time(), text=text))


@dataclass(kw_only=True, eq=False)
class InstalledOperator(abc.ABC):
    """An operator on a cluster, from its installation on; `install` chooses a subclass. Use as a
    context manager, or call `close`."""

    cluster: Cluster
    loaded: LoadedProfile
    options: OperatorOptions
    bounds: Bounds
    logs: Path
    """Directory for the logs of its pods and the values of its chart."""
    event_log: OperatorEvents
    api: Api

    control: OperatorControl = field(init=False)
    attachable: Mapping[str, Any] | None = field(init=False, default=None)
    """From which another process gets the control (`pods.attach`); None if only its owner has it."""
    users: Sequence[str] = field(init=False)
    """User names under which it writes, as in the audit log."""
    log_path: Path = field(init=False)
    """Its log: output of all its starts, growing."""
    ending: contextlib.ExitStack = field(init=False, default_factory=contextlib.ExitStack)
    """What undoes the installation, the last first."""
    _kinds_checked: bool = field(init=False, default=False)

    @property
    def profile(self) -> Profile:
        return self.loaded.profile

    @property
    @abc.abstractmethod
    def settings(self) -> ProcessInstall | ClusterInstall:
        """The part of the profile that says how it is installed."""

    def run(self, *, warm_up: WarmUp | None = None) -> Self:
        """All steps of the installation, in the order in which a real one must happen. If one fails,
        what was started and made is ended and removed."""
        try:
            self._apply()
            self._start()
            self.control.wait_ready()
            if not self._kinds_checked:
                # Some operators bring their kinds themselves when they start.
                self._check_kinds()
            within, check = self.bounds.install, self.control.require_running
            wait_for_webhooks(self.api, self.profile, within=within, check=check)
            check_features(self.api, self.profile, where=self.loaded.shown)
            if warm_up is not None:
                warm_up(self)
            self.control.supervise()
        except BaseException:
            # The first error is the one to tell.
            with contextlib.suppress(InfraError):
                self.close()
            raise
        return self

    def close(self) -> None:
        """End it for good, and remove what was made if it does not go with the cluster. Raises
        InfraError if something stays; what can be removed is."""
        self.ending.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abc.abstractmethod
    def _apply(self) -> None:
        """Apply all that must be there before it starts; call `_check_kinds` if the kinds must be."""

    @abc.abstractmethod
    def _start(self) -> None:
        """Start it, or find it started: set `control`, `users` and `log_path`."""

    def _check_kinds(self) -> None:
        """The kinds are there: compare their versions with the profile. Raises UsageError."""
        check_versions(self.api, self.profile, where=self.loaded.shown)
        self._kinds_checked = True

    def _send(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Server-side apply; waits until CRDs are served."""
        apply_manifests(self.api, manifests, namespace=self.settings.namespace)


WarmUp: TypeAlias = Callable[[InstalledOperator], None]
