"""The real control plane: what it runs, and who is named for what it wrote."""

import http.server
import json
import os
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.programs.prepare import Programs
from conformance.cluster.provider import ClusterRequest, choose
from conformance.kube import Api
from conformance.model.errors import InfraError, UsageError
from tests.cluster.clusters import (
    DEFAULT,
    all_ready,
    create,
    deploy,
    eventually,
    pod,
    pods,
    template,
)

pytestmark = pytest.mark.xdist_group("cluster")

LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"


def writers(cluster: EmbeddedCluster, verb: str, resource: str, name: str) -> set[str]:
    """Users that wrote an object whose name begins like this."""
    found = set()
    for line in cluster.audit_log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        target = event["objectRef"]
        # A generated name is not in the request, but it begins like its owner's.
        about = target.get("name", name).startswith(name)
        if event["verb"] == verb and target["resource"] == resource and about:
            found.add(event["user"]["username"])
    return found


def test_a_deployment_gets_ready_pods_and_the_audit_log_names_who_wrote(
    cluster: EmbeddedCluster, api: Api
) -> None:
    deploy(api, "web", replicas=2)
    eventually(lambda: all_ready(api, "app=web", 2))
    assert {each["spec"]["nodeName"] for each in pods(api, "app=web")} <= {
        f"node-{index}" for index in range(4)
    }
    assert writers(cluster, "create", "deployments", "web") == {"dgd-conformance"}
    system = "system:serviceaccount:kube-system"
    assert writers(cluster, "create", "replicasets", "web") == {f"{system}:deployment-controller"}
    assert f"{system}:replicaset-controller" in writers(cluster, "create", "pods", "web-")
    assert "kwok" in writers(cluster, "patch", "pods", "web-")


def test_the_audit_log_has_no_bodies_no_reads_and_no_heartbeats_of_nodes(
    cluster: EmbeddedCluster, api: Api
) -> None:
    secret = {"metadata": {"name": "secret"}, "stringData": {"password": "hunter2"}}
    create(api, f"{DEFAULT}/secrets", {"apiVersion": "v1", "kind": "Secret", **secret})
    text = cluster.audit_log.read_text(encoding="utf-8")
    assert "hunter2" not in text
    events = [json.loads(line) for line in text.splitlines()]
    assert any(event["objectRef"]["resource"] == "secrets" for event in events)
    assert {event["level"] for event in events} == {"Metadata"}
    assert {event["stage"] for event in events} == {"ResponseComplete"}
    assert {event["verb"] for event in events} <= {
        "create", "update", "patch", "delete", "deletecollection",
    }  # fmt: skip
    leases = [e["objectRef"] for e in events if e["objectRef"]["resource"] == "leases"]
    assert leases, "leaders renew theirs, and an operator's own are told by nothing else"
    assert not any(lease["namespace"] == "kube-node-lease" for lease in leases)


def test_a_leaderworkerset_of_two_gets_ready_pods_on_the_volcano_profile(
    cluster: EmbeddedCluster, api: Api
) -> None:
    worker = template(gpus=1)
    worker["spec"]["schedulerName"] = "volcano"
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": worker}}
    manifest = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    create(api, LWS, {**manifest, "metadata": {"name": "multi"}, "spec": spec})
    label = "leaderworkerset.sigs.k8s.io/name=multi"
    eventually(lambda: all_ready(api, label, 2))
    assert writers(cluster, "create", "services", "multi") == {"lws-controller-manager"}
    # Its webhook defaulted what was left out.
    assert api.get(f"{LWS}/multi")["spec"]["startupPolicy"] == "LeaderCreated"
    api.request("DELETE", f"{LWS}/multi")
    eventually(lambda: not pods(api, label))


def test_an_illegal_leaderworkerset_is_refused_by_its_webhook(api: Api) -> None:
    group = {"size": 2, "workerTemplate": template(), "subGroupPolicy": {"subGroupSize": 3}}
    spec = {"replicas": 1, "leaderWorkerTemplate": group}
    manifest = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    answer = api.request("POST", LWS, {**manifest, "metadata": {"name": "bad"}, "spec": spec})
    assert answer.code == 403
    assert "vleaderworkerset.kb.io" in answer.message


def test_gpus_are_counted(api: Api) -> None:
    create(api, f"{DEFAULT}/pods", pod("greedy", gpus=129))

    def unschedulable() -> bool:
        conditions = pods(api, "app=greedy")[0]["status"].get("conditions", [])
        return any("Insufficient nvidia.com/gpu" in each.get("message", "") for each in conditions)

    eventually(unschedulable)


def test_annotations_hold_fail_and_delay_a_pod(api: Api) -> None:
    create(api, f"{DEFAULT}/pods", pod("held", annotations={"conformance.dgd.dev/hold": "true"}))
    create(api, f"{DEFAULT}/pods", pod("failing", annotations={"conformance.dgd.dev/fail": "true"}))
    create(
        api, f"{DEFAULT}/pods", pod("late", annotations={"conformance.dgd.dev/ready-after": "3s"})
    )
    create(api, f"{DEFAULT}/pods", pod("plain"))
    eventually(lambda: all_ready(api, "app=plain", 1))
    eventually(lambda: pods(api, "app=failing")[0]["status"]["phase"] == "Failed")
    assert not all_ready(api, "app=late", 1)
    assert not all_ready(api, "app=held", 1)
    eventually(lambda: all_ready(api, "app=late", 1))
    hold(api, "held", None)
    eventually(lambda: all_ready(api, "app=held", 1))
    hold(api, "held", "true")
    eventually(lambda: not all_ready(api, "app=held", 1))


def hold(api: Api, name: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {"conformance.dgd.dev/hold": value}}}
    answer = api.request("PATCH", f"{DEFAULT}/pods/{name}", patch, "application/merge-patch+json")
    assert answer.ok


def crd(name: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": name.capitalize(), "plural": f"{name}s", "singular": name}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.example.com"},
        "spec": spec,
    }


def test_children_of_a_new_kind_are_collected_once_the_kinds_are_told(
    cluster: EmbeddedCluster, api: Api
) -> None:
    create(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("parent"))
    path = "/apis/example.com/v1/namespaces/default/parents"
    eventually(lambda: api.request("GET", path).ok)
    cluster.kinds_changed()
    parent = create(
        api, path, {"apiVersion": "example.com/v1", "kind": "Parent", "metadata": {"name": "p"}}
    )
    owner = {
        "apiVersion": "example.com/v1", "kind": "Parent", "name": "p",
        "uid": parent["metadata"]["uid"],
    }  # fmt: skip
    child = {"metadata": {"name": "child", "ownerReferences": [owner]}}
    create(api, f"{DEFAULT}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", **child})
    time.sleep(1)
    api.request("DELETE", f"{path}/p")
    # Well below the 30 s after which the garbage collector would have found out by itself.
    eventually(lambda: api.request("GET", f"{DEFAULT}/configmaps/child").code == 404, within=12)


class Refusing(http.server.BaseHTTPRequestHandler):
    """A validating webhook that says no."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        uid = json.loads(self.rfile.read(length))["request"]["uid"]
        verdict = {"uid": uid, "allowed": False, "status": {"message": "spec.x is not allowed"}}
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": verdict,
        }
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_service_reference_reaches_a_webhook_on_loopback(
    cluster: EmbeddedCluster, api: Api, tmp_path: Path
) -> None:
    folder = cluster.serving_certificate(["hook.default.svc"], tmp_path / "certificates")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    service = {"type": "ExternalName", "externalName": "localhost"}
    create(
        api,
        f"{DEFAULT}/services",
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": service},
    )
    reference = {"name": "hook", "namespace": "default", "port": server.server_port, "path": "/"}
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["limitranges"],
    }  # fmt: skip
    webhook = {
        "name": "hook.example.com",
        "clientConfig": {"service": reference, "caBundle": cluster.ca_bundle},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hook"},
        "webhooks": [webhook],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    create(api, path, configuration)
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"generateName": "x-"}}
    try:
        answer = eventually(
            lambda: (
                (reply := api.request("POST", f"{DEFAULT}/limitranges", body)).code != 201 and reply
            )
        )
    finally:
        api.request("DELETE", f"{path}/hook")
        server.shutdown()
        server.server_close()
    assert "spec.x is not allowed" in answer.message


OPERATOR = """
import os, sys
from conformance.kube import Api
print(open("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read(), flush=True)
with Api.from_kubeconfig(sys.argv[1]) as api:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": sys.argv[2]}}
    print(api.request("POST", "/api/v1/namespaces/default/configmaps", body).code, flush=True)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="private files need root")
def test_a_spawned_operator_has_its_own_name_files_and_log(cluster: EmbeddedCluster) -> None:
    kubeconfig = cluster.kubeconfig_for("dgd-operator")
    argv = [sys.executable, "-c", OPERATOR, str(kubeconfig)]
    files = {"/var/run/secrets/kubernetes.io/serviceaccount/namespace": b"dynamo-system"}
    root = Path(__file__).parents[2]
    first = cluster.spawn("operator", [*argv, "one"], files=files, cwd=root)
    assert first.wait(20) == 0
    assert first.log.read_text(encoding="utf-8").split() == ["dynamo-system", "403"]
    assert first.log.name == "operator.log"
    cluster.bind_cluster_admin("dgd-operator")
    second = cluster.spawn("operator-2", [*argv, "two"], files=files, cwd=root)
    assert second.wait(20) == 0
    assert second.log.read_text(encoding="utf-8").split() == ["dynamo-system", "201"]
    assert writers(cluster, "create", "configmaps", "two") == {"dgd-operator"}


@pytest.mark.parametrize("name", ["", "a/b", "kube-apiserver"])
def test_a_process_needs_a_name_of_its_own(cluster: EmbeddedCluster, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be named"):
        cluster.spawn(name, ["true"])


@pytest.mark.parametrize("identity", ["", "../x", "kube-scheduler"])
def test_an_identity_is_not_the_control_planes_own(cluster: EmbeddedCluster, identity: str) -> None:
    with pytest.raises(UsageError, match="identity"):
        cluster.kubeconfig_for(identity)


def test_a_request_without_options_is_for_the_embedded_cluster() -> None:
    assert isinstance(choose(ClusterRequest()), EmbeddedCluster)


def test_a_cluster_needs_a_node_and_a_start(programs: Programs) -> None:
    with pytest.raises(UsageError, match="at least 1 node, found 0"):
        EmbeddedCluster(programs=programs, nodes=0)
    with pytest.raises(InfraError, match="is not started"):
        _ = EmbeddedCluster(programs=programs).kubeconfig
    EmbeddedCluster(programs=programs).stop()
