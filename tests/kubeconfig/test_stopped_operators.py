"""Operators that a killed run left stopped, or left at all."""

from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kubeconfig import (
    KubeconfigCluster,
    cleanup_command,
    leftovers,
    removal,
)
from conformance.cluster.nodes import RealNodes
from conformance.kube import Api, apply_manifests, raise_for
from conformance.model.errors import UsageError
from conformance.model.labels import ENDED, REAL_NODE, of_run
from conformance.operator import profiles
from tests.kubeconfig.users import arguments

pytestmark = pytest.mark.xdist_group("cluster")

Raw = dict[str, Any]


def deployment(admin: Api, name: str, *, replicas: int, note: str) -> None:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "m", "image": "m"}]},
    }
    apply_manifests(
        admin,
        [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "annotations": {ENDED: note} if note else {},
                },
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template,
                },
            }
        ],
    )


def test_an_operator_that_a_killed_run_had_stopped_is_told_and_started_again(
    admin: Api, powerful: Raw, options: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    given = options(powerful, i_own=True)
    reference = profiles.load("reference").profile
    assert reference.in_cluster is not None
    pods = {"namespace": "default", "deployment": "theirs"}
    ours = reference.in_cluster.model_copy(update=pods)
    profile = reference.model_copy(update={"in_cluster": ours})

    def check() -> None:
        own = KubeconfigCluster(given, profile=profile)
        own.check()
        own.stop()

    def wanted(name: str) -> int:
        stored = admin.get(f"/apis/apps/v1/namespaces/default/deployments/{name}")
        return int(stored["spec"]["replicas"])

    deployment(admin, "theirs", replicas=0, note="kill 1796054400.000 3")
    deployment(admin, "by-hand", replicas=0, note="")
    deployment(admin, "was-ended", replicas=1, note="stop 1796054400.000 1")
    try:
        with pytest.raises(
            UsageError, match=r"a run that was killed had scaled its Deployment theirs"
        ):
            check()
        with KubeconfigCluster(given):
            # By that one, perhaps, and for an instant.
            check()
            assert cleanup_command.run(arguments(given.kubeconfig, yes=True)) == 0
        assert wanted("theirs") == 0
        assert cleanup_command.run(arguments(given.kubeconfig, **{"dry-run": True})) == 0
        told = capsys.readouterr().out
        assert "would start again: Deployment theirs in namespace default" in told
        assert "a killed run scaled it to 0, from 3" in told
        assert "by-hand" not in told
        assert "was-ended" not in told
        assert wanted("theirs") == 0
        assert cleanup_command.run(arguments(given.kubeconfig, yes=True)) == 0
        assert "started again: Deployment theirs" in capsys.readouterr().out
        assert (wanted("theirs"), wanted("by-hand"), wanted("was-ended")) == (3, 0, 1)
        check()
        assert cleanup_command.run(arguments(given.kubeconfig, yes=True)) == 0
        assert "nothing is left" in capsys.readouterr().out
    finally:
        for name in ("theirs", "by-hand", "was-ended"):
            admin.delete(admin.resource_for("Deployment"), name, "default")


def test_an_operator_that_a_killed_run_left_is_not_taken_over(
    admin: Api, powerful: Raw, options: Any
) -> None:
    """Seen: the pod kept the certificate of the killed run, and the new one waited for it in vain."""
    reference = profiles.load("reference").profile
    assert reference.in_cluster is not None
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    meta = {"name": "of-a-killed-run", "labels": of_run("killed")}
    apply_manifests(admin, [{**role, "metadata": meta}])
    installing = options(powerful, i_own=True, install_operator=True)
    try:
        own = KubeconfigCluster(installing, profile=reference)
        with pytest.raises(UsageError, match=r"left its operator .*ClusterRole of-a-killed-run"):
            own.check()
        own.stop()
        # Who installs nothing takes nothing over.
        own = KubeconfigCluster(options(powerful, i_own=True), profile=reference)
        own.check()
        own.stop()
    finally:
        assert removal.remove(admin, leftovers.find(admin, run="killed")).stuck == []
    own = KubeconfigCluster(options(powerful, i_own=True, install_operator=True), profile=reference)
    own.check()
    assert own.real_nodes is None
    own.stop()


def test_a_kind_cluster_of_the_suites_own_that_was_kept_is_known_by_its_nodes(
    admin: Api, powerful: Raw, options: Any
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}}
    node["metadata"] |= {"labels": {REAL_NODE: "true"}}
    raise_for(admin.create(admin.resource_for("Node"), node))
    try:
        own = KubeconfigCluster(options(powerful, i_own=True))
        own.check()
        assert own.real_nodes == RealNodes()
        own.stop()
    finally:
        admin.delete(admin.resource_for("Node"), "real")


def test_who_may_not_start_an_operator_is_told(admin: Api, cluster: EmbeddedCluster) -> None:
    deployment(admin, "forbidden", replicas=0, note="stop 1796054400.000 1")
    with Api.from_kubeconfig(cluster.kubeconfig_for("nobody-at-all")) as nobody:
        assert leftovers.stopped_operators(nobody) == []
        (row,) = leftovers.stopped_operators(admin)
        assert "403" in leftovers.start(nobody, row)
    admin.delete(admin.resource_for("Deployment"), "forbidden", "default")
