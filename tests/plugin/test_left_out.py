"""What a profile leaves out stands in the report, and a run without the core is partial."""

import hashlib
from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.report import files, verify
from conformance.report.model import ConformanceReport, Summary
from tests.plugin.support import CASES, ROOT, fake_run, profile

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _root_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of these tests themselves


def ran(pytester: pytest.Pytester, path: Path) -> tuple[pytest.RunResult, ConformanceReport]:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, f"--operator={path}", "--alluredir=allure-results")
    assert result.ret == 0, result.outlines
    return result, files.read(pytester.path / "results" / "report.json")


def test_an_operator_that_says_nothing_of_restarts_does_not_conform(
    pytester: pytest.Pytester,
) -> None:
    path = profile(pytester.path, features=["multinode", "component", "bare-component"])
    result, report = ran(pytester, path)
    left = {case.id: case for case in report.cases if case.not_run}
    assert set(left) == {"mine/kill", "mine/stop"}
    assert all(case.required for case in left.values())
    assert report.verdict is Summary.PARTIAL
    assert (report.statistics.unsupported, report.statistics.required_not_run) == (2, 2)
    told = f"2 of {len(report.cases)} cases not supported by the profile, 2 of them required"
    result.stdout.fnmatch_lines([f"mine: partial ({told})"])


def test_the_report_names_the_profiles_digest_and_all_that_it_concedes(
    pytester: pytest.Pytester,
) -> None:
    retained = {"kind": "Secret", "name": "ssh", "reason": "one for all graphs"}
    path = profile(pytester.path, versions=["v1beta1"], retained=[retained])
    result, report = ran(pytester, path)
    assert report.verdict is Summary.CONFORMS
    assert report.profile_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    told = [str(one) for one in report.concessions]
    assert "Secret ssh (one for all graphs)" in told
    assert "v1alpha1 (the API does not have it)" in told
    result.stdout.fnmatch_lines(
        [
            f"mine conforms: * cases (1 of {len(report.cases)} cases not supported by the profile)",
            f"the profile (sha256 {report.profile_sha256[:12]}*) concedes 1 retained object, *",
        ]
    )
    environment = (pytester.path / "allure-results" / "environment.properties").read_text()
    assert "concessions.retained-object=Secret ssh (one for all graphs)" in environment
    results = pytester.path / "results"
    assert verify.problems(report, results) == []
    files.write({"mine": report.model_copy(update={"concessions": []})}, results)
    assert main(["report", "verify", str(results)]) == 1
