import os
import subprocess
from pathlib import Path

import pytest

from conformance.cluster.processes import isolation
from conformance.cluster.processes.isolation import with_private_files
from conformance.model.errors import UsageError

NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

needs_namespaces = pytest.mark.skipif(
    isolation.refusal() is not None, reason=f"no private mount namespace: {isolation.refusal()}"
)


def run(argv: list[str], files: dict[str, bytes], staging: Path) -> str:
    command = with_private_files(argv, files=files, staging=staging, what="operator x")
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=staging.parent
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@needs_namespaces
def test_a_file_is_seen_by_the_process_and_by_nobody_else(tmp_path: Path) -> None:
    there_before = os.path.exists("/var/run/secrets/kubernetes.io")
    script = f"cat {NAMESPACE}; echo; ls /run | wc -l; pwd"
    seen, entries, folder = run(
        ["sh", "-c", script], {NAMESPACE: b"dynamo-system"}, tmp_path / "staging"
    ).splitlines()
    assert seen == "dynamo-system"
    assert int(entries) >= len([name for name in os.listdir("/run") if not name.startswith(".")])
    assert folder == str(tmp_path)
    assert os.path.exists("/var/run/secrets/kubernetes.io") is there_before


@needs_namespaces
def test_the_rest_of_a_covered_ancestor_stays_live(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    (parent / "kept").mkdir(parents=True)
    (parent / "file").write_text("old", encoding="utf-8")
    (parent / "link").symlink_to("file")
    wanted = parent / "new" / "deep" / "x"
    script = f"cat {wanted} {parent}/file {parent}/link; echo back > {parent}/kept/out"
    assert run(["sh", "-c", script], {str(wanted): b"1"}, tmp_path / "staging") == "1oldold"
    assert (parent / "kept" / "out").read_text(encoding="utf-8") == "back\n"
    assert not (parent / "new").exists()


@needs_namespaces
def test_an_existing_directory_is_covered_whole(tmp_path: Path) -> None:
    folder = tmp_path / "certificates" / "serving"
    folder.mkdir(parents=True)
    (folder / "old.crt").write_text("old", encoding="utf-8")
    files = {str(folder / "tls.crt"): b"a", str(folder / "tls.key"): b"b"}
    assert run(["ls", str(folder)], files, tmp_path / "staging").split() == ["tls.crt", "tls.key"]
    assert os.listdir(folder) == ["old.crt"]


@needs_namespaces
def test_the_process_keeps_its_id_and_gets_signals_itself(tmp_path: Path) -> None:
    files = {str(tmp_path / "a" / "b" / "c"): b""}
    command = with_private_files(
        ["sh", "-c", "echo $$"], files=files, staging=tmp_path / "s", what="x"
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=10)
    assert int(output) == process.pid


def test_without_files_the_command_is_unchanged(tmp_path: Path) -> None:
    assert with_private_files(["a", "b"], files={}, staging=tmp_path, what="x") == ["a", "b"]


@pytest.mark.parametrize("path", ["relative/file", "/a/../b/c", "/a/b/c/"])
def test_a_path_must_be_plain_and_absolute(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="operator x: a private file needs a plain absolute path"):
        with_private_files(["a"], files={path: b""}, staging=tmp_path, what="operator x")


@pytest.mark.parametrize("path", ["/file", "/etc/passwd"])
def test_a_top_directory_is_not_covered(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{path} cannot be private, since all of"):
        with_private_files(["a"], files={path: b""}, staging=tmp_path, what="operator x")


def test_a_machine_without_namespaces_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "refusal", lambda: "Operation not permitted")
    with pytest.raises(
        UsageError, match=r"this machine gives none \(Operation not permitted\): run as"
    ):
        with_private_files(["a"], files={NAMESPACE: b""}, staging=tmp_path, what="operator x")
