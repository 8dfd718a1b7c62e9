"""Installation on a cluster that only remembers; the operator is a small real program."""

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.history.records import OperatorEvent, OperatorEventKind
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError, UsageError
from conformance.operator import profiles
from conformance.operator.install import install
from conformance.operator.installed import InstalledOperator, StartError
from conformance.operator.operator_options import OperatorOptions, check_options
from conformance.operator.templates import PLACEHOLDERS

from .fakes import ApiOnFake, FakeCluster, FakeServer, component_crd, graph_crd, webhook

PROGRAM = """
import http.server, sys
print("hello", *sys.argv[2:], flush=True)
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""

BOUNDS = Bounds(install=5.0)

Profile = dict[str, Any]
Run = Callable[..., InstalledOperator]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    """A profile whose program answers as ready, with its files beside it."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    crds = tmp_path / "crds"
    crds.mkdir()
    for crd in (graph_crd("v1alpha1"), component_crd("v1alpha1")):
        file = crds / f"{crd['metadata']['name']}.yaml"
        file.write_text(yaml.safe_dump(crd), encoding="utf-8")
    (crds / "kustomization.yaml").write_text("resources: [x.yaml]\n", encoding="utf-8")
    (tmp_path / "hooks.yaml").write_text(yaml.safe_dump(webhook()), encoding="utf-8")
    return {
        "identity": {"name": "tried"},
        "features": ["multinode", "component", "admission", "restart"],
        "install": {
            "command": ["{python}", "{profile_dir}/program.py", "{port_health}"],
            "ready": "http://127.0.0.1:{port_health}/readyz",
            "crds": ["crds"],
            "webhooks": ["hooks.yaml"],
            "namespace": "ops",
        },
    }


@pytest.fixture
def run(
    tmp_path: Path, cluster: FakeCluster, server: FakeServer, profile: Profile
) -> Iterator[Run]:
    """Installs `profile` as it then is; what runs is ended with the test."""
    started: list[InstalledOperator] = []

    def start(**given: Any) -> InstalledOperator:
        file = tmp_path / "profile.yaml"
        file.write_text(yaml.safe_dump(profile), encoding="utf-8")
        api = ApiOnFake(server)
        loaded = profiles.load(file)
        names = ("binary", "crds", "faults")
        options = OperatorOptions(**{name: given.pop(name) for name in names if name in given})
        started.append(
            install(
                cluster, loaded, options=options, bounds=BOUNDS, logs=tmp_path, api=api, **given
            )
        )
        return started[-1]

    yield start
    for running in started:
        running.close()


def test_installed_operator_is_ready_guarded_and_probed(run: Run) -> None:
    running = run()
    assert running.control.alive()
    assert running.served == {
        "dynamographdeployments": ["v1alpha1"],
        "dynamocomponentdeployments": ["v1alpha1"],
    }
    assert all(probe.declared and probe.found for probe in running.probes)
    assert list(running.seconds) == ["kinds served", "installed", "ready", "probed"]
    kinds = [event.kind for event in running.events]
    assert kinds == [OperatorEventKind.STARTED, OperatorEventKind.READY]


def test_steps_come_in_the_order_of_a_real_installation(
    run: Run, cluster: FakeCluster, server: FakeServer
) -> None:
    run()
    assert server.applied == [
        "Namespace ops",
        "Service hooks",
        "CustomResourceDefinition dynamocomponentdeployments.nvidia.com",
        "CustomResourceDefinition dynamographdeployments.nvidia.com",
        "ValidatingWebhookConfiguration hooks",
    ]
    assert cluster.kinds_changes == 1
    assert cluster.admins == ["dgd-operator"]


def test_webhook_reaches_the_process_through_its_service(
    run: Run, cluster: FakeCluster, server: FakeServer
) -> None:
    run()
    port = server.find("Service", "hooks")["spec"]["ports"][0]["port"]
    client = server.find("ValidatingWebhookConfiguration", "hooks")["webhooks"][0]["clientConfig"]
    assert client["service"] == {
        "namespace": "ops",
        "name": "hooks",
        "path": "/validate",
        "port": port,
    }
    assert client["caBundle"] == cluster.ca_bundle
    assert server.find("Service", "hooks")["spec"]["externalName"] == "localhost"
    assert "hooks.ops.svc" in cluster.certified


def test_service_of_the_authors_gives_way_to_the_alias(
    run: Run, server: FakeServer, profile: Profile, tmp_path: Path
) -> None:
    named = {"apiVersion": "v1", "kind": "Service"}
    services = [
        {**named, "metadata": {"name": name, "namespace": "ops"}, "spec": {"clusterIP": "None"}}
        for name in ("hooks", "metrics")
    ]
    file = tmp_path / "services.yaml"
    file.write_text(yaml.safe_dump_all(services), encoding="utf-8")
    profile["install"]["prerequisites"] = ["services.yaml"]
    run()
    assert server.applied.count("Service hooks") == 1
    assert server.find("Service", "hooks")["spec"]["type"] == "ExternalName"
    assert server.find("Service", "metrics")["spec"] == {"clusterIP": "None"}


def test_process_gets_its_own_identity_directory_and_files(
    run: Run, cluster: FakeCluster, profile: Profile
) -> None:
    profile["install"]["env"] = {"WHERE": "{namespace}"}
    profile["install"]["files"] = [
        {"path": "conf/own.json", "content": '{{"certs": "{cert_dir}"}}'},
        {"path": "/var/run/fixed/namespace", "content": "{namespace}"},
    ]
    run()
    call = cluster.spawned[0]
    work = call["cwd"]
    assert work.is_relative_to(cluster.directory)
    assert call["env"]["KUBECONFIG"].endswith("dgd-operator.kubeconfig")
    assert call["env"]["WHERE"] == "ops"
    assert call["env"]["TMPDIR"] == str(work)
    assert json.loads((work / "conf/own.json").read_text()) == {"certs": f"{work}/certs"}
    assert call["files"] == {"/var/run/fixed/namespace": b"ops"}


def test_certificates_at_a_fixed_path_are_private_to_the_process(
    run: Run, cluster: FakeCluster, profile: Profile
) -> None:
    profile["install"]["cert_dir"] = "/tmp/fixed/certs"
    run()
    assert cluster.spawned[0]["files"] == {
        f"/tmp/fixed/certs/{name}": f"the {name}".encode()
        for name in ("tls.crt", "tls.key", "ca.crt")
    }


def test_certificate_secret_holds_the_same_certificate(
    run: Run, server: FakeServer, profile: Profile
) -> None:
    profile["install"]["certificate_secret"] = "serving"
    run()
    secret = server.find("Secret", "serving")
    assert secret["metadata"]["namespace"] == "ops"
    assert sorted(secret["data"]) == ["ca.crt", "tls.crt", "tls.key"]


def test_faults_are_arguments_of_the_process(
    run: Run, cluster: FakeCluster, profile: Profile
) -> None:
    profile["install"]["fault_argument"] = "--fault={fault}"
    run(faults=("a", "b"))
    assert cluster.spawned[0]["argv"][-2:] == ["--fault=a", "--fault=b"]


def test_warm_up_is_the_last_step_and_its_failure_ends_the_operator(
    run: Run, cluster: FakeCluster
) -> None:
    seen: list[InstalledOperator] = []

    def warm_up(running: InstalledOperator) -> None:
        assert [event.kind for event in running.events][-1] is OperatorEventKind.READY
        seen.append(running)
        raise InfraError("the throw-away graph never settled")

    with pytest.raises(InfraError, match="never settled"):
        run(warm_up=warm_up)
    assert not seen[0].control.alive()


def test_operator_that_ends_at_once_is_told_with_its_last_lines(run: Run, profile: Profile) -> None:
    code = "import sys; print('cannot open the store'); sys.exit(3)"
    profile["install"]["command"] = ["{python}", "-c", code]
    with pytest.raises(StartError) as caught:
        run()
    sentence = str(caught.value)
    assert "the operator tried ended with code 3" in sentence
    assert sentence.endswith("cannot open the store")


def test_operator_that_never_becomes_ready_is_told_with_the_url(
    run: Run, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BOUNDS", Bounds(install=0.3))
    profile["install"]["command"] = ["{python}", "-c", "import time; time.sleep(60)"]
    with pytest.raises(StartError) as caught:
        run()
    sentence = str(caught.value)
    assert "was not ready 0 s after its start: http://127.0.0.1:" in sentence
    assert (
        "/readyz (`install.ready`) did not answer 200; it wrote nothing to its log, /" in sentence
    )


def test_crashes_and_exits_are_events(run: Run) -> None:
    told: list[OperatorEvent] = []
    arrived = threading.Event()

    def on_event(event: OperatorEvent) -> None:
        told.append(event)
        if event.kind is OperatorEventKind.EXITED:
            arrived.set()

    running = run(on_event=on_event)
    with running.log_path.open("a", encoding="utf-8") as log:
        log.write("panic: index out of range\n")
    running.control.process.kill()  # not through the operator: nobody planned it
    assert arrived.wait(5)
    first = told[:4]
    assert [event.kind for event in first] == [
        OperatorEventKind.STARTED,
        OperatorEventKind.READY,
        OperatorEventKind.PANIC,
        OperatorEventKind.EXITED,
    ]
    assert first[-2].text == "panic: index out of range"
    assert first[-1].text.startswith("signal 9; its last line: ")
    assert running.events[:4] == first


def test_an_operator_that_exits_by_itself_is_started_again_and_a_closed_one_is_not(
    run: Run, cluster: FakeCluster
) -> None:
    ready = threading.Semaphore(0)

    def on_event(event: OperatorEvent) -> None:
        if event.kind is OperatorEventKind.READY:
            ready.release()

    running = run(on_event=on_event)
    assert ready.acquire(timeout=5)
    cluster.processes[0].kill()
    assert ready.acquire(timeout=5)
    assert running.control.alive()
    assert [event.kind for event in running.events][2:] == [
        OperatorEventKind.EXITED,
        OperatorEventKind.STARTED,
        OperatorEventKind.READY,
    ]
    running.close()
    assert not ready.acquire(timeout=0.3)
    assert not running.control.alive()


TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1\n'


@pytest.mark.parametrize(
    ("after", "panics"), [("2026-11-30T06:45:12.5Z INFO reconciled\n", []), ("", [TRACEBACK[:34]])]
)
def test_a_traceback_is_a_crash_only_if_the_operator_ended_with_it(
    run: Run, after: str, panics: list[str]
) -> None:
    exited = threading.Event()

    def on_event(event: OperatorEvent) -> None:
        if event.kind is OperatorEventKind.EXITED:
            exited.set()

    running = run(on_event=on_event)
    with running.log_path.open("a", encoding="utf-8") as log:
        log.write(TRACEBACK + after)
    running.control.process.kill()  # not through the operator: nobody planned it
    assert exited.wait(5)
    told = [event.text for event in running.events if event.kind is OperatorEventKind.PANIC]
    assert told == panics


def test_a_traceback_before_a_planned_end_is_no_crash(run: Run) -> None:
    running = run()
    with running.log_path.open("a", encoding="utf-8") as log:
        log.write(TRACEBACK)
    running.control.kill()
    assert not [event for event in running.events if event.kind is OperatorEventKind.PANIC]


def test_planned_ends_are_no_exits_and_the_operator_starts_again(run: Run) -> None:
    running = run()
    running.control.kill()
    assert not running.control.alive()
    running.control.start()
    running.control.stop()
    running.control.start()
    assert running.control.alive()
    assert [event.kind for event in running.events] == [
        OperatorEventKind.STARTED,
        OperatorEventKind.READY,
        OperatorEventKind.KILLED,
        OperatorEventKind.STARTED,
        OperatorEventKind.READY,
        OperatorEventKind.STOPPED,
        OperatorEventKind.STARTED,
        OperatorEventKind.READY,
    ]
    times = [event.at for event in running.events]
    assert times == sorted(times)


def test_webhook_that_is_not_reached_is_told_in_the_servers_words(
    run: Run, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "BOUNDS", Bounds(install=1.0))
    server.dry_run = lambda _: (500, "failed calling webhook: connection refused")
    with pytest.raises(InfraError, match=r"answered 500: failed calling webhook"):
        run()


def test_refused_dry_run_shows_that_the_webhook_was_reached(run: Run, server: FakeServer) -> None:
    server.dry_run = lambda _: (403, "denied the request")
    assert run().control.alive()


def test_webhooks_are_waited_for(run: Run, server: FakeServer) -> None:
    answers = iter([(500, "connection refused"), (0, ""), (201, "")])
    server.dry_run = lambda _: next(answers)
    assert run().control.alive()
    assert list(answers) == []


@pytest.mark.parametrize(
    ("served", "declared", "sentence"),
    [
        (["v1alpha1"], ["v1alpha1", "v1beta1"], r"lists v1beta1, but .* serves v1alpha1; correct"),
        (["v1alpha1", "v1beta1"], ["v1beta1"], r"also serves v1alpha1, which `versions` does not"),
    ],
)
def test_versions_are_guarded_before_the_operator_starts(
    run: Run,
    cluster: FakeCluster,
    profile: Profile,
    tmp_path: Path,
    served: list[str],
    declared: list[str],
    sentence: str,
) -> None:
    file = tmp_path / "crds" / "dynamographdeployments.nvidia.com.yaml"
    file.write_text(yaml.safe_dump(graph_crd(*served)), encoding="utf-8")
    profile["versions"] = declared
    with pytest.raises(UsageError, match=sentence):
        run()
    assert cluster.spawned == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": ["component", "multinode"]}, r"does not list admission, but a validating"),
        (
            {"features": ["multinode", "admission"]},
            r"does not list component, but the API server serves",
        ),
        (
            {"features": ["component", "admission"]},
            r"does not list multinode, but the graph's CRD has the field `multinode`, and "
            r"LeaderWorkerSet is served",
        ),
        (
            {
                "features": ["component", "admission"],
                "multinode": {"kind": "PodCliqueSet", "gang": "per-group"},
            },
            r"does not list multinode",
        ),
        (
            {"multinode": {"kind": "PodCliqueSet"}},
            r"lists multinode, but the API server serves no kind PodCliqueSet",
        ),
        (
            {"multinode": {"gang": "per-group"}},
            r"lists multinode, but the API server serves no kind PodGroup",
        ),
    ],
)
def test_features_are_checked_against_the_live_api(
    run: Run, cluster: FakeCluster, profile: Profile, change: Profile, sentence: str
) -> None:
    profile.update(change)
    with pytest.raises(UsageError, match=sentence):
        run()
    assert len(cluster.spawned) == 1


def test_declared_admission_without_a_webhook_is_told(run: Run, profile: Profile) -> None:
    profile["install"]["webhooks"] = []
    with pytest.raises(UsageError, match=r"lists admission, but no validating webhook"):
        run()


def test_graph_without_the_field_multinode_is_told(
    run: Run, profile: Profile, tmp_path: Path
) -> None:
    file = tmp_path / "crds" / "dynamographdeployments.nvidia.com.yaml"
    file.write_text(yaml.safe_dump(graph_crd("v1alpha1", multinode=False)), encoding="utf-8")
    with pytest.raises(UsageError, match=r"lists multinode, but the graph's CRD has no field"):
        run()


def test_webhooks_need_a_port(run: Run, profile: Profile) -> None:
    profile["install"]["ports"] = ["health"]
    with pytest.raises(UsageError, match=r"its webhooks need a port named webhook"):
        run()


def test_fixed_port_is_refused_while_another_run_has_it_and_free_after_it(
    run: Run, profile: Profile, server: FakeServer
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    profile["install"]["fixed_ports"] = {"webhook": port}
    first = run()
    with pytest.raises(UsageError, match=rf"can only use port {port} \(webhook\), and another run"):
        run()
    assert first.control.alive()
    first.close()
    run()
    assert server.find("Service", "hooks")["spec"]["ports"][0]["port"] == port


def test_fixed_port_that_another_program_uses_is_refused(run: Run, profile: Profile) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        profile["install"]["fixed_ports"] = {"webhook": taken.getsockname()[1]}
        with pytest.raises(UsageError, match=r"another program on this machine listens on it"):
            run()


@pytest.mark.parametrize(
    ("command", "inputs", "sentence"),
    [
        (["{binary}"], {}, "the operator tried needs its program: --operator-binary=PATH"),
        (
            ["a"],
            {"binary": "program.py"},
            "--operator-binary: the operator tried has no use for it (no {binary}",
        ),
        (["{binary}"], {"binary": "no"}, "is not a file; expected the operator's program"),
        (["{binary}"], {"binary": "program.py"}, "is not executable; expected"),
        (
            ["a"],
            {"crds": "crds"},
            "--operator-crds: the operator tried has no use for it (no {crds}",
        ),
        (["a"], {"faults": ("x",)}, "--fault=x: the operator tried has no faults to switch on"),
    ],
)
def test_inputs_are_checked_without_a_cluster(
    profile: Profile, tmp_path: Path, command: list[str], inputs: dict[str, Any], sentence: str
) -> None:
    profile["install"]["command"] = command
    file = tmp_path / "profile.yaml"
    file.write_text(yaml.safe_dump(profile), encoding="utf-8")
    given: dict[str, Any] = {
        key: tmp_path / value if isinstance(value, str) else value for key, value in inputs.items()
    }
    with pytest.raises(UsageError) as caught:
        check_options(profiles.load(file), OperatorOptions(**given))
    assert sentence in str(caught.value)


def test_crds_of_the_user_are_named_in_errors(run: Run, profile: Profile, tmp_path: Path) -> None:
    profile["install"]["crds"] = ["{crds}"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"--operator-crds=.*/empty: .* holds no manifest"):
        run(crds=empty)


def test_every_documented_placeholder_is_filled_in_by_an_installation(
    run: Run, cluster: FakeCluster, profile: Profile, tmp_path: Path
) -> None:
    program = tmp_path / "program.sh"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    names = [*PLACEHOLDERS, "port_webhook", "port_health", "port_metrics"]
    profile["install"]["env"] = {name.upper(): f"{{{name}}}" for name in names}
    profile["install"]["command"] = ["{binary}"]
    del profile["install"]["ready"]
    run(binary=program)
    environment = cluster.spawned[0]["env"]
    assert all(environment[name.upper()] for name in names)
    assert cluster.spawned[0]["argv"] == [str(program)]
