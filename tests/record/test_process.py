import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.kube import Resource
from conformance.model.errors import InfraError
from conformance.record.__main__ import main
from conformance.record.process import RecorderProcess
from conformance.record.tail import Tail
from tests.kube.fake_api import CRD, POD, FakeApi
from tests.processes import alive
from tests.record.support import heartbeats, seen, until


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    server = FakeApi(POD, CRD)
    yield server
    server.close()


@pytest.fixture
def recorder(fake: FakeApi, tmp_path: Path) -> Iterator[RecorderProcess]:
    process = RecorderProcess.start(
        kubeconfig=fake.kubeconfig(tmp_path / "kubeconfig"),
        directory=tmp_path / "out",
        users={"dgd-operator": "operator"},
    )
    yield process
    process.stop()


def test_it_records_until_it_is_stopped(fake: FakeApi, recorder: RecorderProcess) -> None:
    ready = recorder.wait_ready()
    assert dict(ready.users) == {"dgd-operator": "operator"}
    fake.put(POD, "a", "ns")
    until(lambda: seen(recorder.directory, "ns"))
    agents = {headers["User-Agent"] for _, _, headers, _ in fake.requests}
    assert agents == {"dgd-conformance-recorder"}
    recorder.stop()
    assert heartbeats(recorder.directory)[-1].stopped
    with pytest.raises(InfraError, match="ended with code 0"):
        recorder.check()


def test_one_that_was_killed_is_noticed_by_owner_and_reader(recorder: RecorderProcess) -> None:
    recorder.wait_ready()
    tail = Tail(recorder.directory, "ns", lag=0.6)
    until(lambda: tail.poll() == [] and tail.heartbeat)
    os.kill(recorder.pid, signal.SIGKILL)
    with pytest.raises(InfraError, match="no sign of life"):
        until(tail.poll)
    with pytest.raises(InfraError, match="ended with code -9"):
        recorder.check()


def test_it_ends_with_its_parent(fake: FakeApi, tmp_path: Path) -> None:
    kubeconfig = fake.kubeconfig(tmp_path / "kubeconfig")
    code = (
        "import os, pathlib, sys\n"
        "from conformance.record.process import RecorderProcess\n"
        "kubeconfig, out = map(pathlib.Path, sys.argv[1:])\n"
        "process = RecorderProcess.start(kubeconfig=kubeconfig, directory=out)\n"
        "process.wait_ready()\n"
        "print(process.pid, flush=True)\n"
        "os._exit(9)\n"
    )
    command = [sys.executable, "-c", code, str(kubeconfig), str(tmp_path / "out")]
    parent = subprocess.run(command, capture_output=True, text=True, check=False)
    assert parent.returncode == 9, parent.stderr
    pid = int(parent.stdout)
    until(lambda: not alive(pid))


def test_it_says_in_a_sentence_why_it_cannot_start(fake: FakeApi, tmp_path: Path) -> None:
    process = RecorderProcess.start(kubeconfig=tmp_path / "none", directory=tmp_path / "out")
    with pytest.raises(InfraError, match=r"ended with code 4: the kubeconfig .* does not exist"):
        process.wait_ready()


def test_it_does_not_write_into_the_record_of_another_run(
    fake: FakeApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ready").write_text("{}")
    kubeconfig = fake.kubeconfig(tmp_path / "kubeconfig")
    assert main([f"--kubeconfig={kubeconfig}", f"--out={tmp_path}"]) == 4
    assert "holds the record of another run" in capsys.readouterr().err
    assert main([f"--kubeconfig={kubeconfig}", f"--out={tmp_path}", "--users=[]"]) == 4
    assert "expected a JSON object" in capsys.readouterr().err


def test_waiting_for_a_late_kind_ends_when_it_is_recorded(
    fake: FakeApi, recorder: RecorderProcess
) -> None:
    recorder.wait_ready()
    graph = Resource("nvidia.com", "v1", "graphs", "Graph", True)
    with pytest.raises(InfraError, match=r"did not record graphs.nvidia.com within 0.1 s"):
        recorder.wait_recording([POD, graph], within=0.1)
    fake.serve(graph)
    spec = {
        "group": "nvidia.com",
        "names": {"plural": "graphs", "kind": "Graph"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True}],
    }
    status = {"conditions": [{"type": "Established", "status": "True"}]}
    fake.put(CRD, "graphs.nvidia.com", spec=spec, status=status)
    recorder.wait_recording([POD, graph])


def test_a_broken_ready_marker_is_an_infrastructure_error(
    recorder: RecorderProcess, tmp_path: Path
) -> None:
    recorder.wait_ready()
    recorder.stop()
    (recorder.directory / "ready").write_text(json.dumps({"revision": 1}))
    with pytest.raises(InfraError, match="cannot be read"):
        recorder.wait_ready(within=0.1)
