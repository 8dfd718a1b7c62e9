import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.kube import Api, PatchType, Resource, apply_manifests, raise_for, served_by
from conformance.kube.api import render_table
from conformance.kube.resource import version_priority
from conformance.kube.watch import (
    NotServedError,
    WatchExpiredError,
    WatchSilentError,
    watch_events,
)
from conformance.model.errors import InfraError, UsageError
from tests.kube.fake_api import (
    CRD,
    DEPLOYMENT,
    EVENT,
    NAMESPACE,
    NEW_EVENT,
    POD,
    FakeApi,
    write_kubeconfig,
)


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD, DEPLOYMENT, EVENT, NEW_EVENT, NAMESPACE, CRD)
    yield server
    server.close()


@pytest.fixture
def api(fake: FakeApi, tmp_path: Path) -> Api:
    return fake.api(tmp_path)


def refusal() -> tuple[int, dict[str, Any]]:
    body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "spec.replicas: no"}
    return 422, body


def test_a_refusal_is_an_answer_and_no_exception(fake: FakeApi, api: Api) -> None:
    fake.answers["PATCH", "/apis/apps/v1/namespaces/ns/deployments/a"] = refusal
    answer = api.patch(DEPLOYMENT, "a", {"spec": {}}, "ns")
    assert (answer.code, answer.ok, answer.body["reason"]) == (422, False, "Invalid")
    assert answer.message == "spec.replicas: no"


def test_raise_for_says_what_was_refused_and_why(fake: FakeApi, api: Api) -> None:
    fake.answers["POST", "/apis/apps/v1/namespaces/ns/deployments"] = refusal
    answer = api.create(DEPLOYMENT, {"metadata": {"name": "a", "namespace": "ns"}})
    with pytest.raises(InfraError, match=r"creating a was answered 422: spec\.replicas: no"):
        raise_for(answer, "creating a")


def test_each_kind_of_patch_says_its_content_type(fake: FakeApi, api: Api) -> None:
    api.patch(DEPLOYMENT, "a", {}, "ns")
    api.request("PATCH", DEPLOYMENT.path("ns", "a"), [], PatchType.JSON)
    fake.answers["PATCH", DEPLOYMENT.path("ns", "a")] = lambda: (200, {})
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    apply_manifests(api, [{**head, "metadata": {"name": "a", "namespace": "ns"}}])
    patches = [request for request in fake.requests if request[0] == "PATCH"]
    assert [headers["Content-Type"] for _, _, headers, _ in patches] == [
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
    ]
    assert "fieldManager=dgd-conformance&force=true" in patches[2][1]


def test_requests_carry_the_suites_identity(fake: FakeApi, api: Api) -> None:
    api.list(POD.path())
    headers = fake.requests[-1][2]
    assert headers["User-Agent"] == "dgd-conformance"
    assert headers["authorization"] == "Bearer fake-token"


def test_a_delete_may_name_the_uid_it_means(fake: FakeApi, api: Api) -> None:
    api.delete(POD, "a", "ns", propagation="Foreground", uid="u1")
    body = fake.requests[-1][3]
    assert body["propagationPolicy"] == "Foreground"
    assert body["preconditions"] == {"uid": "u1"}


def test_a_list_gives_the_revision_and_names_the_kind_of_each_item(fake: FakeApi, api: Api) -> None:
    stored = fake.put(POD, "a", "ns")
    del stored["kind"], stored["apiVersion"]
    fake.put(POD, "b", "other")
    items, revision = api.list(POD.path("ns"))
    assert [(item["kind"], item["metadata"]["name"]) for item in items] == [("Pod", "a")]
    assert revision == fake.revision


def test_reading_what_is_not_there_gives_none_and_get_raises(api: Api) -> None:
    nothing = Resource("", "v1", "nothings", "Nothing", True)
    assert api.read(nothing, "a", "ns") is None
    with pytest.raises(InfraError, match="was answered 404"):
        api.get(nothing.path("ns", "a"))


def test_no_server_is_one_sentence(fake: FakeApi, api: Api) -> None:
    fake.close()
    with pytest.raises(InfraError, match="gave no answer to GET /api/v1/pods") as caught:
        api.list(POD.path())
    assert "\n" not in str(caught.value)


def test_a_request_that_gets_no_answer_ends_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        api = Api.from_kubeconfig(write_kubeconfig(tmp_path / "deaf", url))
        started = time.monotonic()
        with pytest.raises(InfraError, match="gave no answer"):
            api.request("GET", "/api", timeout=0.2)
        assert time.monotonic() - started < 2


def test_a_throttled_request_is_sent_again(fake: FakeApi, api: Api) -> None:
    answers: list[tuple[int, dict[str, Any]]] = [
        (429, {"kind": "Status", "message": "slow down"}),
        (200, {"kind": "PodList", "items": []}),
    ]
    fake.answers["GET", "/api/v1/pods"] = lambda: answers.pop(0)
    assert api.list(POD.path()) == ([], 0)
    assert answers == []


def test_discovery_takes_preferred_versions_and_events_once(fake: FakeApi, api: Api) -> None:
    beta = Resource("nvidia.com", "v1beta1", "graphs", "Graph", True)
    alpha = Resource("nvidia.com", "v1alpha1", "graphs", "Graph", True)
    old = Resource("nvidia.com", "v1alpha1", "olds", "Old", True)
    for resource in (beta, alpha, old):
        fake.serve(resource)
    found = api.discover()
    assert [r for r in found if r.group == "nvidia.com"] == [beta, old]
    assert [r for r in found if r.kind == "Event"] == [EVENT]
    assert api.resource_for("Graph") == beta
    assert api.resource_for("Graph", version="v1alpha1") == alpha


def test_an_api_server_without_aggregated_discovery_is_asked_group_by_group(
    fake: FakeApi, api: Api
) -> None:
    fake.aggregated = False
    fake.serve(Resource("nvidia.com", "v1alpha1", "graphs", "Graph", True))
    beta = fake.serve(Resource("nvidia.com", "v1beta1", "graphs", "Graph", True)).resource
    found = api.discover()
    assert POD in found
    assert DEPLOYMENT in found
    assert [r for r in found if r.group == "nvidia.com"] == [beta]
    assert not [r for r in found if "/" in r.plural]


def test_a_kind_that_discovery_does_not_show_yet_is_learnt_from_its_crd(
    fake: FakeApi, api: Api
) -> None:
    fake.put(CRD, "graphs.nvidia.com", spec=crd_spec(), status=established())
    assert api.resource_for("Graph") == Resource("nvidia.com", "v1beta1", "graphs", "Graph", True)
    assert api.resource_for("Graph", version="v1alpha1").version == "v1alpha1"
    with pytest.raises(InfraError, match="Graph is not served in version v7"):
        api.resource_for("Graph", version="v7")


def test_a_crd_serves_nothing_before_it_is_established_or_once_it_is_deleted() -> None:
    crd = {"metadata": {}, "spec": crd_spec(), "status": established()}
    assert served_by(crd) is not None
    assert served_by({**crd, "status": {}}) is None
    assert served_by({**crd, "metadata": {"deletionTimestamp": "now"}}) is None


def test_versions_are_preferred_as_kubernetes_does() -> None:
    versions = ["v1beta1", "foo1", "v2", "v1alpha2", "v11beta2", "v1", "v10", "v3beta1"]
    ranked = sorted(versions, key=version_priority, reverse=True)
    assert ranked == ["v10", "v2", "v1", "v11beta2", "v3beta1", "v1beta1", "v1alpha2", "foo1"]


def test_names_in_paths_are_escaped() -> None:
    roles = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False)
    assert roles.path(name="system:node").endswith("/clusterroles/system:node")
    assert POD.path("ns", "a/b") == "/api/v1/namespaces/ns/pods/a%2Fb"
    assert POD.path("ns", "a", "status") == "/api/v1/namespaces/ns/pods/a/status"


def test_a_watch_gives_events_and_bookmarks_and_ends_with_the_server(
    fake: FakeApi, api: Api
) -> None:
    start = fake.revision
    fake.put(POD, "a", "ns", spec={"text": "ü" * 5000})
    seen = []
    for type_, obj in watch_events(api, POD, start):
        seen.append((type_, obj["metadata"]["resourceVersion"]))
        if type_ == "ADDED":
            assert obj["spec"]["text"] == "ü" * 5000
            fake.bookmark(POD)
        else:
            fake.end_watches(POD)
    assert seen == [("ADDED", str(start + 1)), ("BOOKMARK", str(start + 1))]


def test_an_expired_version_and_a_silent_stream_are_told_apart(fake: FakeApi, api: Api) -> None:
    fake.put(POD, "a", "ns")
    fake.compact(POD)
    with pytest.raises(WatchExpiredError):
        list(watch_events(api, POD, fake.revision - 1))
    with pytest.raises(WatchSilentError, match=r"silent for 0.1 s"):
        list(watch_events(api, POD, fake.revision, silence=0.1))
    with pytest.raises(NotServedError):
        list(watch_events(api, Resource("", "v1", "nothings", "Nothing", True), 1))


def test_an_expiry_within_the_stream_is_an_expiry(fake: FakeApi, api: Api) -> None:
    fake.put(POD, "a", "ns")
    with pytest.raises(WatchExpiredError, match="compacted"):
        for _ in watch_events(api, POD, 0):
            fake.fail_watches(POD, 410, "compacted")


def test_a_table_is_printed_like_kubectl_without_wide_columns() -> None:
    table = {
        "kind": "Table",
        "columnDefinitions": [
            {"name": "Ready", "priority": 0},
            {"name": "Name", "priority": 0},
            {"name": "Images", "priority": 1},
            {"name": "Age"},
        ],
        "rows": [{"cells": ["1/1", "a", "x", "2s"]}, {"cells": [True, "longer", "y", None]}],
    }
    assert render_table(table) == "\n".join(
        ["NAME     READY   AGE", "a        1/1     2s", "longer   true    <none>"]
    )
    assert (
        render_table({"kind": "Table", "columnDefinitions": [{"name": "Name"}], "rows": None}) == ""
    )


def test_a_bad_kubeconfig_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        Api.from_kubeconfig(tmp_path / "none")
    broken = tmp_path / "broken"
    broken.write_text("contexts: 7")
    with pytest.raises(UsageError, match="cannot be used"):
        Api.from_kubeconfig(broken)


def test_an_unknown_context_is_a_usage_error(fake: FakeApi, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nope"):
        Api.from_kubeconfig(fake.kubeconfig(tmp_path / "k"), context="nope")


def test_the_adapter_is_imported_in_half_a_second() -> None:
    code = "import time; import conformance.kube; print(time.process_time())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 0.5


def crd_spec() -> dict[str, Any]:
    return {
        "group": "nvidia.com",
        "names": {"plural": "graphs", "kind": "Graph"},
        "scope": "Namespaced",
        "versions": [{"name": "v1alpha1", "served": True}, {"name": "v1beta1", "served": True}],
    }


def established() -> dict[str, Any]:
    return {"conditions": [{"type": "Established", "status": "True"}]}
