import base64
import functools
import hashlib
import http.server
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.cluster import manifests as files
from conformance.cluster.embedded import flags
from conformance.cluster.embedded.layout import Layout
from conformance.cluster.kind import controllers, lws
from conformance.cluster.kind.controllers import KWOK, LWS, Controller
from conformance.cluster.nodes import NODE_SELECTOR, TOLERATION
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.model.errors import InfraError
from tests.kind.fakes import Machine

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "leaderworkersets.leaderworkerset.x-k8s.io"},
    "spec": {
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}},
        "versions": [{"schema": {"description": "long", "type": "object"}}],
    },
}
WEBHOOKS: dict[str, Any] = {
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "w"},
    "webhooks": [{"name": "a", "clientConfig": {"service": {"name": "s"}}}],
}
DEPLOYMENT: dict[str, Any] = {
    "kind": "Deployment",
    "metadata": {"name": LWS.name, "namespace": LWS.namespace},
    "spec": {
        "replicas": 2,
        "template": {
            "metadata": {},
            "spec": {
                "serviceAccountName": "lws-controller-manager",
                "containers": [
                    {
                        "name": "manager",
                        "image": "theirs",
                        "resources": {"requests": {"cpu": 1}},
                        "readinessProbe": {"httpGet": {"path": "/readyz"}, "periodSeconds": 10},
                    }
                ],
            },
        },
    },
}
OBJECTS: list[dict[str, Any]] = [
    CRD,
    WEBHOOKS,
    DEPLOYMENT,
    {"kind": "Secret", "metadata": {"name": "lws-webhook-server-cert"}},
    {"kind": "ConfigMap", "metadata": {"name": "lws-manager-config"}, "data": {}},
]
TEXT = yaml.safe_dump_all(OBJECTS)


@pytest.fixture
def module(machine: Machine) -> Path:
    """The Go module is there."""
    path = machine.root / "go" / "pkg" / "mod" / f"sigs.k8s.io/lws@v{PINS[Program.LWS].version}"
    path.mkdir(parents=True)
    for kept in machine.root.rglob("module.json"):
        kept.unlink()
    return path


def manifests(machine: Machine, **environ: str) -> tuple[lws.Objects, list[str], str]:
    """The manifests, the directories that were given to kustomize, and what was reported."""
    asked: list[str] = []
    output = io.StringIO()

    def kustomize(directory: str) -> str:
        asked.append(directory)
        return TEXT

    found = lws.manifests(
        environ={**machine.environ, **environ}, kustomize=kustomize, progress=Progress(output)
    )
    return found, asked, output.getvalue()


@pytest.fixture
def release(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server with a release, and the file that it serves."""
    target = tmp_path / "www" / f"v{PINS[Program.LWS].version}" / "manifests.yaml"
    target.parent.mkdir(parents=True)
    target.write_text(TEXT, encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path / "www"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", target
    server.shutdown()
    server.server_close()


def test_the_release_goes_before_the_module_and_is_fetched_once(
    machine: Machine, module: Path, release: tuple[str, Path]
) -> None:
    url, served = release
    found, asked, _ = manifests(machine, DGD_CONFORMANCE_LWS_URL=url)
    served.unlink()
    again, asked_again, _ = manifests(machine, DGD_CONFORMANCE_LWS_URL=url)
    assert asked == asked_again == []
    assert found == again
    assert {each["kind"] for each in found} == {each["kind"] for each in OBJECTS}


def test_without_the_release_the_module_gives_the_manifests(machine: Machine, module: Path) -> None:
    _, asked, said = manifests(machine, DGD_CONFORMANCE_LWS_URL="http://127.0.0.1:1")
    assert asked == [str(module / "config" / "default")]
    assert "http://127.0.0.1:1/v0.9.0/manifests.yaml is not taken" in said
    _, asked_again, _ = manifests(machine)
    assert asked_again == []


@pytest.mark.parametrize("served", ["<html>login</html>", "a: [", yaml.safe_dump(CRD)])
def test_a_page_that_is_no_release_is_passed_over(
    machine: Machine, module: Path, release: tuple[str, Path], served: str
) -> None:
    url, file = release
    file.write_text(served, encoding="utf-8")
    _, asked, said = manifests(machine, DGD_CONFORMANCE_LWS_URL=url)
    assert len(asked) == 1
    assert "is not taken" in said


def test_a_module_of_another_layout_is_an_error(machine: Machine, module: Path) -> None:
    with pytest.raises(InfraError, match="lack Deployment lws-controller-manager"):
        lws.manifests(
            environ=machine.environ,
            kustomize=lambda _: yaml.safe_dump(CRD),
            progress=Progress(io.StringIO()),
        )


def prepared(kind: str) -> dict[str, Any]:
    found = [each for each in lws.prepared(OBJECTS, image="mine:1") if each["kind"] == kind]
    assert len(found) == 1
    return found[0]


def test_the_controller_runs_once_on_the_real_node_with_our_image() -> None:
    spec = prepared("Deployment")["spec"]
    pod = spec["template"]["spec"]
    assert spec["replicas"] == 1
    assert dict(TOLERATION) in pod["tolerations"]
    assert pod["nodeSelector"] == dict(NODE_SELECTOR)
    assert pod["containers"][0]["image"] == "mine:1"
    assert pod["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert "resources" not in pod["containers"][0]
    assert DEPLOYMENT["spec"]["replicas"] == 2  # the given one is not changed


def test_api_server_and_controller_agree_on_certificates() -> None:
    objects = {each["kind"]: each for each in lws.prepared(OBJECTS, image="mine:1")}
    data = objects["Secret"]["data"]
    webhook = objects["MutatingWebhookConfiguration"]["webhooks"][0]["clientConfig"]
    assert webhook["caBundle"] == data["ca.crt"]
    assert objects["CustomResourceDefinition"]["spec"]["conversion"] == {"strategy": "None"}
    assert base64.b64decode(data["tls.key"]).startswith(b"-----BEGIN")


def test_a_new_certificate_makes_a_new_pod() -> None:
    revisions = {
        prepared("Deployment")["spec"]["template"]["metadata"]["annotations"][
            "conformance.dgd.dev/certificate"
        ]
        for _ in range(2)
    }
    assert len(revisions) == 2


def test_the_controller_is_as_fast_as_on_the_embedded_control_plane() -> None:
    (text,) = prepared("ConfigMap")["data"].values()
    configuration = yaml.safe_load(text)
    assert configuration["clientConnection"] == {"qps": 1000, "burst": 2000}
    assert configuration["internalCertManagement"] == {"enable": False}
    assert configuration["leaderElection"] == {"leaderElect": False}
    assert "webhook" not in configuration
    assert "health" not in configuration


def test_kwok_does_in_the_cluster_what_it_does_beside_the_embedded_control_plane() -> None:
    embedded = flags.kwok(Layout(directory=Path("/x"), logs=Path("/x")))
    arguments = controllers.kwok_arguments()
    assert set(arguments) - set(embedded) == {
        "--config=/stages/kwok-stages.yaml",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--cidr=10.245.0.0/16",
    }
    assert not any(each.startswith(("--manage-all", "--kubeconfig")) for each in arguments)
    objects = {each["kind"]: each for each in controllers.kwok_objects("mine:1")}
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == dict(NODE_SELECTOR)
    stages = objects["ConfigMap"]["data"]["kwok-stages.yaml"]
    assert stages.encode() == files.text("kwok-stages.yaml")


def found(machine: Machine, controller: Controller, registry: str) -> str:
    environ = {**machine.environ, "DGD_CONFORMANCE_IMAGE_REGISTRY": registry}
    return controllers.image_of(
        controller, docker=machine.docker, environ=environ, progress=Progress(io.StringIO())
    )


def test_an_official_image_that_docker_has_is_not_pulled(machine: Machine) -> None:
    machine.set("images", "mirror.example/kwok/kwok:v0.8.0\n")
    image = found(machine, KWOK, "mirror.example/")
    assert image == "mirror.example/kwok/kwok:v0.8.0"
    assert not any(call.startswith("build") for call in machine.calls("docker"))
    assert not any(call.startswith("pull") for call in machine.calls("docker"))


def test_an_official_image_is_pulled_where_there_is_a_registry(machine: Machine) -> None:
    machine.set("registry")
    image = found(machine, LWS, "mirror.example")
    assert image == "mirror.example/lws/lws:v0.9.0"
    assert not any(call.startswith("build") for call in machine.calls("docker"))


@pytest.mark.parametrize("registry", ["", "mirror.example"])
def test_without_a_registry_there_is_the_program(machine: Machine, registry: str) -> None:
    program = (machine.root / "assets" / "lws-manager").read_bytes()
    digest = hashlib.sha256(program).hexdigest()[:12]
    assert found(machine, LWS, registry) == f"dgd-conformance/lws-manager:0.9.0-{digest}"


def test_a_program_becomes_an_image_once(machine: Machine) -> None:
    image, again = found(machine, LWS, ""), found(machine, LWS, "")
    assert image == again
    dockerfile = (machine.state / "dockerfile").read_text(encoding="utf-8").splitlines()
    assert dockerfile == [
        "FROM scratch",
        "COPY manager /manager",
        "USER 65532:65532",
        'ENTRYPOINT ["/manager"]',
    ]
    assert len([call for call in machine.calls("docker") if call.startswith("build")]) == 1
    source = machine.root / "assets" / "lws-manager"
    assert (machine.state / "built").read_bytes() == source.read_bytes()
    source.write_text(f"{source.read_text()}# another\n")
    assert found(machine, LWS, "") != image
