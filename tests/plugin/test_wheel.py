"""The wheel: what another repository installs and runs."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.plugin.support import ROOT

pytestmark = pytest.mark.xdist_group("wheel")

SHIPPED = "conformance/shipped"
KINDS = {".py", ".yaml", ".j2", ".mod", ".sum", ".toml"}
IMAGE = {f"{SHIPPED}/operators/reference/{name}" for name in ("Dockerfile", "requirements.txt")}
"""What the reference operator's image is built from."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without network: the build backend is one of the development dependencies."""
    place = tmp_path_factory.mktemp("wheel")
    # A build tests whether caches stay out only where there are some.
    cache = ROOT / "operators" / "reference" / "__pycache__"
    cache.mkdir(exist_ok=True)
    probe = cache / f"probe-{os.getpid()}.pyc"
    probe.touch()
    command = [
        "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", f"--wheel-dir={place}", str(ROOT),
    ]  # fmt: skip
    try:
        built = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    finally:
        probe.unlink()
    assert built.returncode == 0, built.stderr
    (path,) = place.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel alone, as an installer would lay it out."""
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def test_every_module_and_every_file_of_the_suite_is_in_it(names: set[str]) -> None:
    wanted = {
        f"{target}/{path.relative_to(ROOT / source)}"
        for source, target in (
            ("conformance", "conformance"),
            ("cases", f"{SHIPPED}/cases"),
            ("fixtures", f"{SHIPPED}/fixtures"),
            ("operators", f"{SHIPPED}/operators"),
        )
        for path in (ROOT / source).rglob("*")
        if path.suffix in KINDS and "cache" not in str(path.relative_to(ROOT))
    }
    assert wanted - names == set()


def test_nothing_but_the_suite_is_in_it(names: set[str]) -> None:
    assert {name for name in names if Path(name).suffix not in KINDS} == IMAGE
    assert {name.partition("/")[0] for name in names} == {"conformance"}
    folders = {part for name in names for part in Path(name).parts[:-1]}
    assert not any("cache" in folder or "results" in folder for folder in folders)


def test_the_plugin_is_found_by_pytest_through_its_entry_point(installed: Path) -> None:
    (points,) = installed.glob("*.dist-info/entry_points.txt")
    assert "[pytest11]\ndgd-conformance = conformance.plugin" in points.read_text()


def run(installed: Path, directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Something of the installed package, from an empty directory."""
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=directory,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip


def test_the_shipped_cases_are_the_same_as_in_the_checkout(installed: Path, tmp_path: Path) -> None:
    options = ("--operator=reference", "--collect-only", "-q", "-p", "no:cacheprovider")
    shipped = run(installed, tmp_path, "pytest", "--pyargs", f"{SHIPPED}/cases".replace("/", "."),
                  *options)  # fmt: skip
    assert shipped.returncode == 0, shipped.stdout + shipped.stderr
    here = run(ROOT, ROOT, "pytest", "cases", *options)

    def cases(output: str) -> list[str]:
        return [line.rpartition("cases/")[2] for line in output.splitlines() if "::" in line]

    assert cases(shipped.stdout) == cases(here.stdout)
    assert len(cases(shipped.stdout)) >= 60
    assert list(tmp_path.iterdir()) == []


def test_profiles_fixtures_and_faults_are_found_in_the_installed_package(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, runpy; from conformance import paths; from conformance.driver import graphs; "
        "from conformance.operator import profiles; "
        "print(paths.root()); print(graphs.agg().name); print(*profiles.known())"
    )
    (tmp_path / "look.py").write_text(code)
    root, graph, operators = run(installed, tmp_path, "look").stdout.splitlines()
    assert root == str(installed / SHIPPED)
    assert graph == "vllm-agg"
    assert {"reference", "reference-refusing", "dynamo-2026-08"} <= set(operators.split())
    faults = run(installed, tmp_path, "conformance", "faults")
    assert faults.returncode == 0, faults.stderr
    assert len(faults.stdout.splitlines()) >= 13
