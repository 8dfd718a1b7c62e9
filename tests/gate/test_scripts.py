"""The shell of the gate, run as a CI would, outside of one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.model.run_cases import RunCase
from tests.gate.support import CI, checkout, environment, executable, fake_python, run


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """An interpreter that writes down how it was called, and ends with CODE."""
    return executable(
        tmp_path / "recorder",
        f"""#!{sys.executable}
import json, os, sys
if sys.argv[1] == "-c":
    sys.exit()
with open({str(tmp_path / "calls.jsonl")!r}, "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
print("what pytest says")
sys.exit(int(os.environ.get("CODE", "0")))
""",
    )


def calls(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]


def suite(tmp_path: Path, recorder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run(CI / "run.sh", cwd=tmp_path, env=environment(**{"PYTHON": str(recorder), **env}))


def test_settings_become_options_with_blanks_and_quotes_untouched(
    tmp_path: Path, recorder: Path
) -> None:
    done = suite(
        tmp_path, recorder, DGD_OPERATOR="./my profile.yaml\nreference", DGD_BINARY="./a b",
        DGD_CRDS="crds", DGD_IMAGE="r.example/op:1", DGD_CHART="oci://x", DGD_CLUSTER="kind",
        DGD_KUBERNETES="v1.36", DGD_SELECT='add or "$(touch pwned)"', DGD_SHARD="2/4",
        DGD_WORKERS="3", DGD_RESULTS="out", DGD_ARGS="--hold=2\n--fault=a b\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (call,) = calls(tmp_path)
    assert call[:2] == ["-m", "pytest"]
    assert call[3:] == [
        "-p", "no:cacheprovider", "-n", "3", "--results=out", "--junit-xml=out/junit.xml",
        "--alluredir=out/allure-results", "--operator=./my profile.yaml", "--operator=reference",
        "--operator-binary=./a b", "--operator-crds=crds", "--operator-image=r.example/op:1",
        "--operator-chart=oci://x", "--cluster=kind", "--kubernetes-version=1.36",
        "--shard=2/4", "-k", 'add or "$(touch pwned)"', "--hold=2", "--fault=a b",
    ]  # fmt: skip
    assert not (tmp_path / "pwned").exists()
    assert (tmp_path / "out" / "run.log").read_text() == "what pytest says\n" == done.stdout


def test_what_is_not_set_is_left_to_the_suite(tmp_path: Path, recorder: Path) -> None:
    suite(tmp_path, recorder, DGD_OPERATOR="reference", DGD_CLUSTER="", DGD_SHARD="", DGD_ARGS="")
    (call,) = calls(tmp_path)
    assert not [a for a in call if a.startswith(("--cluster", "--shard", "--kind", "-k"))]
    assert "" not in call


def test_an_image_of_a_node_is_taken_as_it_is(tmp_path: Path, recorder: Path) -> None:
    suite(
        tmp_path,
        recorder,
        DGD_OPERATOR="x",
        DGD_CLUSTER="kind",
        DGD_KUBERNETES="kindest/node:offline",
    )
    assert "--kind-image=kindest/node:offline" in calls(tmp_path)[0]


def test_gitlabs_parallel_jobs_are_shards(tmp_path: Path, recorder: Path) -> None:
    suite(tmp_path, recorder, DGD_OPERATOR="x", CI_NODE_INDEX="2", CI_NODE_TOTAL="4")
    assert "--shard=2/4" in calls(tmp_path)[0]


@pytest.mark.parametrize("code", ["0", "1", "3", "4", "5"])
def test_the_exit_code_is_pytests(tmp_path: Path, recorder: Path, code: str) -> None:
    assert suite(tmp_path, recorder, DGD_OPERATOR="x", CODE=code).returncode == int(code)


def test_an_interpreter_without_the_suite_is_told(tmp_path: Path) -> None:
    bare = executable(tmp_path / "bare", f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    done = suite(tmp_path, bare, DGD_OPERATOR="x")
    assert done.returncode == 4
    assert "bare does not have the suite; set PYTHON to VENV/bin/python" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({}, "no operator is named"),
        ({"DGD_OPERATOR": "x", "DGD_KUBERNETES": "1.36"}, "needs DGD_CLUSTER=kind"),
    ],
)
def test_a_mistake_in_the_settings_is_one_sentence_and_exit_4(
    tmp_path: Path, recorder: Path, env: dict[str, str], told: str
) -> None:
    done = suite(tmp_path, recorder, **env)
    assert done.returncode == 4
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "calls.jsonl").exists()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_container_that_is_stopped_lets_the_suite_close_and_write_its_report(
    tmp_path: Path, sent: signal.Signals
) -> None:
    slow = executable(
        tmp_path / "slow",
        f"""#!{sys.executable}
import pathlib, sys, time
if sys.argv[1] == "-c":
    sys.exit()
pathlib.Path("started").touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.5)
    print("closed")
    raise SystemExit(2)
""",
    )
    process = subprocess.Popen(
        [CI / "run.sh"], cwd=tmp_path, env=environment(PYTHON=str(slow), DGD_OPERATOR="x"),
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 30
        while not (tmp_path / "started").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(sent)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (2, "closed\n")
    assert (tmp_path / "results" / "run.log").read_text() == "closed\n"


def test_the_environment_is_made_of_the_locked_requirements_once(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").touch()
    stub = f"""#!/bin/sh
printf '%s\\n' "$*" >>{tmp_path}/pip.log
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
case "$*" in *pytest_kind*) exit 1;; esac
"""
    python = executable(tmp_path / "python", stub)
    env = environment(PYTHON=str(python))
    for _ in range(2):
        done = run(CI / "install.sh", tmp_path / "venv", cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
    log = (tmp_path / "pip.log").read_text()
    assert log.count("install --require-hashes -r") == 1
    assert log.count("--no-deps --no-build-isolation -e") == 1
    assert "[kind]" not in log
    run(CI / "install.sh", tmp_path / "venv", cwd=tmp_path, env={**env, "DGD_CLUSTER": "kind"})
    added = [line for line in (tmp_path / "pip.log").read_text().splitlines() if "[kind]" in line]
    assert len(added) == 1
    assert "--constraint" in added[0]


def test_an_old_python_is_told_in_a_sentence(tmp_path: Path) -> None:
    old = executable(tmp_path / "old", "#!/bin/sh\nexit 1\n")
    done = run(CI / "install.sh", tmp_path / "venv", cwd=tmp_path, env=environment(PYTHON=str(old)))
    assert done.returncode == 4
    assert "older than Python 3.11" in done.stderr


def files_of_github(tmp_path: Path) -> dict[str, str]:
    return {
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }


def test_a_run_that_came_to_nothing_still_has_a_summary_with_the_end_of_its_log(
    tmp_path: Path, recorder: Path
) -> None:
    (tmp_path / "results").mkdir()
    log = (
        "\n".join(f"line {n}" for n in range(50)) + "\n```\n<b>ERROR</b>: --operator=x is unknown\n"
    )
    (tmp_path / "results" / "run.log").write_text(log)
    env = environment(DGD_OPERATOR="x<y", **files_of_github(tmp_path))
    done = run(CI / "summary.sh", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## ❓ Conformance of xy: no report\n")
    assert "    <b>ERROR</b>: --operator=x is unknown\n" in text
    assert "line 10" not in text
    block = text.split("log:\n\n")[1]
    assert all(line.startswith("    ") for line in block.splitlines())
    assert (tmp_path / "output").read_text() == "verdict=none\nreport=\n"


def test_the_summary_of_a_run_that_failed(tmp_path: Path) -> None:
    place = checkout(tmp_path / "suite")
    python = fake_python(tmp_path / "python")
    env = environment(PYTHON=str(python), DGD_OPERATOR="reference", DGD_WORKERS="0")
    work = tmp_path / "work"
    work.mkdir()
    done = run(place / "ci" / "run.sh", cwd=work, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    shown = run(place / "ci" / "summary.sh", cwd=work, env={**env, **files_of_github(tmp_path)})
    assert (shown.returncode, shown.stdout) == (0, "")
    text = (tmp_path / "summary.md").read_text()
    assert f"**reference: violates (1 of {8 + len(RunCase)} cases violates)**" in text
    assert "- **violates** mine/bad: Deployment agg-worker still exists" in text
    assert (tmp_path / "output").read_text().splitlines() == [
        "verdict=violates", "report=results/report.json",
    ]  # fmt: skip
    assert {"junit.xml", "allure-results", "report.yaml", "histories", "run.log"} <= set(
        os.listdir(work / "results")
    )
    here = run(place / "ci" / "summary.sh", cwd=work, env=env)
    assert here.stdout == text
