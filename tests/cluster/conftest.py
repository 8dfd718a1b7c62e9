"""Pretended machines for the tests of the programs, and one real control plane a module."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import Programs, ensure
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import architecture
from conformance.kube import Api
from tests.cluster.fakes import go_at, module_at, program_at, says


@dataclass
class Machine:
    """A pretended machine: nothing of the real one's Go, cache or programs is seen."""

    root: Path
    output: io.StringIO
    variables: dict[str, str]

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a run."""
        off = {pin.release.base_variable: "" for pin in PINS.values() if pin.release is not None}
        return {
            **off,
            "HOME": str(self.root),
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
            **self.variables,
        }

    @property
    def progress(self) -> Progress:
        """Writes to `output`, every 0.1 s."""
        return Progress(self.output, log_seconds=0.1)

    def folder(self, program: Program) -> Path:
        """The program's place in the cache."""
        pin = PINS[program]
        name = f"{pin.module}-{pin.version}-linux-{architecture()}"
        return self.root / ".cache" / "dgd-conformance" / "programs" / name

    def put(self, program: Program, where: str, version: str | None = None) -> Path:
        """A program in bin/ (on PATH) or another folder of the machine."""
        return program_at(self.root / where / program.value, says(program, version))

    def put_all_but(self, *missing: Program, where: str = "bin") -> None:
        """The others, in their pinned versions."""
        for program in Program:
            if program not in missing:
                self.put(program, where)

    def install_go(self, *, version: str = "go1.26.1", build: str = "") -> None:
        """A Go on PATH; `builds` tells what it built."""
        module = module_at(self.root / "module")
        log = self.root / "builds"
        go_at(self.root / "bin" / "go", log=log, module=module, version=version, build=build)

    @property
    def builds(self) -> list[str]:
        """A line for each build: package, directory, flags."""
        log = self.root / "builds"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One without programs and without Go."""
    root = tmp_path / "machine"
    (root / "bin").mkdir(parents=True)
    return Machine(root=root, output=io.StringIO(), variables={})


@pytest.fixture(scope="session")
def programs() -> Programs:
    return ensure()


@pytest.fixture(scope="module")
def cluster(programs: Programs) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(programs=programs) as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: EmbeddedCluster) -> Iterator[Api]:
    with Api.from_kubeconfig(cluster.kubeconfig) as client:
        yield client
