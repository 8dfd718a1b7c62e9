"""A start waits for the new leader, and never longer than a Lease can mean."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.kube import Api
from conformance.kube.resource import LEASES, PODS
from conformance.operator.pods import control
from conformance.operator.pods.control import wait_for_leader
from conformance.operator.pods.deployed import Deployed
from tests.kube.fake_api import FakeApi

from . import pods

TARGET = replace(pods.TARGET, deployment="op-manager")


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
    return Deployed(Api.from_kubeconfig(cluster.kubeconfig(tmp_path / "k")), TARGET)


def waited(cluster: FakeApi, tmp_path: Path) -> float:
    """Seconds."""
    began = time.monotonic()
    wait_for_leader(deployed(cluster, tmp_path), within=60)
    return time.monotonic() - began


@pytest.mark.parametrize(
    "holder", ["op-manager-new_1a2b", "another-operator-7d9_1", "", "op-managers-x_1"]
)
def test_lease_of_a_living_pod_or_of_others_is_not_waited_for(
    cluster: FakeApi, tmp_path: Path, holder: str
) -> None:
    hold(cluster, holder)
    assert waited(cluster, tmp_path) < 2


def test_lease_of_a_pod_that_is_gone_is_waited_for_in_any_namespace(
    cluster: FakeApi, tmp_path: Path
) -> None:
    hold(cluster, "op-manager-old_1a2b")
    taken = threading.Timer(1.0, lambda: hold(cluster, "op-manager-new_3c4d"))
    taken.start()
    assert 0.9 < waited(cluster, tmp_path) < 10


def test_lease_that_nobody_takes_over_is_given_up(
    cluster: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_SPARE_SECONDS", 0.2)
    hold(cluster, "op-manager-old_1a2b", seconds=1)
    assert 1.2 <= waited(cluster, tmp_path) < 10


def test_leases_that_cannot_be_read_are_not_waited_for(cluster: FakeApi, tmp_path: Path) -> None:
    for path in (LEASES.path(), LEASES.path("ops")):
        cluster.answers["GET", path] = lambda: (403, {"kind": "Status", "message": "no"})
    assert waited(cluster, tmp_path) < 2
