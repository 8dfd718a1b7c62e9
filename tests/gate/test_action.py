"""The GitHub action: its form, and its steps run outside GitHub."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.gate.linters import check_schema, lint_workflow
from tests.gate.support import ROOT, checkout, environment, fake_python

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


def test_the_action_is_valid() -> None:
    check_schema("vendor.github-actions", ROOT / "action.yml")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_workflows_are_valid(path: Path) -> None:
    check_schema("vendor.github-workflows", path)
    lint_workflow(path)


def test_the_actions_steps_are_valid_as_those_of_a_job(tmp_path: Path) -> None:
    """actionlint knows workflows only: steps, inputs and outputs are laid into one."""
    inputs = {
        name: {"type": "string", "required": bool(told.get("required"))}
        for name, told in ACTION["inputs"].items()
    }
    outputs = {name: told["value"] for name, told in ACTION["outputs"].items()}
    job = {"runs-on": "ubuntu-latest", "outputs": outputs, "steps": STEPS}
    workflow = {"name": "action", "on": {"workflow_call": {"inputs": inputs}}, "jobs": {"a": job}}
    path = tmp_path / "workflow.yml"
    path.write_text(yaml.safe_dump(workflow, sort_keys=False))
    lint_workflow(path)


def test_actions_that_it_uses_are_pinned_and_it_takes_no_secrets() -> None:
    text = (ROOT / "action.yml").read_text() + "".join(path.read_text() for path in WORKFLOWS)
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [
        use for use in used if use != "./" and not re.search(r"@(v\d+|[0-9a-f]{40})$", use)
    ] == []
    assert "secrets." not in text


def test_no_input_stands_in_the_text_of_a_script() -> None:
    workflows = [yaml.safe_load(path.read_text()) for path in WORKFLOWS]
    scripts = [step["run"] for step in STEPS if "run" in step]
    scripts += [
        step["run"]
        for workflow in workflows
        for job in workflow["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    assert len(scripts) >= 4
    assert [script for script in scripts if "${{" in script] == []


def test_every_input_is_used_and_every_used_one_declared() -> None:
    text = yaml.safe_dump(STEPS, width=1000)
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])


class Runner:
    """GitHub's side: the environment, inputs, `if`, outputs and the summary."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.action = checkout(folder / "action")
        self.temp = folder / "temp"
        self.summary, self.output = folder / "summary.md", folder / "output"
        self.workspace.mkdir()
        fake_python(self.temp / "dgd-conformance" / "bin" / "python")
        # The installation is tested by itself: here the environment is there already.
        stamp = self.temp / "dgd-conformance" / ".installed-auto"
        stamp.touch()

    def run(self, **inputs: str) -> tuple[bool, list[str]]:
        """Whether the job is green, and the names of the steps that ran."""
        values = {name: told.get("default", "") for name, told in ACTION["inputs"].items()} | inputs
        good, ran = True, []
        for step in STEPS:
            if "run" not in step or not (good or step.get("if") == "always()"):
                continue
            filled = {
                name: INPUT.sub(lambda match: values[match[1]], text)
                for name, text in step.get("env", {}).items()
            }
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.workspace, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                env=environment(
                    GITHUB_ACTION_PATH=str(self.action), GITHUB_STEP_SUMMARY=str(self.summary),
                    GITHUB_OUTPUT=str(self.output), RUNNER_TEMP=str(self.temp), **filled,
                ),
            )  # fmt: skip
            ran.append(step["name"])
            good = good and done.returncode == 0
        return good, ran

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    assert sys.version_info >= (3, 11)
    made = Runner(tmp_path)
    # Newer than what it was made from.
    os.utime(made.temp / "dgd-conformance" / ".installed-auto", (4e9, 4e9))
    for name in ("requirements.lock", "pyproject.toml"):
        (made.action / name).symlink_to(ROOT / name)
    return made


def test_a_run_that_fails_is_red_and_has_summary_outputs_and_artifacts(runner: Runner) -> None:
    good, ran = runner.run(operator="reference", workers="2", shard="1/1")
    assert (good, ran) == (False, ["Install the suite", "Run the suite", "Summary"])
    text = runner.summary.read_text()
    assert "Conformance of reference, shard 1/1" in text
    assert "- **violates** mine/bad: Deployment agg-worker still exists" in text
    assert "Next:" in text
    assert runner.outputs["verdict"] == "violates"
    report = runner.workspace / runner.outputs["report"]
    assert report.is_file()
    results = report.parent
    (upload,) = (
        step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact")
    )
    assert upload["if"] == "always()"
    assert INPUT.sub(
        lambda match: ACTION["inputs"][match[1]]["default"], upload["with"]["path"]
    ) == (results.name)
    assert {"junit.xml", "allure-results", "report.json", "report.yaml"} <= set(os.listdir(results))


def test_a_run_of_some_cases_is_green_and_partial(runner: Runner) -> None:
    good, _ = runner.run(operator="reference", workers="0", select="good and not old")
    assert good
    assert runner.outputs["verdict"] == "partial"


def test_a_mistake_in_the_inputs_is_red_and_told_in_the_summary(runner: Runner) -> None:
    good, ran = runner.run(operator="nobody", workers="0")
    assert (good, ran[-1]) == (False, "Summary")
    assert "--operator=nobody is neither a known operator nor a path" in runner.summary.read_text()
    assert runner.outputs == {"verdict": "none", "report": ""}
