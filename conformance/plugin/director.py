"""Which cluster is open when: the controller opens shared clusters, operator by operator, and says
so to the workers through small files; the worker with disruptive cases opens its own cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from conformance.driver.environment import CaseEnvironment
from conformance.model.errors import InfraError
from conformance.plugin.environments import TestEnvironment
from conformance.plugin.run_options import RunOptions

# A cold machine under load; a cluster that needs longer than this will not come.
_OPEN_SECONDS = 600.0
# The longest case lasts some minutes, and a worker runs at most one of them after another.
_QUIET_SECONDS = 1800.0


def _state(options: RunOptions, operator: str, suffix: str) -> Path:
    return options.results / "live" / f"{operator}.{suffix}"


def _publish(path: Path, text: str) -> None:
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(text)
    temporary.rename(path)


class Director:
    """The controller's side. `cases` (nodeid → operator, disruptive) come from `expect_cases`; as they
    finish, clusters are closed and the next one is opened.

    Where all cases share one cluster (`ClusterRequest.one_cluster`), the disruptive ones get it once it
    is quiet: no other case runs on it any more."""

    def __init__(self, options: RunOptions, say: Callable[[str], None] = lambda _: None) -> None:
        """`say` tells a line to the person who runs the suite."""
        self._options = options
        self._say = say
        self._queue = [loaded.name for loaded in options.operators]
        self._known = False
        self._left: dict[str, set[str]] = {}
        self._left_disruptive: dict[str, set[str]] = {}
        self._served: set[str] = set()
        self._begun = ""
        self._open: TestEnvironment | None = None
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.failed = False
        """Set once a case has failed: clusters then keep what explains it, before they are closed."""
        self.opened: dict[str, CaseEnvironment] = {}
        """Operator → its shared environment, as cases see it."""
        self.ended: set[str] = set()
        """Operators whose run came to its end on a cluster that judges it."""

    def start(self) -> None:
        """Open the first cluster, in the background. What cases there are need not be known yet."""
        self._advance()

    def wait_open(self) -> None:
        """Wait until the cluster that is being opened is open. Raises what went wrong."""
        self._join()
        if self.error is not None:
            raise self.error
        self._advance()

    def expect_cases(self, cases: dict[str, tuple[str, bool]]) -> None:
        """Which cases will run, once collected. May be called again with the same."""
        if self._known:
            return
        self._known = True
        for nodeid, (operator, disruptive) in cases.items():
            side = self._left_disruptive if disruptive else self._left
            side.setdefault(operator, set()).add(nodeid)
        # A cluster that was opened before it was known that there is no case for it judges nothing.
        self._served = set(self._left)
        if self._options.cluster.one_cluster:
            self._served |= set(self._left_disruptive)

    def finished(self, nodeid: str) -> None:
        """A case is over: close the cluster after its last one, and open the next after that."""
        for side in (self._left, self._left_disruptive):
            for left in side.values():
                left.discard(nodeid)
        self._advance()

    def look(self) -> None:
        """After a case that failed: if the shared cluster itself has died, the run is over, since every
        further case would only wait for it in vain. `error` says so then."""
        if self._open is None or self.error is not None:
            return
        try:
            dead = self._open.failure()
        except InfraError as error:  # nor can it be asked
            dead = str(error)
        if dead:
            self.error = InfraError(dead)

    def close(self, *, judge: bool) -> None:
        """Close whatever is open; `judge` False where the run was broken off."""
        self._join()
        self._close(judge=judge)

    def _advance(self) -> None:
        """Close clusters that no case needs any more, and open the next one that some case needs."""
        while self._queue and self.error is None:
            current = self._queue[0]
            waiting = (
                self._known
                and self._options.cluster.one_cluster
                and self._left_disruptive.get(current)
            )
            if not self._known or self._left.get(current) or waiting:
                if self._begun != current:
                    self._begin(current)
                if waiting and not self._left.get(current):
                    _publish(_state(self._options, current, "quiet"), "")
                return
            self._join()
            self._close(judge=True)
            _publish(_state(self._options, current, "closed"), "")
            if self._left_disruptive.get(current):
                return
            self._queue.pop(0)

    def _begin(self, name: str) -> None:
        self._begun = name
        cluster = TestEnvironment(
            loaded=self._options.operator(name), options=self._options, name=f"{name}-shared",
            say=self._say,
        )  # fmt: skip

        def run() -> None:
            try:
                cluster.open()
                self._open = cluster
                self.opened[name] = cluster.for_cases()
                _publish(_state(self._options, name, "open"), self.opened[name].model_dump_json())
            except BaseException as error:  # handed to the main thread, which ends the run
                self.error = error
                _publish(_state(self._options, name, "failed"), str(error))

        self._thread = threading.Thread(target=run, name="cluster")
        self._thread.start()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _close(self, *, judge: bool) -> None:
        cluster, self._open = self._open, None
        if cluster is not None:
            try:
                if judge and cluster.judges_end and self._begun in self._served:
                    # Before it is: if the judgement is lost, its absence must be seen.
                    self.ended.add(self._begun)
                    cluster.judge_end()
            finally:
                if self.failed:
                    cluster.keep_evidence()
                cluster.close()


def await_shared(options: RunOptions, operator: str, *, quiet: bool = False) -> CaseEnvironment:
    """A worker's wait for the shared cluster of an operator; `quiet`: until no other case needs it.
    Raises InfraError if it will not come."""
    opened, failed = _state(options, operator, "open"), _state(options, operator, "failed")
    _await(lambda: opened.exists() or failed.exists(), f"the control plane of {operator}")
    if failed.exists():
        raise InfraError(failed.read_text())
    if quiet:
        alone = _state(options, operator, "quiet")
        _await(alone.exists, f"the other cases of {operator} to end", within=_QUIET_SECONDS)
    return CaseEnvironment.model_validate_json(opened.read_text())


def open_own(options: RunOptions, operator: str) -> TestEnvironment:
    """A cluster of this process' own, for disruptive cases. Where the operator has fixed ports or paths
    it first waits until the shared one is closed."""
    loaded = options.operator(operator)
    if loaded.profile.process.fixed_ports:
        closed = _state(options, operator, "closed")
        _await(closed.exists, f"the shared control plane of {operator} to be closed")
    cluster = TestEnvironment(loaded=loaded, options=options, name=f"{operator}-own")
    cluster.open()
    return cluster


def _await(condition: Callable[[], bool], what: str, *, within: float | None = None) -> None:
    within = _OPEN_SECONDS if within is None else within
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise InfraError(f"waited {within:.0f} s for {what}, in vain")
        time.sleep(0.05)
