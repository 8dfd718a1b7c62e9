"""What lands in an Allure results folder, from a real pytest run with allure-pytest."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance import paths
from conformance.report import allure as ours
from conformance.report.allure import write_run_files
from tests.evidence import sample

_TEST = """
import pathlib
import pytest
from conformance.evidence.explain import explain
from conformance.model.errors import InfraError, Violation
from conformance.report.allure import allure_case
from tests.evidence import sample

@pytest.mark.parametrize("case_id", ["bad", "good"])
def test_case(case_id, tmp_path):
    history, judgement = sample.leftover() if case_id == "bad" else sample.good()
    stored = tmp_path / "add.jsonl.zst"
    stored.write_bytes(b"zstd")
    explanation = explain(history, judgement, history_path=str(stored))
    allure_case(history, judgement, explanation)
    if explanation.findings:
        raise Violation(explanation.text)

def test_could_not_tell():
    raise InfraError("etcd died")
"""


def _pytest(folder: Path, *options: str) -> None:
    (folder / "test_sample.py").write_text(_TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "allure_pytest.plugin", *options]
    done = subprocess.run(
        [*command, "test_sample.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("allure")
    _pytest(folder, "--alluredir=out")
    return folder / "out"


def _result(results: Path, name: str) -> dict[str, Any]:
    for path in results.glob("*-result.json"):
        data: dict[str, Any] = json.loads(path.read_text())
        if name in data["fullName"] or name in data["name"]:
            return data
    raise AssertionError(f"no result named {name} in {results}")


def _bad(results: Path) -> dict[str, Any]:
    return _result(results, "add-worker[merge-patch-v1alpha1]")


def test_labels_name_feature_story_severity_and_operator(results: Path) -> None:
    labels = {label["name"]: label["value"] for label in _bad(results)["labels"]}
    assert labels["epic"] == "DGD operator conformance"
    assert labels["feature"] == "add"
    assert labels["story"].startswith("Once nodeCount goes from absent to 2")
    assert labels["severity"] == "critical"
    assert labels["operator"] == "sample"


def test_a_violation_fails_and_an_infra_error_breaks(results: Path) -> None:
    assert _bad(results)["status"] == "failed"
    assert _result(results, "test_could_not_tell")["status"] == "broken"
    assert _result(results, "add-worker[replace-v1alpha1]")["status"] == "passed"


def test_each_checker_is_a_step_with_a_status_of_its_own(results: Path) -> None:
    steps = {s["name"]: s for s in _bad(results)["steps"]}
    assert steps["checker coexistence: violates"]["status"] == "failed"
    assert "still exists 30 s" in steps["checker coexistence: violates"]["statusDetails"]["message"]
    assert steps["checker status-truth: unknown"]["status"] == "broken"
    assert steps["checker size: conforms"]["status"] == "passed"
    assert "checker deletion: does not apply" in steps
    reported = steps["checker availability: conforms"]["steps"]
    assert [step["name"] for step in reported] == ["never without a ready pod"]


def test_each_transition_is_a_step_with_the_times_of_the_history(results: Path) -> None:
    step = next(s for s in _bad(results)["steps"] if "add-multinode-2" in s["name"])
    assert step["name"].endswith("answered 200, generation 1→2 → failed")
    assert step["start"] == int((sample.T0 - 0.01) * 1000)
    assert step["stop"] == int((sample.T0 + 30.5) * 1000)
    spans = [(s["name"], s["stop"] - s["start"]) for s in step["steps"]]
    assert spans[0][0] == "request"
    assert spans[1] == ("never matched (deadline 30 s)", 30500)


def test_only_a_checkpoint_that_was_held_is_told_as_held(results: Path) -> None:
    deployed, added = (s for s in _bad(results)["steps"] if "answered" in s["name"])
    assert re.search(r"matched \d\.\d s after the answer, held for [\d.]+ s$", deployed["name"])
    assert [span["name"].split()[0] for span in deployed["steps"]] == ["request", "waiting", "held"]
    assert "held" not in added["name"] + "".join(span["name"] for span in added["steps"])


def test_the_evidence_is_attached(results: Path) -> None:
    attached = {a["name"]: a for a in _bad(results)["attachments"]}
    assert list(attached) == [
        "Timeline (drawn)",
        "Tables before",
        "Tables after",
        "Timeline (seconds after the API's answer)",
        "What changed",
        "The operator's log of that time",
        "Reproduce with kubectl",
        "History (add.jsonl.zst)",
    ]
    drawn = attached["Timeline (drawn)"]
    assert drawn["type"] == "image/svg+xml"
    assert (results / drawn["source"]).read_text().startswith("<svg")
    assert (results / attached["History (add.jsonl.zst)"]["source"]).read_bytes() == b"zstd"


def test_history_ids_stay_and_differ_between_cases(results: Path, tmp_path: Path) -> None:
    _pytest(tmp_path, "--alluredir=out")
    again = tmp_path / "out"
    names = ("add-worker[merge-patch-v1alpha1]", "add-worker[replace-v1alpha1]")
    first = [_result(results, name)["historyId"] for name in names]
    assert first == [_result(again, name)["historyId"] for name in names]
    assert len(set(first)) == 2


def test_what_differs_in_each_run_is_no_part_of_the_history_id(results: Path) -> None:
    parameters = {p["name"]: p for p in _bad(results)["parameters"]}
    assert parameters["namespace"]["excluded"] is True
    assert not parameters["operator"].get("excluded")


def test_without_a_results_folder_nothing_happens(tmp_path: Path) -> None:
    assert not ours.active()
    _pytest(tmp_path)
    assert not list(tmp_path.glob("out*"))


def test_run_files_are_what_allure_reads(tmp_path: Path) -> None:
    write_run_files(
        tmp_path,
        environment={"operator": "sample", "hold window": "5 s", "path": "C:\\x\ny"},
    )
    assert (tmp_path / "environment.properties").read_text() == (
        "operator=sample\nhold\\ window=5 s\npath=C:\\\\x\\ny\n"
    )
    categories = json.loads((tmp_path / "categories.json").read_text())
    assert [category["name"] for category in categories] == [
        "Known failure",
        "Operator violates",
        "Could not tell",
    ]


def test_only_this_module_imports_allure() -> None:
    package = Path(paths.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) allure", path.read_text(), re.MULTILINE)
    ]
    assert found == ["report/allure.py"]
