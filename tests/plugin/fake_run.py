"""A plugin (`-p tests.plugin.fake_run`) that lets the whole run be tested without a control plane.

Clusters only write into RESULTS/told.log that they are opened, judged and closed; a case's `trial`
holds a history by hand, good or bad, which is then really judged and reported. Environment: FAKE_SHUT
names operators (comma-separated) whose cluster cannot be opened; FAKE_REFUSED refuses all; FAKE_DEAD is
what an open cluster has died of; FAKE_LOST_END loses the judgement of the run's end without a word.
"""

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

from conformance.driver.environment import CaseEnvironment
from conformance.history import store
from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Header,
    OperatorEvent,
    OperatorEventKind,
    Scope,
    Soak,
)
from conformance.judge.verdict import judge
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError, UsageError
from conformance.model.profile import Profile
from conformance.model.run_cases import FEATURE, RunCase
from conformance.model.transition import add_multinode
from conformance.plugin import controller, director, trials, worker
from conformance.plugin.marks import case_id
from conformance.record.run_record import case_begins
from conformance.report.build import case_result
from conformance.report.files import history_file, history_path, write_case
from tests.builders import NAMESPACE, HistoryBuilder, a_graph, settled

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def tell(results: Path, text: str) -> None:
    with (results / "told.log").open("a", encoding="utf-8") as file:
        file.write(text + "\n")


class FakeCluster:
    def __init__(self, *, loaded: Any, options: Any, name: str, say: Any = None) -> None:
        self.loaded, self.options, self.name = loaded, options, name

    def for_cases(self, *, control: bool = False) -> CaseEnvironment:
        results = self.options.results
        return CaseEnvironment(
            profile=self.loaded.profile, bounds=Bounds(), kubeconfig=Path("none"), results=results,
            recording=results / "live" / "record", operator_events=results / "none.jsonl",
        )  # fmt: skip

    def open(self) -> None:
        if self.loaded.name in os.environ.get("FAKE_SHUT", "").split(","):
            raise InfraError(f"etcd of {self.name} ended with code 1; its log is empty")
        time.sleep(0.05)
        if "FAKE_REFUSED" in os.environ:
            raise UsageError("the user lacks rights\nof these two")
        tell(self.options.results, f"open {self.name}")

    def failure(self) -> str | None:
        return os.environ.get("FAKE_DEAD")

    judges_end = True

    def judge_end(self) -> None:
        tell(self.options.results, f"judge {self.name}")
        if "FAKE_LOST_END" not in os.environ:
            judge_nothing(self.loaded, self.options.results)

    def keep_evidence(self) -> None:
        tell(self.options.results, f"evidence {self.name}")

    def close(self) -> None:
        tell(self.options.results, f"close {self.name}")


def judge_nothing(loaded: Any, results: Path) -> None:
    """The judgements of a run that left nothing."""
    now = time.time()
    scopes = {RunCase.REST: Scope.SOAK, RunCase.NOTHING_LEFT: Scope.RUN}
    for case, scope in scopes.items():
        header = Header(
            case=case, feature=FEATURE, title=case.meaning, operator=loaded.name, namespace="",
            profile=loaded.profile.model_dump(mode="json"), bounds=Bounds().to_json(), scope=scope,
        )  # fmt: skip
        stands = Soak(case="mine/good", namespace="ns", at=now, revision=1, graphs=())
        end = Checkpoint(
            name="end", at=now, since=now, end=CheckpointEnd.HELD, revision=1, graphs=(), hold=5.0
        )
        history = History([header, stands, end])
        path = history_path(results, case, loaded.name)
        store.write(path, history)
        file = history_file(path, results=results)
        write_case(results, case_result(history, judge(history), duration=0, history_file=file))


class FakeTrial:
    """`good()` or `bad()` once, or nothing: then nothing was proven."""

    def __init__(self, environment: CaseEnvironment, case: str) -> None:
        self.environment = environment
        self.profile: Profile = environment.profile
        self.case, self.namespace, self.started_at = case, "ns", time.time()
        case_begins(environment.recording, self.namespace)
        self.built: HistoryBuilder | None = None
        process = os.environ.get("PYTEST_XDIST_WORKER", "main")
        tell(environment.results, f"case {environment.operator} {case} {process}")

    def good(self) -> None:
        """Multinode is added, and the Deployment goes."""
        self._changed(keep_deployment=False)

    def bad(self) -> None:
        """Multinode is added, and the Deployment stays."""
        self._changed(keep_deployment=True)

    def late(self, *, then: str, times: int = 1) -> None:
        """Some looks at the case come too soon for an operator that has not had its turn; then it is
        `good` or `bad`."""
        looks = self.environment.results / f"looks-{self.case.replace('/', '-')}"
        seen = len(looks.read_text()) if looks.exists() else 0
        looks.write_text("x" * (seen + 1))
        if seen < times:
            self._changed(keep_deployment=True, end=CheckpointEnd.LATE)
        else:
            getattr(self, then)()

    def _changed(self, *, keep_deployment: bool, end: CheckpointEnd = CheckpointEnd.HELD) -> None:
        h = HistoryBuilder(self.profile, case=self.case)
        h.operator(OperatorEventKind.READY)
        h.deployed(SINGLE)
        h.wait(3)
        h.step(add_multinode("Worker"), SINGLE)
        wanted = settled(MULTI, self.profile, generation=2)
        kept = [
            raw for raw in settled(SINGLE, self.profile)
            if raw["kind"] in ("Deployment", "ReplicaSet", "Pod")
            and "worker" in raw["metadata"]["name"]
        ]  # fmt: skip
        h.become([*wanted, *(kept if keep_deployment else [])], after=0.5)
        h.checkpoint(MULTI, end=end)
        fresh = json.dumps(settled(MULTI, self.profile)).replace(NAMESPACE, "fresh")
        h.fresh(MULTI, json.loads(fresh))
        self.built = h

    def compare_with_fresh(self) -> None:
        pass

    def finish(self, _events: list[OperatorEvent]) -> History:
        history = (self.built or HistoryBuilder(self.profile, case=self.case)).history()
        header = dataclasses.replace(history.header, operator=self.environment.operator)
        return History([header, *history.records[1:]])

    def clean_up(self) -> None:
        tell(self.environment.results, f"clean {self.case}")

    def close(self) -> None:
        pass


def pytest_configure() -> None:
    changes: dict[Any, dict[str, Any]] = {
        director: {"TestEnvironment": FakeCluster},
        worker: {"TestEnvironment": FakeCluster},
        controller: {"ensure": lambda: None},
        trials: {"_make": lambda item, *, environment, **_: FakeTrial(environment, case_id(item))},
        worker.Worker: {"api": lambda self, environment: None},
    }
    for place, names in changes.items():
        for name, value in names.items():
            setattr(place, name, value)
