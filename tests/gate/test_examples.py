"""GitLab, Tekton, and what all examples have in common."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.model.run_cases import RunCase
from tests.gate.linters import check_schema, tool
from tests.gate.support import CI, ROOT, checkout, environment, executable, fake_python, run

INSTALLED = "/opt/dgd-conformance/ci/"
SCRIPTS = sorted(CI.rglob("*.sh"))
GITLAB = CI / "gitlab" / "conformance.gitlab-ci.yml"
YAML = sorted(path for path in CI.rglob("*.y*ml"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(CI)))
def test_scripts_are_clean(path: Path) -> None:
    done = subprocess.run(
        [tool("shellcheck"), "-x", "-P", str(ROOT), str(path)], capture_output=True, text=True,
        cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    sourced = path.read_text().startswith("# Sourced")
    assert sourced or os.access(path, os.X_OK)


@pytest.mark.parametrize("path", YAML, ids=lambda path: str(path.relative_to(CI)))
def test_scripts_that_examples_call_are_there(path: Path) -> None:
    named = re.findall(rf"{INSTALLED}([\w./-]+\w)", path.read_text())
    assert [name for name in named if not os.access(CI / name, os.X_OK)] == []


def test_the_gitlab_example_is_valid() -> None:
    check_schema("vendor.gitlab-ci", GITLAB)


def shell(script: list[str], *, cwd: Path, env: dict[str, str], suite: Path) -> None:
    """Lines of a job, as GitLab's runner joins them; the image's folder is `suite`."""
    text = "\n".join(script).replace(INSTALLED, f"{suite}/ci/")
    done = run("bash", "-eo", "pipefail", "-c", text, cwd=cwd, env=env)
    assert done.returncode in (0, 1), done.stdout + done.stderr


def test_gitlabs_shards_and_their_report_run_as_the_example_says(tmp_path: Path) -> None:
    jobs: dict[str, Any] = yaml.safe_load(GITLAB.read_text())
    suite = checkout(tmp_path / "suite")
    work = tmp_path / "builds"
    work.mkdir()
    (tmp_path / "bin").mkdir()
    python = fake_python(tmp_path / "bin" / "python")
    env = environment(
        PYTHON=str(python), PATH=f"{python.parent}:{os.environ['PATH']}", DGD_WORKERS="0",
        DGD_OPERATOR=jobs["variables"]["DGD_OPERATOR"], CI_NODE_TOTAL="2",
    )  # fmt: skip
    assert jobs["conformance"]["parallel"] >= 2
    for index in (1, 2):
        job = jobs["conformance"]
        shell(
            job["script"], cwd=work, suite=suite,
            env={**env, **job["variables"], "CI_NODE_INDEX": str(index)},
        )  # fmt: skip
        (junit,) = work.glob(job["artifacts"]["reports"]["junit"].replace("*", str(index)))
        assert junit.is_file()
    shell(jobs["conformance-report"]["script"], cwd=work, suite=suite, env=env)
    report = yaml.safe_load((work / "results" / "report.yaml").read_text())
    assert (report["statistics"]["cases"], report["statistics"]["not_run"]) == (8 + len(RunCase), 0)


def tekton(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((CI / "tekton" / f"{name}.yaml").read_text())
    return data


def references(spec: dict[str, Any], kind: str) -> set[str]:
    return set(re.findall(rf"\$\({kind}\.([\w-]+)", yaml.safe_dump(spec, width=10_000)))


def test_tekton_refers_to_nothing_that_is_not_declared() -> None:
    task, pipeline = tekton("task")["spec"], tekton("pipeline")["spec"]
    assert references(task, "params") == {param["name"] for param in task["params"]}
    assert references(task, "results") == {result["name"] for result in task["results"]}
    assert references(task, "workspaces") == {space["name"] for space in task["workspaces"]}
    assert references(task, "steps") <= {f"step-{step['name']}" for step in task["steps"]}
    (shard,) = pipeline["tasks"]
    given = {param["name"] for param in shard["params"] + shard["matrix"]["params"]}
    needed = {param["name"] for param in task["params"] if "default" not in param}
    assert needed <= given <= {param["name"] for param in task["params"]}
    needed = {space["name"] for space in task["workspaces"] if not space.get("optional")}
    assert {space["name"] for space in shard["workspaces"]} == needed


def test_tektons_shards_are_all_there_are() -> None:
    (matrix,) = tekton("pipeline")["spec"]["tasks"][0]["matrix"]["params"]
    count = len(matrix["value"])
    assert matrix["value"] == [f"{index}/{count}" for index in range(1, count + 1)]


def embedded_scripts() -> list[tuple[str, str]]:
    task = tekton("task")["spec"]["steps"]
    final = tekton("pipeline")["spec"]["finally"][0]["taskSpec"]["steps"]
    return [(step["name"], step["script"]) for step in [*task, *final] if "script" in step]


@pytest.mark.parametrize(("name", "script"), embedded_scripts())
def test_scripts_in_tekton_are_clean(tmp_path: Path, name: str, script: str) -> None:
    path = tmp_path / f"{name}.sh"
    path.write_text(re.sub(r"\$\([\w.-]+\.[\w.-]+\)", "filled", script))
    done = run(tool("shellcheck"), path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_tektons_gate_has_the_code_of_the_suite_and_tells_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "code").write_text("3")
    steps = {step["name"]: step for step in tekton("task")["spec"]["steps"]}
    script = executable(tmp_path / "gate", steps["gate"]["script"].replace(INSTALLED, f"{CI}/"))
    values = {"VERDICT": str(tmp_path / "verdict"), "CODE": str(tmp_path / "code")}
    assert set(values) == {item["name"] for item in steps["gate"]["env"]}
    done = run(script, cwd=tmp_path, env=environment(**values))
    assert done.returncode == 3, done.stderr
    assert (tmp_path / "verdict").read_text() == "none"
    assert "no report" in done.stdout
    assert steps["suite"]["onError"] == "continue"


def test_every_environment_variable_of_the_suite_that_examples_set_is_known() -> None:
    known = set(re.findall(r"\bDGD_\w+", "".join(path.read_text() for path in SCRIPTS)))
    extra = {"DGD_CONFORMANCE_IMAGE"}  # the example's own
    for path in [*YAML, ROOT / "action.yml"]:
        assert set(re.findall(r"\bDGD_\w+", path.read_text())) - known - extra == set(), path
