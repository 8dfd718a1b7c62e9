from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.kube import Api, Resource, apply_manifests, load_manifests
from conformance.model.errors import InfraError, UsageError
from tests.kube.fake_api import CRD, NAMESPACE, POD, FakeApi

GRAPH = Resource("nvidia.com", "v1", "graphs", "Graph", True)
CRD_PATH = f"{CRD.path()}/graphs.nvidia.com"


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD, NAMESPACE, CRD)
    yield server
    server.close()


@pytest.fixture
def api(fake: FakeApi, tmp_path: Path) -> Api:
    return fake.api(tmp_path)


def accept(fake: FakeApi, *paths: str) -> None:
    for path in paths:
        fake.answers["PATCH", path] = lambda path=path: (200, {"applied": path})  # type: ignore[misc]  # late binding


def crd() -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "graphs.nvidia.com"},
        "spec": {
            "group": "nvidia.com",
            "names": {"plural": "graphs", "kind": "Graph"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True}],
        },
    }


GRAPH_MANIFEST = {
    "apiVersion": "nvidia.com/v1",
    "kind": "Graph",
    "metadata": {"name": "g", "namespace": "ns"},
}
NAMESPACE_MANIFEST = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}


def test_namespaces_come_first_then_crds_until_they_serve_then_the_rest(
    fake: FakeApi, api: Api
) -> None:
    accept(fake, NAMESPACE.path(name="ns"), CRD_PATH, GRAPH.path("ns", "g"))
    reads = []

    def read() -> tuple[int, dict[str, Any]]:
        reads.append(1)
        if len(reads) < 3:
            return 200, crd()
        fake.serve(GRAPH)
        status = {"conditions": [{"type": "Established", "status": "True"}]}
        return 200, fake.put(CRD, "graphs.nvidia.com", spec=crd()["spec"], status=status)

    fake.answers["GET", CRD_PATH] = read
    stored = apply_manifests(api, [GRAPH_MANIFEST, crd(), NAMESPACE_MANIFEST])
    order = [row["applied"] for row in stored]
    assert order == [NAMESPACE.path(name="ns"), CRD_PATH, GRAPH.path("ns", "g")]
    assert len(reads) == 3


def test_a_refused_manifest_is_named(fake: FakeApi, api: Api) -> None:
    status = {"kind": "Status", "message": "quota"}
    fake.answers["PATCH", NAMESPACE.path(name="ns")] = lambda: (403, status)
    with pytest.raises(InfraError, match="applying Namespace ns was answered 403: quota"):
        apply_manifests(api, [NAMESPACE_MANIFEST])


def test_an_object_without_namespace_takes_the_given_one_or_is_refused(
    fake: FakeApi, api: Api
) -> None:
    accept(fake, POD.path("ns", "p"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert len(apply_manifests(api, [pod], namespace="ns")) == 1
    with pytest.raises(UsageError, match="Pod p names no namespace"):
        apply_manifests(api, [pod])


def test_files_directories_and_lists_are_read(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: b}}\n---\n")
    (tmp_path / "a.json").write_text(
        '{"kind": "List", "items": ['
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}'
    )
    (tmp_path / "README.md").write_text("no manifest")
    assert [m["metadata"]["name"] for m in load_manifests(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "cannot be read"),
        ("just text", "no Kubernetes object"),
        ("{kind: Pod, metadata: {name: a}}", "Pod a lacks apiVersion"),
    ],
)
def test_what_is_no_manifest_is_a_usage_error(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=complaint):
        load_manifests(path)


def test_an_empty_directory_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no manifest"):
        load_manifests(tmp_path)


def test_a_given_object_is_checked_too(api: Api) -> None:
    with pytest.raises(UsageError, match="a given manifest: Pod a lacks apiVersion"):
        apply_manifests(api, [{"kind": "Pod", "metadata": {"name": "a"}}])
