"""A start waits for the new leader, and never longer than a Lease can mean."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.kube import Api
from conformance.operator.pods import control
from conformance.operator.pods.control import wait_for_leader
from conformance.operator.pods.deployed import Deployed, Target
from conformance.operator.resources import LEASES, PODS
from tests.kube.fake_api import FakeApi


def target() -> Target:
    return Target(
        operator="x",
        namespace="ops",
        deployment="op-manager",
        container="manager",
        replicas=1,
        selector="app=op",
        grace=30,
        ready_within=60,
    )


def hold(cluster: FakeApi, holder: str, *, seconds: int = 15) -> None:
    """A pod holds the Lease."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds}
    cluster.put(LEASES, "leader", "kube-system", spec=spec)


@pytest.fixture
def cluster() -> Iterator[FakeApi]:
    made = FakeApi(PODS, LEASES)
    made.put(PODS, "op-manager-new", "ops")
    yield made
    made.close()


def deployed(cluster: FakeApi, tmp_path: Path) -> Deployed:
    return Deployed(Api.from_kubeconfig(cluster.kubeconfig(tmp_path / "k")), target())


@pytest.mark.parametrize(
    "holder", ["op-manager-new_1a2b", "another-operator-7d9_1", "", "op-managers-x_1"]
)
def test_lease_of_a_living_pod_or_of_others_is_not_waited_for(
    cluster: FakeApi, tmp_path: Path, holder: str
) -> None:
    hold(cluster, holder)
    assert wait_for_leader(deployed(cluster, tmp_path), within=60) < 2


def test_lease_of_a_pod_that_is_gone_is_waited_for_in_any_namespace(
    cluster: FakeApi, tmp_path: Path
) -> None:
    hold(cluster, "op-manager-old_1a2b")
    taken = threading.Timer(1.0, lambda: hold(cluster, "op-manager-new_3c4d"))
    taken.start()
    assert 0.9 < wait_for_leader(deployed(cluster, tmp_path), within=60) < 10


def test_lease_that_nobody_takes_over_is_given_up(
    cluster: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_SPARE_SECONDS", 0.2)
    hold(cluster, "op-manager-old_1a2b", seconds=1)
    assert 1.2 <= wait_for_leader(deployed(cluster, tmp_path), within=60) < 10


def test_leases_that_cannot_be_read_are_not_waited_for(cluster: FakeApi, tmp_path: Path) -> None:
    for path in (LEASES.path(), LEASES.path("ops")):
        cluster.answers["GET", path] = lambda: (403, {"kind": "Status", "message": "no"})
    assert wait_for_leader(deployed(cluster, tmp_path), within=60) < 2
