import copy
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
import urllib3
from reference_fakes import MULTI, component, graph_spec

from reference.faults import Faults, Policy
from reference.objects import Object
from reference.webhooks import Admission, WebhookServer

GRAPHS = "/validate/nvidia.com/v1beta1/dynamographdeployments"


def request(old: Object | None, new: Object, **fields: object) -> Object:
    kind = "DynamoGraphDeployment" if "components" in new["spec"] else "DynamoComponentDeployment"
    objects = {"object": new} if old is None else {"object": new, "oldObject": old}
    for obj in objects.values():
        obj |= {"apiVersion": "nvidia.com/v1beta1", "kind": kind}
    return {"uid": "1", "namespace": "ns", "name": "g", **objects, **fields}


def graph(*components: Object, **metadata: object) -> Object:
    return {"metadata": {"name": "g", **metadata}, "spec": graph_spec(*components)}


def review(policy: Policy, asked: Object) -> Object:
    return Admission(policy, Faults(), lambda obj: None).review(asked)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_toggle_is_refused_in_both_versions_with_its_path(version: str) -> None:
    asked = request(
        graph(component()), graph(component(multinode=MULTI)), requestKind={"version": version}
    )
    response = review(Policy.REFUSE, asked)
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    path = {
        "v1alpha1": "spec.services[Worker].multinode",
        "v1beta1": "spec.components[0].multinode",
    }
    assert response["status"]["message"].startswith(path[version])
    assert review(Policy.RECONCILE, asked)["allowed"] is True


def test_legal_change_beside_an_illegal_one_is_refused_and_all_errors_are_told() -> None:
    old = graph(component("A"), component("B"))
    new = graph(component("A", multinode=MULTI, replicas=2), component("B", multinode=MULTI))
    message = review(Policy.REFUSE, request(old, new))["status"]["message"]
    assert "spec.components[0].multinode" in message
    assert "spec.components[1].multinode" in message


def test_component_toggle_is_refused() -> None:
    old = {"metadata": {"name": "c"}, "spec": component()}
    new = {"metadata": {"name": "c"}, "spec": component(multinode=MULTI)}
    response = review(Policy.REFUSE, request(old, new))
    assert response["status"]["message"].startswith("spec.multinode: ")


def test_terminating_object_and_unchanged_spec_are_never_held_up() -> None:
    bad = graph(component(type_="frontend", multinode=MULTI))
    going = {**copy.deepcopy(bad), "metadata": {"name": "g", "deletionTimestamp": "now"}}
    assert review(Policy.REFUSE, request(graph(component()), going))["allowed"] is True
    annotated = {**copy.deepcopy(bad), "metadata": {"name": "g", "annotations": {"a": "b"}}}
    assert review(Policy.REFUSE, request(bad, annotated))["allowed"] is True


def test_old_problem_is_tolerated_but_a_new_one_is_not() -> None:
    bad = component("F", type_="frontend", multinode=MULTI)
    scaled = {**copy.deepcopy(bad), "replicas": 2}
    assert review(Policy.RECONCILE, request(graph(bad), graph(scaled)))["allowed"] is True
    assert review(Policy.RECONCILE, request(None, graph(scaled)))["allowed"] is False


@pytest.fixture
def post(tmp_path: Path) -> Iterator[object]:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(tmp_path / "tls.key")
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(tmp_path / "tls.crt", append=True)
    server = WebhookServer(0, tmp_path, Admission(Policy.REFUSE, Faults(), lambda obj: None))
    server.start()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    pool = urllib3.HTTPSConnectionPool(
        "localhost", server.server_address[1], ssl_context=context, retries=False
    )

    def send(path: str, body: object) -> tuple[int, Object]:
        data = json.dumps(body).encode()
        response = pool.request("POST", path, body=data, timeout=5.0)
        return response.status, json.loads(response.data)

    yield send
    # One connection served all requests: the API server keeps its own in the same way.
    assert pool.num_connections == 1
    server.shutdown()
    server.server_close()


def test_server_reviews_converts_and_survives_nonsense(post) -> None:  # type: ignore[no-untyped-def]
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    asked = request(graph(component()), graph(component(multinode=MULTI)))
    code, answer = post(f"{GRAPHS}?timeout=10s", {**head, "request": asked})
    assert (code, answer["kind"]) == (200, "AdmissionReview")
    assert answer["response"]["uid"] == "1"
    assert answer["response"]["allowed"] is False

    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    beta = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment"}
    wanted = {"uid": "2", "desiredAPIVersion": "nvidia.com/v1alpha1"}
    objects = [{**beta, **graph(component())}]
    code, answer = post("/convert", {**head, "request": {**wanted, "objects": objects}})
    assert answer["response"]["result"]["status"] == "Success"
    (converted,) = answer["response"]["convertedObjects"]
    assert converted["spec"]["services"]["Worker"]["componentType"] == "worker"

    objects = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}]
    code, answer = post("/convert", {**head, "request": {**wanted, "objects": objects}})
    assert answer["response"]["result"]["status"] == "Failure"
    assert "Pod" in answer["response"]["result"]["message"]

    assert post("/nowhere", {**head, "request": wanted})[0] == 404
    assert post(GRAPHS, ["nonsense"])[0] == 400
