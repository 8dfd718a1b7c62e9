"""Installation, ends, starts and removal on a real control plane; the pods are simulated."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kubeconfig import leftovers
from conformance.cluster.nodes import RealNodes
from conformance.history.records import OperatorEventKind
from conformance.kube import Api
from conformance.model.bounds import Bounds
from conformance.model.errors import UsageError
from conformance.model.labels import ENDED, of_run
from conformance.operator import profiles
from conformance.operator.install import install
from conformance.operator.installed import InstalledOperator, StartError
from conformance.operator.operator_options import OperatorOptions
from conformance.operator.pods.control import PodControl, attach
from conformance.operator.resources import DEPLOYMENTS
from tests.cluster.clusters import eventually

from .conftest import BOUNDS, Install
from .pods import FakePodCluster, write, write_operator

STARTED, READY = OperatorEventKind.STARTED, OperatorEventKind.READY
LABELS = of_run("1")


@pytest.fixture(scope="module")
def operator(
    cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[InstalledOperator]:
    """One that the tests of its life share, in a namespace of its own. Each leaves it running."""
    folder = tmp_path_factory.mktemp("shared")
    profile = profiles.load(write_operator(folder, namespace="shared"))
    with install(
        FakePodCluster(cluster, run="1"), profile, bounds=BOUNDS, logs=folder / "logs"
    ) as installed:
        yield installed


@pytest.fixture
def control(operator: InstalledOperator) -> PodControl:
    assert isinstance(operator.control, PodControl)
    return operator.control


def new_events(operator: InstalledOperator, *wanted: OperatorEventKind) -> Callable[[], bool]:
    """True once these, and no others, have come since this call."""
    eventually(lambda: operator.events[-1:] and operator.events[-1].kind is READY)
    before = len(operator.events)
    return lambda: tuple(event.kind for event in operator.events[before:]) == wanted


def test_installed_operator_is_ready_guarded_probed_and_known_by_its_account(
    operator: InstalledOperator, control: PodControl, api: Api
) -> None:
    assert control.alive()
    assert operator.users == ["system:serviceaccount:shared:op-account"]
    assert operator.served["dynamographdeployments"] == ["v1alpha1"]
    assert all(probe.found for probe in operator.probes if probe.declared)
    assert list(operator.seconds) == ["installed", "ready", "kinds served", "probed"]
    role = api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/op-role")
    assert role.get("rules") in (None, [])
    assert role["metadata"]["labels"] == LABELS
    eventually(lambda: [event.kind for event in operator.events] == [STARTED, READY])


def test_stop_keeps_it_away_until_it_is_started(
    operator: InstalledOperator, control: PodControl
) -> None:
    came = new_events(operator, OperatorEventKind.STOPPED, STARTED, READY)
    control.stop()
    assert not control.alive()
    time.sleep(0.5)
    assert not control.deployed.pods()
    control.start()
    assert control.alive()
    eventually(came)


def test_another_process_kills_and_starts_it_from_plain_data(
    operator: InstalledOperator, control: PodControl, cluster: EmbeddedCluster
) -> None:
    came = new_events(operator, OperatorEventKind.KILLED, STARTED, READY)
    other = attach(
        json.loads(json.dumps(operator.attachable)), cluster.kubeconfig, operator.loaded.profile
    )
    before = {pod.uid for pod in control.deployed.pods()}
    other.kill()
    assert not control.alive()
    other.start()
    after = {pod.uid for pod in control.deployed.pods()}
    assert len(after) == 1
    assert not before & after
    eventually(came)


def test_pod_that_others_delete_is_an_exit(
    operator: InstalledOperator, control: PodControl
) -> None:
    came = new_events(operator, OperatorEventKind.EXITED, STARTED, READY)
    control.deployed.delete_pod(control.deployed.pods()[0], grace=0)
    eventually(came)
    assert "was deleted, and not by the suite" in operator.events[-3].text


def test_operator_of_others_is_adopted_and_left_alone(
    operator: InstalledOperator, control: PodControl, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    # The note of an end by an earlier test would be taken away.
    control.forget_ends()
    before = control.deployed.deployment()
    assert before is not None
    adopted = install(
        FakePodCluster(cluster, throw_away=False, operator_installed=True),
        operator.loaded,
        bounds=BOUNDS,
        logs=tmp_path / "more",
    )
    assert adopted.users == operator.users
    adopted.close()
    after = control.deployed.deployment()
    assert after is not None
    assert after.generation == before.generation


def test_an_end_is_noted_with_what_to_start_until_the_run_is_over(
    operator: InstalledOperator,
    control: PodControl,
    cluster: EmbeddedCluster,
    api: Api,
    tmp_path: Path,
) -> None:
    adopted = install(
        FakePodCluster(cluster, throw_away=False, operator_installed=True),
        operator.loaded,
        bounds=BOUNDS,
        logs=tmp_path / "ended",
    )

    def stopped() -> bool:
        # As `cleanup` finds it after a run that was killed now.
        return [(row.name, row.replicas) for row in leftovers.stopped_operators(api)] == [("op", 1)]

    assert not stopped()
    adopted.control.stop()
    assert stopped()
    adopted.control.start()
    assert not stopped()
    adopted.close()
    deployment = control.deployed.deployment()
    assert deployment is not None
    assert ENDED not in deployment.annotations


def test_image_faults_and_nodes_reach_the_pods(
    install_only: Install, pods: FakePodCluster, api: Api, tmp_path: Path
) -> None:
    options = OperatorOptions(image="registry.example/mine/op:2", faults=("x",))
    nodes = RealNodes(simulated=("type", "nothing"))
    install_only(write_operator(tmp_path, namespace="changed"), options=options, real_nodes=nodes)
    stored = api.read(DEPLOYMENTS, "op", "changed")
    assert stored is not None
    spec = stored["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == "registry.example/mine/op:2"
    assert spec["containers"][0]["args"] == ["--a", "--fault=x"]
    assert spec["tolerations"][0]["key"] == nodes.taint


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
def test_kustomization_is_rendered(install_only: Install, api: Api, tmp_path: Path) -> None:
    profile = write_operator(
        tmp_path, namespace="rendered", kind="kustomize", manifests=["overlay"]
    )
    write(
        tmp_path / "overlay" / "kustomization.yaml",
        {"resources": ["../op"], "namePrefix": "", "commonAnnotations": {"by": "overlay"}},
    )
    write(tmp_path / "op" / "kustomization.yaml", {"resources": ["op.yaml"]})
    install_only(profile)
    stored = api.read(DEPLOYMENTS, "op", "rendered")
    assert stored is not None
    assert stored["metadata"]["annotations"]["by"] == "overlay"


def test_reason_of_a_pod_that_finds_no_node_is_told(install_only: Install, tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        install_only(
            write_operator(tmp_path, namespace="nowhere"),
            bounds=Bounds(install=3.0),
            real_nodes=RealNodes(),
        )
    sentence = str(caught.value)
    assert "the operator tried was not ready 3 s after its start: its pod op-" in sentence
    assert "is Pending (Unschedulable: 0/4 nodes are available" in sentence


def test_reason_of_pods_that_cannot_be_made_is_told(install_only: Install, tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "full"},
        "spec": {"hard": {"pods": "0"}},
    }
    profile = write_operator(tmp_path, namespace="full", prerequisites=["quota.yaml"])
    write(tmp_path / "quota.yaml", quota)
    with pytest.raises(
        StartError, match=r"its pods cannot be made \(FailedCreate: .*exceeded quota"
    ):
        install_only(profile, bounds=Bounds(install=4.0))


def test_operator_that_is_not_there_cannot_be_adopted(pods: FakePodCluster, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no Deployment op in namespace ops"):
        install(
            replace(pods, operator_installed=True),
            profiles.load(write_operator(tmp_path)),
            bounds=BOUNDS,
            logs=tmp_path / "logs",
        )
