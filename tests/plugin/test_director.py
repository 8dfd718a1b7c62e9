from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster import ClusterKind
from conformance.cluster.provider import ClusterRequest
from conformance.driver.environment import CaseEnvironment
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError
from conformance.operator import profiles
from conformance.plugin import director, worker
from conformance.plugin.director import Director
from conformance.plugin.run_options import RunOptions
from conformance.plugin.worker import await_shared, open_own
from tests.objects import a_profile
from tests.plugin.support import profile


class Clusters:
    """Makes clusters that only say what is done to them."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shut: dict[str, BaseException] = {}
        self.judging_fails = False
        self.dead: str | InfraError | None = None
        self.may_open = threading.Event()
        self.may_open.set()

    def __call__(self, *, loaded: Any, options: Any, name: str, say: Any = None) -> Clusters.One:
        return Clusters.One(self, name)

    class One:
        def __init__(self, clusters: Clusters, name: str) -> None:
            self.clusters, self.name = clusters, name

        def open(self) -> None:
            assert self.clusters.may_open.wait(10)
            if self.name in self.clusters.shut:
                raise self.clusters.shut[self.name]
            self.clusters.said.append(f"open {self.name}")

        def for_cases(self) -> CaseEnvironment:
            return CaseEnvironment(
                profile=a_profile(), bounds=Bounds(), kubeconfig=Path(self.name),
                recording=Path("record"), results=Path("results"), operator_events=Path("events"),
                versions={"etcd": "1"}, users={"admin": "suite"},
            )  # fmt: skip

        def failure(self) -> str | None:
            if isinstance(self.clusters.dead, InfraError):
                raise self.clusters.dead
            return self.clusters.dead

        judges_end = True

        def judge_end(self) -> None:
            if self.clusters.judging_fails:
                raise InfraError("the API server is gone")
            self.clusters.said.append(f"judge {self.name}")

        def close(self) -> None:
            self.clusters.said.append(f"close {self.name}")


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    made = Clusters()
    monkeypatch.setattr(director, "TestEnvironment", made)
    monkeypatch.setattr(worker, "TestEnvironment", made)
    return made


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    (tmp_path / "live").mkdir()
    fixed = {"command": ["true"], "fixed_ports": {"webhook": 9443}, "ports": []}
    loaded = (
        profiles.load(profile(tmp_path, "one")),
        profiles.load(profile(tmp_path, "two", install=fixed)),
    )
    return RunOptions(
        operators=loaded, bounds=Bounds(), results=tmp_path,
    )  # fmt: skip


def test_the_first_cluster_opens_before_the_cases_are_known(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.start()
    run.wait_open()
    assert clusters.said == ["open one-shared"]
    run.close(judge=False)


def test_where_all_share_one_cluster_disruptive_cases_get_it_once_it_is_quiet(
    clusters: Clusters, options: RunOptions
) -> None:
    shared = replace(options, cluster=ClusterRequest(kind=ClusterKind.KIND))
    run = Director(shared)
    run.start()
    run.wait_open()
    run.expect_cases({"a": ("one", False), "kill": ("one", True)})
    quiet = shared.results / "live" / "one.quiet"
    assert not quiet.exists()
    run.finished("a")
    assert quiet.exists()
    assert clusters.said == ["open one-shared"]
    assert await_shared(shared, "one", disruptive=True).kubeconfig == Path("one-shared")
    run.finished("kill")
    assert clusters.said == ["open one-shared", "judge one-shared", "close one-shared"]
    run.close(judge=True)


def test_disruptive_cases_alone_get_the_shared_cluster_at_once(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(replace(options, cluster=ClusterRequest(kind=ClusterKind.KIND)))
    run.start()
    run.expect_cases({"kill": ("one", True)})
    run.wait_open()
    assert await_shared(options, "one", disruptive=True).kubeconfig == Path("one-shared")
    run.close(judge=True)


def test_a_cluster_is_judged_and_closed_after_its_last_case_and_the_next_one_opens(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.start()
    run.expect_cases({"a": ("one", False), "b": ("one", False), "c": ("two", False)})
    run.wait_open()
    run.finished("a")
    assert clusters.said == ["open one-shared"]
    run.finished("b")
    run.wait_open()
    assert clusters.said == [
        "open one-shared", "judge one-shared", "close one-shared", "open two-shared",
    ]  # fmt: skip
    run.finished("c")
    assert clusters.said[4:] == ["judge two-shared", "close two-shared"]


def test_the_next_operator_waits_for_the_disruptive_cases_of_the_one_before(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.start()
    run.expect_cases({"a": ("one", False), "kill": ("one", True), "c": ("two", False)})
    run.wait_open()
    run.finished("a")
    assert clusters.said[-1] == "close one-shared"
    run.finished("kill")
    run.wait_open()
    assert clusters.said[-1] == "open two-shared"
    run.close(judge=True)


def test_a_cluster_that_no_case_needs_is_not_opened(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.expect_cases({"kill": ("one", True), "c": ("two", False)})
    run.start()
    run.wait_open()
    assert clusters.said == []
    run.finished("kill")
    run.wait_open()
    assert clusters.said == ["open two-shared"]
    run.close(judge=False)


def test_a_cluster_opened_in_vain_is_closed_once_the_cases_are_known(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.start()
    run.expect_cases({"kill": ("one", True)})
    run.wait_open()
    assert clusters.said == ["open one-shared", "close one-shared"]
    assert run.ended == set()


def test_cases_that_are_skipped_before_their_cluster_is_open_leave_none_open(
    clusters: Clusters, options: RunOptions
) -> None:
    clusters.may_open.clear()
    run = Director(options)
    run.start()
    run.expect_cases({"a": ("one", False)})
    threading.Timer(0.05, clusters.may_open.set).start()
    run.finished("a")
    run.close(judge=True)
    assert clusters.said == ["open one-shared", "judge one-shared", "close one-shared"]


def test_what_kept_a_cluster_from_opening_is_raised_in_the_main_thread_and_told_to_workers(
    clusters: Clusters, options: RunOptions
) -> None:
    clusters.shut["one-shared"] = InfraError("etcd ended with code 1")
    run = Director(options)
    run.start()
    with pytest.raises(InfraError, match="etcd ended with code 1"):
        run.wait_open()
    with pytest.raises(InfraError, match="etcd ended with code 1"):
        await_shared(options, "one")
    run.close(judge=True)
    assert clusters.said == []


def test_a_run_that_was_broken_off_closes_without_judging(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    run.start()
    run.close(judge=False)
    assert clusters.said == ["open one-shared", "close one-shared"]


def test_a_cluster_is_closed_even_if_it_cannot_be_judged(
    clusters: Clusters, options: RunOptions
) -> None:
    clusters.judging_fails = True
    run = Director(options)
    run.start()
    run.expect_cases({"a": ("one", False)})
    with pytest.raises(InfraError):
        run.close(judge=True)
    assert clusters.said == ["open one-shared", "close one-shared"]
    assert run.ended == {"one"}


@pytest.mark.parametrize("cannot_ask", [True, False], ids=["and cannot be asked", "and says so"])
def test_a_cluster_that_died_is_told_once_it_is_looked_at(
    clusters: Clusters, options: RunOptions, cannot_ask: bool
) -> None:
    run = Director(options)
    run.look()
    run.start()
    run.expect_cases({"a": ("one", False), "b": ("one", False)})
    run.wait_open()
    run.look()
    assert run.error is None
    clusters.dead = InfraError("etcd of the embedded control plane ended with code 1")
    if not cannot_ask:
        clusters.dead = str(clusters.dead)
    run.look()
    clusters.dead = "something else"
    run.look()
    with pytest.raises(InfraError, match="etcd of the embedded control plane ended with code 1"):
        run.wait_open()
    run.close(judge=False)
    assert clusters.said == ["open one-shared", "close one-shared"]


def test_closing_twice_closes_once(clusters: Clusters, options: RunOptions) -> None:
    run = Director(options)
    run.start()
    run.close(judge=False)
    run.close(judge=False)
    assert clusters.said.count("close one-shared") == 1


def test_workers_learn_of_an_open_cluster_through_a_file(
    clusters: Clusters, options: RunOptions
) -> None:
    run = Director(options)
    threading.Timer(0.05, run.start).start()
    assert await_shared(options, "one") == run.opened["one"]
    run.close(judge=False)


def test_with_fixed_ports_a_cluster_of_its_own_waits_for_the_end_of_the_shared_one(
    clusters: Clusters, options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_OPEN_SECONDS", 0.1)
    with pytest.raises(InfraError, match="the shared control plane of two to be closed, in vain"):
        open_own(options, "two")
    run = Director(options)
    run.expect_cases({"kill": ("two", True)})
    run.start()
    assert open_own(options, "two").name == "two-own"
    assert clusters.said == ["open two-own"]


def test_with_free_ports_a_cluster_of_its_own_waits_for_nobody(
    clusters: Clusters, options: RunOptions
) -> None:
    open_own(options, "one")
    assert clusters.said == ["open one-own"]
