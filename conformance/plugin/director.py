"""Which cluster is open when: the controller opens shared environments, operator by operator, and tells
the workers through small files."""

import enum
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from conformance.driver.environment import CaseEnvironment
from conformance.model.errors import InfraError
from conformance.plugin.environments import TestEnvironment
from conformance.plugin.run_options import RunOptions


class Signal(enum.StrEnum):
    """What workers are told about the shared environment of an operator."""

    OPEN = "open"
    """Its file holds the CaseEnvironment."""
    FAILED = "failed"
    """It could not be opened; the file says why."""
    QUIET = "quiet"
    """Only disruptive cases still need it."""
    ALONE = "alone"
    """Only cases that were set aside are left: they run one by one."""
    CLOSED = "closed"


def needs_closed(options: RunOptions, operator: str) -> bool:
    """True if an operator has ports that only one of it can have: its disruptive cases then wait until
    the shared cluster is closed."""
    install = options.operator(operator).profile.install
    return install is not None and bool(install.fixed_ports)


def signal(options: RunOptions, operator: str, what: Signal) -> Path:
    """The file that is there once this is so."""
    return options.live / f"{operator}.{what}"


class Director:
    """Opens the environment that the next cases need, and closes it after the last of them.

    Where all cases share one cluster (`ClusterRequest.one_cluster`), the disruptive ones get it once it
    is quiet: no other case runs on it any more."""

    def __init__(self, options: RunOptions, say: Callable[[str], None] = lambda _: None) -> None:
        """`say` shows a line to the person who runs the suite."""
        self._options = options
        self._say = say
        self._queue = [loaded.name for loaded in options.operators]
        self._known = False
        # (operator, disruptive) → node ids of cases that have not ended.
        self._left: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
        # Operator → node ids of cases that will be run again alone.
        self._aside: defaultdict[str, set[str]] = defaultdict(set)
        self._served: set[str] = set()
        self._begun = ""
        self._open: TestEnvironment | None = None
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self.failed = False
        """Set once a case has failed: what explains it is then kept before a cluster is closed."""
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

    def expect_cases(self, cases: Mapping[str, tuple[str, bool]]) -> None:
        """Which cases will run, once collected: node id → operator, disruptive. May be called again
        with the same."""
        if self._known:
            return
        self._known = True
        for nodeid, side in cases.items():
            self._left[side].add(nodeid)
        # A cluster that was opened before it was known that there is no case for it judges nothing.
        all_share = self._options.cluster.one_cluster
        self._served = {name for name, disruptive in cases.values() if all_share or not disruptive}

    def finished(self, nodeid: str) -> None:
        """A case is over: close the cluster after its last one, and open the next after that."""
        for left in (*self._left.values(), *self._aside.values()):
            left.discard(nodeid)
        self._advance()

    def set_aside(self, nodeid: str) -> None:
        """A case will be run again alone: its cluster stays open for it."""
        for (operator, _), left in self._left.items():
            if nodeid in left:
                left.discard(nodeid)
                self._aside[operator].add(nodeid)
        self._advance()

    def look(self) -> None:
        """After a failed case: a run whose shared cluster has died is over, since every further case
        would wait for it in vain. `error` says so then."""
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
            shared, disruptive = self._left[current, False], self._left[current, True]
            waiting = self._options.cluster.one_cluster and disruptive
            if not self._known or shared or waiting:
                if self._begun != current:
                    self._begin(current)
                if waiting and not shared:
                    self._tell(current, Signal.QUIET)
                return
            if self._aside[current]:
                if not (disruptive and self._alone_after_all(current)):
                    self._tell(current, Signal.ALONE)
                return
            self._join()
            self._close(judge=True)
            self._tell(current, Signal.CLOSED)
            if disruptive:
                return
            self._queue.pop(0)

    def _alone_after_all(self, operator: str) -> bool:
        """True if disruptive cases come before those that were set aside: unless they, or another
        operator, wait until this cluster is closed."""
        return self._options.cluster.one_cluster or (
            len(self._options.operators) == 1 and not needs_closed(self._options, operator)
        )

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
                self._tell(name, Signal.OPEN, self.opened[name].model_dump_json())
            except BaseException as error:  # handed to the main thread, which ends the run
                self.error = error
                self._tell(name, Signal.FAILED, str(error))

        self._thread = threading.Thread(target=run, name="cluster")
        self._thread.start()

    def _tell(self, operator: str, what: Signal, text: str = "") -> None:
        self._options.publish(signal(self._options, operator, what).name, text)

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _close(self, *, judge: bool) -> None:
        cluster, self._open = self._open, None
        if cluster is None:
            return
        try:
            if judge and cluster.judges_end and self._begun in self._served:
                # Before it is: if the judgement is lost, its absence must be seen.
                self.ended.add(self._begun)
                cluster.judge_end()
        finally:
            if self.failed:
                cluster.keep_evidence()
            cluster.close()
