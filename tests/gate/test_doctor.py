import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.cluster import ClusterKind
from conformance.cluster.programs.pins import PINS
from conformance.doctor import command, diagnosis, machine, probing, programs
from conformance.doctor.diagnosis import Diagnosis, Readiness, examine
from conformance.doctor.probing import Finding, Probe, State
from tests.gate.support import ROOT, environment, executable, run

NEEDED = [
    "python", "architecture", *(str(program) for program in PINS), "lws-crds", "docker", "kind",
    "kubectl", "node-image", "pytest-kind", "kubeconfig", "go", "cache",
]  # fmt: skip


def having(**states: State) -> Diagnosis:
    """A machine that has everything but what is said."""
    named = {name.replace("_", "-"): state for name, state in states.items()}

    def probe(name: str) -> Probe:
        state = named.get(name, State.OK)
        found = Finding(name=name, state=state, install=f"get {name}")
        return lambda: [found]

    return examine({name: probe(name) for name in NEEDED})


def readiness(found: Diagnosis) -> dict[ClusterKind, Readiness]:
    return {kind.kind: kind.readiness for kind in found.kinds}


def test_a_machine_with_everything_can_be_every_kind_of_cluster() -> None:
    found = having()
    assert set(readiness(found).values()) == {Readiness.READY}
    assert {str(kind) for kind in readiness(found)} == set(ClusterKind) - {ClusterKind.AUTO}


@pytest.mark.parametrize(
    ("missing", "kind"),
    [
        ("docker", ClusterKind.KIND), ("kind", ClusterKind.KIND), ("kubectl", ClusterKind.KIND),
        ("pytest_kind", ClusterKind.KIND), ("kubeconfig", ClusterKind.KUBECONFIG),
        ("architecture", ClusterKind.EMBEDDED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("state", [State.MISSING, State.UNKNOWN])
def test_what_is_missing_says_which_kind_it_keeps_from_working_and_what_to_do(
    missing: str, kind: ClusterKind, state: State
) -> None:
    found = having(**{missing: state})
    assert [k.kind for k in found.kinds if not k.works] == [kind]
    (report,) = (k for k in found.kinds if k.kind is kind)
    name = missing.replace("_", "-")
    assert report.reasons == (f"{name}: {state}",)
    assert report.install == (f"get {name}",)
    assert found.works


def test_programs_that_are_not_there_are_prepared_by_the_first_run() -> None:
    found = having(etcd=State.MISSING)
    (embedded,) = (k for k in found.kinds if k.kind is ClusterKind.EMBEDDED)
    assert embedded.readiness is Readiness.PREPARABLE
    assert embedded.works
    assert "not there yet: etcd" in embedded.reasons[0]


@pytest.mark.parametrize("state", [State.WARNING, State.UNKNOWN])
def test_a_node_image_that_docker_lacks_is_had_by_the_first_run(state: State) -> None:
    (kind,) = (k for k in having(node_image=state).kinds if k.kind is ClusterKind.KIND)
    assert kind.readiness is Readiness.PREPARABLE
    assert kind.reasons == (f"node-image: {state}",)
    assert kind.install == ("get node-image",)
    (kind,) = (
        k for k in having(node_image=state, kind=State.MISSING).kinds if k.kind is ClusterKind.KIND
    )
    assert kind.readiness is Readiness.NO
    assert kind.install == ("get kind",)


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [({}, "kindest/node:v1.37"), ({"DGD_CONFORMANCE_KIND_IMAGE": "mine:1"}, "mine:1")],
)
def test_the_node_image_looked_for_is_the_one_that_a_run_would_take(
    tmp_path: Path, environ: dict[str, str], wanted: str
) -> None:
    def found(script: str) -> Finding:
        executable(tmp_path / "docker", f"#!/bin/sh\n{script}\n")
        (finding,) = programs.node_image({**environ, "PATH": str(tmp_path)})
        assert finding.place.startswith(wanted)
        return finding

    assert found(f'case "$5" in {wanted}*) echo sha256:0 ;; *) exit 1 ;; esac').state is State.OK
    assert found("echo Error: No such image >&2; exit 1").state is State.WARNING


def test_programs_that_nobody_can_build_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis.importlib.util, "find_spec", lambda name: None)
    found = having(lws_manager=State.MISSING, go=State.WARNING)
    (embedded,) = (k for k in found.kinds if k.kind is ClusterKind.EMBEDDED)
    assert embedded.readiness is Readiness.NO
    assert embedded.install == ("get go",)


def test_programs_that_nobody_can_store_are_not_either() -> None:
    found = having(lws_crds=State.MISSING, cache=State.WARNING)
    (embedded,) = (k for k in found.kinds if k.kind is ClusterKind.EMBEDDED)
    assert embedded.readiness is Readiness.NO
    assert embedded.reasons == ("not there yet: lws-crds; the cache cannot be written to",)
    assert having(cache=State.WARNING).works, "where all programs are there, nothing is stored"


def test_an_old_python_can_be_no_cluster_and_the_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = having(python=State.MISSING)
    assert not found.works
    monkeypatch.setattr(command, "examine", lambda: found)
    assert main(["doctor"]) == 1
    assert "get python" in capsys.readouterr().out


def test_probes_that_hang_or_fail_are_findings_and_the_others_stand() -> None:
    def hangs() -> Sequence[Finding]:
        time.sleep(60)
        return []

    def fails() -> Sequence[Finding]:
        raise KeyError("a\nb")

    def works() -> Sequence[Finding]:
        return [Finding(name="works", state=State.OK)]

    began = time.monotonic()
    probes: dict[str, Probe] = {"hangs": hangs, "fails": fails, "works": works}
    found = probing.run_all(probes, seconds=0.5)
    assert time.monotonic() - began < 5
    assert [(f.name, f.state) for f in found] == [
        ("hangs", State.UNKNOWN), ("fails", State.UNKNOWN), ("works", State.OK),
    ]  # fmt: skip
    assert found[0].note == "no answer within 0.5 s"
    assert "\n" not in found[1].note


def test_programs_that_hang_do_not_hold_it_up_and_are_not_left_running(tmp_path: Path) -> None:
    names = ["docker", "kind", "kubectl", "helm", "etcd", "go", "kube-apiserver"]
    for name in names:
        executable(
            tmp_path / "bin" / name, f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 300\n"
        )
    began = time.monotonic()
    done = run(
        sys.executable, "-m", "conformance", "doctor", "--json", cwd=tmp_path,
        env=environment(
            PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}", HOME=str(tmp_path), XDG_CACHE_HOME="",
            KUBEBUILDER_ASSETS="",
        ),
    )  # fmt: skip
    took = time.monotonic() - began
    assert done.stderr == ""
    data = json.loads(done.stdout)
    states = {finding["name"]: finding["state"] for finding in data["findings"]}
    assert states["docker"] == states["kind"] == "missing"
    assert states["control-plane"] == states["go"] == "unknown"
    assert took < 30, "five seconds, and what a busy machine adds"
    time.sleep(0.2)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= len(names)
    assert [pid for pid in pids if _runs(pid)] == []


def _runs(pid: int) -> bool:
    try:
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_this_machine_is_told_as_json_with_a_version_and_as_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["doctor", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["schemaVersion"] == 1
    assert set(data) == {"schemaVersion", "works", "clusters", "findings"}
    assert code == (0 if data["works"] else 1)
    assert [cluster["kind"] for cluster in data["clusters"]] == ["embedded", "kind", "kubeconfig"]
    for cluster in data["clusters"]:
        assert set(cluster) == {"kind", "readiness", "works", "reasons", "install"}
    for finding in data["findings"]:
        assert set(finding) == {"name", "state", "version", "place", "note", "install"}
    assert main(["doctor"]) == code
    text = capsys.readouterr().out
    assert "\x1b" not in text
    for name in [finding["name"] for finding in data["findings"]]:
        assert name in text


def lock_of(tmp_path: Path, *lines: str) -> Finding:
    (tmp_path / "requirements.lock").write_text("\n".join(lines) + "\n")
    (found,) = machine.lock(tmp_path)
    return found


def test_packages_that_are_not_those_of_the_lock_are_named(tmp_path: Path) -> None:
    right = f"pytest=={version('pytest')} \\\n    --hash=sha256:00"
    assert lock_of(tmp_path, right).state is State.OK
    elsewhere = "colorama==0.0.1 ; sys_platform == 'win32' \\\n    --hash=sha256:00"
    found = lock_of(tmp_path, right, elsewhere, "rich==0.0.1", "no-such-package==1")
    assert found.state is State.WARNING
    assert found.version == "3 packages"
    assert found.note == (
        f"1 differ: rich {version('rich')} instead of 0.0.1; 1 are not installed: no-such-package"
    )


def test_the_repositorys_own_lock_is_read_whole() -> None:
    text = (ROOT / "requirements.lock").read_text()
    pinned = [line for line in text.splitlines() if "==" in line and not line.startswith(" ")]
    here = [line for line in pinned if "win32" not in line]
    assert len(list(machine._locked(text))) == len(here)


def test_without_a_lock_there_is_nothing_to_compare(tmp_path: Path) -> None:
    (found,) = machine.lock(tmp_path)
    assert found.state is State.OK
    assert "there is no lock" in found.note


def test_a_docker_without_its_daemon_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(
        tmp_path / "docker", "#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (found,) = programs.tool("docker")
    assert found.state is State.MISSING
    assert found.note == "its daemon cannot be used: Cannot connect to the Docker daemon"


def test_a_tool_that_does_not_run_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "kind", "#!/no/such/interpreter\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (found,) = programs.tool("kind")
    assert found.state is State.MISSING
    assert found.note.startswith("it does not run")


def test_contexts_are_listed_and_a_broken_file_is_told(tmp_path: Path) -> None:
    good, broken = tmp_path / "good", tmp_path / "broken"
    good.write_text("contexts: [{name: kind-a}, {name: b}]")
    broken.write_text("contexts: [")
    (found,) = machine.kubeconfig({"KUBECONFIG": f"{good}:{broken}"})
    assert (found.state, found.version) == (State.OK, "kind-a, b")
    assert f"{broken} is no kubeconfig" in found.note
    (found,) = machine.kubeconfig({"KUBECONFIG": str(broken)})
    assert found.state is State.MISSING
    (found,) = machine.kubeconfig({"KUBECONFIG": str(tmp_path / "none")})
    assert found.note == "no context in it"


@pytest.mark.parametrize("package", ["kubernetes", "cryptography", "pydantic", "allure"])
def test_it_works_where_packages_are_missing(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from conformance.__main__ import main; "
        "sys.exit(main(['doctor', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    assert json.loads(done.stdout)["schemaVersion"] == 1


def test_where_it_cannot_work_it_names_the_package() -> None:
    code = (
        "import sys; sys.modules['rich.table'] = None; from conformance.__main__ import main; "
        "sys.exit(main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 4
    assert done.stderr.startswith("error: the package rich.table is not installed")
