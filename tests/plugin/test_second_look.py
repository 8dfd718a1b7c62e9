"""Cases that could not be decided among others are run again alone, and what that shows stands."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.model.errors import Exit
from tests.plugin.support import ROOT, fake_run, log, profile

pytest_plugins = ["pytester"]

CASES = '''
from conformance.suite import Feature, case

@case(feature="add")
def test_well(trial):
    """A change is made."""
    trial.late(then="good")

@case(feature="add")
def test_wrong(trial):
    """Another change is made."""
    trial.late(then="bad")

@case(feature="add")
def test_quick(trial):
    """A third change is made."""
    trial.good()

@case(feature="restart", needs=[Feature.RESTART], disruptive=True)
def test_kill(trial):
    """An operator that is killed finishes the work."""
    trial.good()
'''
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "3")], ids=["alone", "workers"])


@pytest.fixture(autouse=True)
def _root_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of these tests themselves


def cases(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    data = json.loads((pytester.path / "results" / "report.json").read_text())
    return {case["id"]: case for case in data["cases"]}


@WORKERS
def test_the_second_verdict_stands_and_both_are_kept(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", "--junit-xml=junit.xml", *workers)
    assert result.ret == Exit.DIFFERS, result.outlines
    result.assert_outcomes(passed=3, failed=1)
    found = cases(pytester)
    assert {name: found[f"mine/{name}"]["verdict"] for name in ("well", "wrong", "quick", "kill")} == {
        "well": "conforms", "wrong": "violates", "quick": "conforms", "kill": "conforms",
    }  # fmt: skip
    for name in ("well", "wrong"):
        (attempt,) = found[f"mine/{name}"]["attempts"]
        assert attempt["verdict"] == "unknown"
        assert (
            attempt["why"]
            == "the operator had its turn for 3.0 s of the 120.0 s until checkpoint 2"
        )
        assert (pytester.path / "results" / attempt["history"]["path"]).is_file()
    assert found["mine/quick"]["attempts"] == []
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["4", "1", "0"]
    assert len(suite.findall("testcase")) == 4


@WORKERS
def test_second_looks_come_one_by_one_when_all_others_are_done(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", *workers)
    said = [line for line in result.outlines if "set aside, to be run alone" in line]
    assert len(said) == 2, result.outlines
    lines = log(pytester)
    ran = [line.split()[2] for line in lines if line.startswith("case")]
    assert sorted(ran[-2:]) == ["mine/well", "mine/wrong"]
    assert lines.index("judge reference-shared") > max(
        index for index, line in enumerate(lines) if line.startswith("case reference mine/w")
    )


@WORKERS
def test_with_two_operators_each_has_its_own_second_looks(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    operators = [f"--operator={profile(pytester.path, name)}" for name in ("first", "second")]
    result = fake_run(pytester, *operators, *workers)
    result.assert_outcomes(passed=6, failed=2)
    lines = log(pytester)
    closed = lines.index("close first-shared")
    assert closed < lines.index("open second-shared")
    again = [n for n, line in enumerate(lines) if line.startswith("case first mine/well")]
    assert len(again) == 2
    assert again[1] < closed


SLOW = '''
import pytest
from conformance.suite import case

@case(feature="add")
@pytest.mark.parametrize("number", range(6))
def test_slow(trial, number):
    """A change is made."""
    trial.late(then="good", times=9)
'''


@WORKERS
def test_a_machine_that_is_too_slow_is_told_once(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=SLOW)
    result = fake_run(pytester, "--operator=reference", *workers)
    assert result.ret == Exit.UNKNOWN, result.outlines
    told = [line for line in result.outlines if "this machine is too slow for a verdict" in line]
    assert told
    assert "3.0 s of the 120.0 s" in told[0]
    verdicts = {name: case["verdict"] for name, case in cases(pytester).items()}
    assert set(verdicts.values()) == {"unknown"}
    assert len([name for name in verdicts if name.startswith("mine/slow")]) == 6


def test_a_violation_is_never_looked_at_twice(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine='''
from conformance.suite import case

@case(feature="add")
def test_bad(trial):
    """Multinode is added, and the Deployment goes."""
    trial.bad()
'''
    )
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == Exit.DIFFERS
    assert len([line for line in log(pytester) if line.startswith("case")]) == 1
    assert cases(pytester)["mine/bad"]["attempts"] == []
