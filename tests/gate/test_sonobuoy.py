"""The Sonobuoy plugin, with its worker played by these tests."""

import json
import signal
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
import yaml

from tests.gate.support import CI, environment, executable

PLUGIN: dict[str, Any] = yaml.safe_load((CI / "sonobuoy" / "plugin.yaml").read_text())
GOOD = """
mkdir -p "$DGD_RESULTS"
echo '<testsuites><testsuite tests="1"><testcase name="a"/></testsuite></testsuites>' \
  >"$DGD_RESULTS/junit.xml"
echo '{}' >"$DGD_RESULTS/report.json"
"""


def start(tmp_path: Path, script: str, **env: str) -> subprocess.Popen[bytes]:
    suite = executable(tmp_path / "suite", f"#!/bin/bash\n{script}")
    (tmp_path / "results").mkdir()
    return subprocess.Popen(
        [CI / "sonobuoy" / "run.sh"], cwd=tmp_path, start_new_session=True,
        env=environment(
            SUITE=str(suite), SONOBUOY_RESULTS_DIR=str(tmp_path / "results"),
            TMPDIR=str(tmp_path), **env,
        ),
    )  # fmt: skip


def awaited(tmp_path: Path, process: subprocess.Popen[bytes]) -> tarfile.TarFile:
    """As the worker does: wait for `done`, and take what it names at once."""
    done = tmp_path / "results" / "done"
    end = time.monotonic() + 60
    try:
        while not done.exists():
            assert time.monotonic() < end, "there is no file `done`"
            time.sleep(0.002)
        path = Path(done.read_text())
        assert path.is_absolute()
        with path.open("rb") as file:
            data = path.parent.parent / "sent.tar.gz"
            data.write_bytes(file.read())
        process.wait(timeout=30)
    finally:
        process.kill()
    return tarfile.open(data)


def junit(archive: tarfile.TarFile) -> ElementTree.Element:
    (name,) = (n for n in archive.getnames() if Path(n).name == "junit.xml")
    member = archive.extractfile(name)
    assert member is not None
    return ElementTree.parse(member).getroot()


@pytest.mark.parametrize("code", [0, 1])
def test_the_worker_gets_a_tarball_with_junit_report_and_log(tmp_path: Path, code: int) -> None:
    process = start(tmp_path, f"{GOOD}\nexit {code}")
    archive = awaited(tmp_path, process)
    assert process.returncode == code
    assert junit(archive)[0].get("tests") == "1"
    assert "./report.json" in archive.getnames()


def test_done_comes_last(tmp_path: Path) -> None:
    process = start(tmp_path, f"{GOOD}\ntouch ../began; sleep 1; ls -A '{tmp_path}/results' >&2")
    time.sleep(0.5)
    assert not (tmp_path / "results" / "done").exists()
    awaited(tmp_path, process)


def test_a_suite_that_never_began_counts_as_an_error(tmp_path: Path) -> None:
    process = start(tmp_path, "exit 4")
    suite = junit(awaited(tmp_path, process))[0]
    assert process.returncode == 4
    assert suite.get("errors") == "1"
    (error,) = suite.iter("error")
    assert "before any case" in (error.get("message") or "")


def test_a_plugin_that_is_stopped_still_reports(tmp_path: Path) -> None:
    script = f"ends() {{\n{GOOD}\nexit 2\n}}\ntrap ends TERM\ntouch began\n"
    process = start(tmp_path, f"{script}while :; do sleep 0.1; done")
    end = time.monotonic() + 30
    while not (tmp_path / "began").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    awaited(tmp_path, process)
    assert process.returncode == 2


def test_nothing_is_left_in_the_container(tmp_path: Path) -> None:
    awaited(tmp_path, start(tmp_path, GOOD))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"results", "suite", "sent.tar.gz"}
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "done", "dgd-conformance.tar.gz",
    }  # fmt: skip


class Worker(BaseHTTPRequestHandler):
    told: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.told.append((self.path, json.loads(self.rfile.read(length))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Worker.told = []
    server = HTTPServer(("127.0.0.1", 0), Worker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_progress_is_told_while_cases_run(tmp_path: Path, port: int) -> None:
    expected = {"cases": [{"not_run": None}, {"not_run": None}, {"not_run": "deselected"}]}
    cases = {
        "a": {"id": "add/a", "not_run": None, "verdict": "conforms"},
        "b": {"id": "add/b", "not_run": None, "verdict": "violates"},
        "c": {"id": "add/c", "not_run": "deselected", "verdict": None},
    }
    writes = "".join(
        f"echo '{json.dumps(case)}' >\"$DGD_RESULTS/cases/{name}.json\"\n"
        for name, case in cases.items()
    )
    script = f"""{GOOD}
mkdir -p "$DGD_RESULTS/live" "$DGD_RESULTS/cases"
{writes}
echo '{json.dumps(expected)}' >"$DGD_RESULTS/live/cases.json"
sleep 8
"""
    process = start(
        tmp_path, script, SONOBUOY_PROGRESS_PORT=str(port), http_proxy="http://127.0.0.1:9"
    )
    awaited(tmp_path, process)
    assert Worker.told == [
        (
            "/progress",
            {"msg": "2 of 2 cases", "total": 2, "completed": 2, "failures": ["add/b"]},
        )
    ]


def test_a_worker_that_does_not_listen_stops_nothing(tmp_path: Path) -> None:
    process = start(tmp_path, GOOD, SONOBUOY_PROGRESS_PORT="9")
    awaited(tmp_path, process)
    assert process.returncode == 0


def test_the_definition_names_what_the_script_delivers() -> None:
    config, spec = PLUGIN["sonobuoy-config"], PLUGIN["spec"]
    assert (config["driver"], config["result-format"]) == ("Job", "junit")
    assert config["result-files"] == ["junit.xml"]
    assert spec["command"] == ["/opt/dgd-conformance/ci/sonobuoy/run.sh"]
    (mount,) = spec["volumeMounts"]
    assert mount == {"mountPath": "/tmp/sonobuoy/results", "name": "results"}
    env = {item["name"]: item["value"] for item in spec["env"]}
    assert "--i-own-this-cluster" in env["DGD_ARGS"]
