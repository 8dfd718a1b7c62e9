import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cluster.processes.ports import free_ports
from conformance.cluster.programs.download import Downloader, DownloadError
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure
from conformance.cluster.programs.sources import Source
from tests.cluster.conftest import Machine
from tests.cluster.fakes import ReleaseServer, release_server


@pytest.fixture
def server() -> Iterator[ReleaseServer]:
    with release_server() as running:
        yield running


def fetch(server: ReleaseServer, program: Program, target: Path) -> None:
    Downloader(server.environ).fetch(PINS[program], target)


def test_a_release_with_its_checksum_is_taken_and_executable(
    server: ReleaseServer, tmp_path: Path
) -> None:
    server.publish(Program.APISERVER, b"the program")
    fetch(server, Program.APISERVER, tmp_path / "kube-apiserver")
    assert (tmp_path / "kube-apiserver").read_bytes() == b"the program"
    assert stat.S_IMODE((tmp_path / "kube-apiserver").stat().st_mode) == 0o755


def test_a_program_is_taken_out_of_its_archive(server: ReleaseServer, tmp_path: Path) -> None:
    server.publish(Program.ETCD, b"etcd itself")
    fetch(server, Program.ETCD, tmp_path / "etcd")
    assert (tmp_path / "etcd").read_bytes() == b"etcd itself"
    assert [path.name for path in tmp_path.iterdir()] == ["etcd"]


def test_a_wrong_checksum_is_refused_and_leaves_nothing(
    server: ReleaseServer, tmp_path: Path
) -> None:
    server.publish(Program.KWOK, b"tampered", checksum="ab" * 32)
    with pytest.raises(DownloadError, match=r"expected sha256 abab.*, found"):
        fetch(server, Program.KWOK, tmp_path / "kwok")
    assert list(tmp_path.iterdir()) == []


def test_a_sha512_checksum_is_told_by_its_length(server: ReleaseServer, tmp_path: Path) -> None:
    server.publish(Program.KWOK, b"x", checksum="cd" * 64)
    with pytest.raises(DownloadError, match="expected sha512 cdcd"):
        fetch(server, Program.KWOK, tmp_path / "kwok")


def test_a_checksum_file_without_the_program_is_an_error(
    server: ReleaseServer, tmp_path: Path
) -> None:
    server.publish(Program.ETCD, b"etcd")
    sums = next(path for path in server.files if path.endswith("SHA256SUMS"))
    server.files[sums] = b"0" * 64 + b"  something-else.tar.gz\n"
    with pytest.raises(DownloadError, match="holds no SHA-256 or SHA-512 checksum of etcd-v"):
        fetch(server, Program.ETCD, tmp_path / "etcd")


def test_an_archive_that_is_none_is_an_error(server: ReleaseServer, tmp_path: Path) -> None:
    server.publish(Program.ETCD, b"etcd")
    archive = next(path for path in server.files if path.endswith(".tar.gz"))
    sums = next(path for path in server.files if path.endswith("SHA256SUMS"))
    server.files[archive] = b"not an archive"
    digest = hashlib.sha256(b"not an archive").hexdigest()
    server.files[sums] = f"{digest}  {archive.rsplit('/', 1)[1]}\n".encode()
    with pytest.raises(DownloadError, match="is not an archive with"):
        fetch(server, Program.ETCD, tmp_path / "etcd")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_asked_once(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    environ = {"DGD_CONFORMANCE_KUBERNETES_URL": f"http://127.0.0.1:{port}"}
    downloader = Downloader(environ)
    with pytest.raises(DownloadError, match="cannot be reached"):
        downloader.fetch(PINS[Program.APISERVER], tmp_path / "a")
    with release_server() as late:
        # Even if it came up meanwhile: the next program does not wait for it again.
        late.publish(Program.SCHEDULER, b"x")
        with pytest.raises(DownloadError, match="cannot be reached"):
            downloader.fetch(PINS[Program.SCHEDULER], tmp_path / "b")
        assert late.asked == []


@pytest.mark.parametrize(
    ("base", "message"), [("", "switched off"), ("file:///etc", "expected an http or https URL")]
)
def test_a_base_url_is_checked(base: str, message: str, tmp_path: Path) -> None:
    environ = {"DGD_CONFORMANCE_KWOK_URL": base}
    downloader = Downloader(environ)
    with pytest.raises(DownloadError, match=message):
        downloader.fetch(PINS[Program.KWOK], tmp_path / "kwok")


def test_a_download_comes_before_a_build(server: ReleaseServer, machine: Machine) -> None:
    machine.install_go()
    machine.put_all_but(Program.APISERVER, Program.ETCD)
    server.publish(Program.APISERVER, b"#!/bin/sh\n")
    machine.variables |= server.environ
    programs = ensure(environ=machine.environ, progress=machine.progress)
    assert programs.found[Program.APISERVER].source is Source.DOWNLOAD
    assert programs.path(Program.APISERVER).parent == machine.folder(Program.APISERVER)
    # Not published, so its server answers 404, and it is built.
    assert programs.found[Program.ETCD].source is Source.BUILD


def test_a_wrong_checksum_ends_in_a_build_and_is_said(
    server: ReleaseServer, machine: Machine
) -> None:
    machine.install_go()
    machine.put_all_but(Program.KWOK)
    server.publish(Program.KWOK, b"tampered", checksum="ab" * 32)
    machine.variables |= server.environ
    programs = ensure(environ=machine.environ, progress=machine.progress)
    assert programs.found[Program.KWOK].source is Source.BUILD
    assert programs.path(Program.KWOK).read_bytes() != b"tampered"
    assert "does not match its checksum and was thrown away" in machine.output.getvalue()
