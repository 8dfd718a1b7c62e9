from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cluster.embedded import configuration, flags
from conformance.cluster.embedded.layout import Layout, Ports
from conformance.cluster.kind.config import (
    AUDIT,
    SCHEDULER_KUBECONFIG,
    SETTINGS,
    cluster_config,
    mirror_file,
)
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.nodes import NODE_SELECTOR, TOLERATION, on_real_node
from conformance.model.labels import REAL_NODE

VERSIONS = ("v1beta3", "v1beta4")


def config(options: KindOptions | None = None) -> dict[str, Any]:
    return cluster_config(options or KindOptions(), KindDirectory(Path("/here")))


def patch(kind: str, version: str, options: KindOptions | None = None) -> dict[str, Any]:
    patches = [yaml.safe_load(each) for each in config(options)["kubeadmConfigPatches"]]
    found = [
        each
        for each in patches
        if (each["kind"], each["apiVersion"]) == (kind, f"kubeadm.k8s.io/{version}")
    ]
    assert len(found) == 1
    result: dict[str, Any] = found[0]
    return result


def arguments(part: dict[str, Any], version: str) -> dict[str, str]:
    """The extra arguments of a part, whose form depends on the version."""
    given = part["extraArgs"]
    if version == "v1beta3":
        assert all(isinstance(value, str) for value in given.values())
        return dict(given)
    assert all(isinstance(each["value"], str) for each in given)
    return {each["name"]: each["value"] for each in given}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_audit_log_is_written_to_a_directory_of_this_machine(version: str) -> None:
    cluster = patch("ClusterConfiguration", version)
    given = arguments(cluster["apiServer"], version)
    mounted = {each["hostPath"]: each["mountPath"] for each in cluster["apiServer"]["extraVolumes"]}
    hosts = {each["containerPath"]: each for each in config()["nodes"][0]["extraMounts"]}
    assert given["audit-log-path"] == f"{AUDIT}/audit.jsonl"
    assert given["audit-policy-file"] == f"{SETTINGS}/audit-policy.yaml"
    assert given["audit-log-mode"] == "blocking"
    assert given["audit-log-maxsize"] == "0"
    assert mounted == {AUDIT: AUDIT, SETTINGS: SETTINGS}
    assert hosts[AUDIT]["hostPath"] == "/here/audit"
    assert "readOnly" not in hosts[AUDIT]
    assert hosts[SETTINGS] == {
        "hostPath": "/here/settings",
        "containerPath": SETTINGS,
        "readOnly": True,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_controllers_are_as_fast_as_on_the_embedded_control_plane(version: str) -> None:
    layout = Layout(directory=Path("/x"), logs=Path("/x"))
    embedded = flags.controller_manager(layout)
    manager = arguments(patch("ClusterConfiguration", version)["controllerManager"], version)
    same = [flag for flag in manager if f"--{flag}={manager[flag]}" in embedded]
    assert {"kube-api-qps", "concurrent-statefulset-syncs", "leader-elect"} <= set(same)
    changed = set(manager) - set(same)
    assert changed == {"controllers", "enable-hostpath-provisioner"}
    assert "-endpoints-controller" in manager["controllers"]


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_are_treated_as_on_the_embedded_control_plane(version: str) -> None:
    layout = Layout(directory=Path("/x"), logs=Path("/x"))
    ports = Ports(etcd=1, etcd_peer=2, apiserver=3, lws_webhook=4)
    embedded = flags.apiserver(layout, ports)
    server = arguments(patch("ClusterConfiguration", version)["apiServer"], version)
    differing = {flag for flag in server if f"--{flag}={server[flag]}" not in embedded}
    assert differing == {"audit-log-path", "audit-policy-file"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_second_scheduler_profile_takes_the_pods_of_volcano(version: str) -> None:
    part = patch("ClusterConfiguration", version)["scheduler"]
    scheduler = configuration.scheduler(SCHEDULER_KUBECONFIG)
    names = [profile["schedulerName"] for profile in scheduler["profiles"]]
    assert names == ["default-scheduler", "volcano"]
    assert scheduler["clientConnection"]["kubeconfig"] == "/etc/kubernetes/scheduler.conf"
    assert arguments(part, version)["config"] == f"{SETTINGS}/scheduler.yaml"
    assert part["extraVolumes"][0]["hostPath"] == SETTINGS


@pytest.mark.parametrize("version", VERSIONS)
def test_the_real_node_is_tainted_and_kind_finds_the_taint_that_it_removes(version: str) -> None:
    taints = patch("InitConfiguration", version)["nodeRegistration"]["taints"]
    assert {taint["key"] for taint in taints} == {
        REAL_NODE,
        "node-role.kubernetes.io/control-plane",
    }
    assert config()["nodes"][0]["labels"] == {REAL_NODE: "true"}


@pytest.mark.parametrize("version", VERSIONS)
def test_feature_gates_reach_every_part(version: str) -> None:
    options = KindOptions(feature_gates={"A": True, "B": False})
    cluster = patch("ClusterConfiguration", version, options)
    for part in ("apiServer", "controllerManager", "scheduler"):
        assert arguments(cluster[part], version)["feature-gates"] == "A=true,B=false"
    assert config(options)["featureGates"] == {"A": True, "B": False}


def test_mirrors_are_mounted_for_containerd() -> None:
    options = KindOptions(mirrors={"docker.io": "https://m:5000"})
    mounts = config(options)["nodes"][0]["extraMounts"]
    assert mounts[-1]["hostPath"] == "/here/mirrors"
    assert mounts[-1]["containerPath"] == "/etc/containerd/certs.d"
    assert mirror_file("docker.io", "https://m:5000").splitlines() == [
        'server = "https://registry-1.docker.io"',
        "",
        '[host."https://m:5000"]',
        '  capabilities = ["pull", "resolve"]',
    ]


def test_a_pod_of_the_real_node_keeps_what_it_asked_for() -> None:
    before = {
        "tolerations": [{"key": "other", "operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [],
    }
    after = on_real_node(on_real_node(before))
    assert after["tolerations"] == [{"key": "other", "operator": "Exists"}, dict(TOLERATION)]
    assert after["nodeSelector"] == {"kubernetes.io/os": "linux", **NODE_SELECTOR}
    assert before["tolerations"] == [{"key": "other", "operator": "Exists"}]
