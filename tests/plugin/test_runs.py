"""Whole runs of pytest over cases, on clusters that are none (tests/plugin/fake_run.py)."""

from pathlib import Path

import pytest
import yaml

from conformance.model.run_cases import RunCase
from tests.plugin.support import CASES, ROOT, fake_run, log, profile

pytest_plugins = ["pytester"]

BAD = '''
from conformance.suite import case

@case(feature="add")
def test_bad(trial):
    """Multinode is added, and the Deployment goes."""
    trial.bad()
'''
KNOWN = [
    {"case": "mine/bad", "checker": checker, "link": "https://example.com/issues/1"}
    for checker in ("coexistence", "status-truth", "equivalence")
]


@pytest.fixture(autouse=True)
def _root_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of these tests themselves


def report(pytester: pytest.Pytester, name: str = "report") -> dict[str, object]:
    data: dict[str, object] = yaml.safe_load(
        (pytester.path / "results" / f"{name}.yaml").read_text()
    )
    return data


def cases_of(data: dict[str, object]) -> dict[str, dict[str, object]]:
    listed = data["cases"]
    assert isinstance(listed, list)
    return {case["id"]: case for case in listed}


def test_a_run_that_conforms_is_exit_0_and_opens_a_cluster_of_their_own_for_disruptive_cases(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == 0, result.outlines
    assert log(pytester) == [
        "open reference-shared",
        "case reference mine/good main",
        "case reference mine/deploy[v1alpha1] main",
        "case reference mine/deploy[v1beta1] main",
        "judge reference-shared",
        "close reference-shared",
        "open reference-own",
        "case reference mine/kill main",
        "case reference mine/stop main",
        "close reference-own",
    ]
    data = report(pytester)
    assert (data["verdict"], len(cases_of(data))) == ("conforms", 7)
    assert {case for case in cases_of(data) if case.startswith("run/")} == set(RunCase)


def test_with_workers_disruptive_cases_share_one_worker_and_its_cluster(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", "-n", "2")
    assert result.ret == 0, result.outlines
    lines = log(pytester)
    assert lines[0] == "open reference-shared"
    ran = [line.split()[2:] for line in lines if line.startswith("case")]
    assert len(ran) == 5
    assert len({worker for name, worker in ran if name in ("mine/kill", "mine/stop")}) == 1
    assert [name for name, _ in ran if name in ("mine/kill", "mine/stop")] == [
        "mine/kill", "mine/stop",
    ]  # fmt: skip
    assert lines.count("open reference-own") == lines.count("close reference-own") == 1
    assert lines.count("close reference-shared") == 1
    assert len(cases_of(report(pytester))) == 7


def test_clusters_of_several_operators_follow_each_other(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=CASES)
    one, two = profile(pytester.path, "one"), profile(pytester.path, "two")
    result = fake_run(pytester, f"--operator={one}", f"--operator={two}", "-k", "good or kill")
    assert result.ret == 0, result.outlines
    clusters = [line for line in log(pytester) if line.split()[0] in ("open", "close")]
    assert clusters[:4] == [
        "open one-shared",
        "close one-shared",
        "open one-own",
        "open two-shared",
    ]
    assert sorted(clusters[4:]) == [
        "close one-own", "close two-own", "close two-shared", "open two-own",
    ]  # fmt: skip
    for name in ("report-one", "report-two"):
        assert cases_of(report(pytester, name))["mine/good"]["verdict"] == "conforms"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_judgement_of_the_runs_end_that_is_lost_without_an_error_is_missed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FAKE_LOST_END", "1")
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", "-k", "good", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    data = report(pytester)
    assert data["verdict"] == "unknown"
    for case in RunCase:
        assert cases_of(data)[case]["verdict"] == "unknown"
        assert "the judgement of its end was lost" in str(cases_of(data)[case]["error"])


def test_disruptive_cases_alone_open_no_shared_cluster(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=CASES)
    path = profile(
        pytester.path,
        install={"command": ["true"], "ports": [], "fixed_ports": {"webhook": 9443}},
    )
    result = fake_run(pytester, f"--operator={path}", "-k", "kill")
    assert result.ret == 0, result.outlines
    assert log(pytester) == ["open mine-own", "case mine mine/kill main", "close mine-own"]
    assert not any(case.startswith("run/") for case in cases_of(report(pytester)))


def test_a_violation_is_exit_1_and_its_first_line_names_objects_and_creator(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=BAD)
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = result.outlines
    assert log(pytester)[-2:] == ["evidence reference-shared", "close reference-shared"]
    first = next(n for n, line in enumerate(lines) if line.startswith("____")) + 1
    assert lines[first].startswith("Deployment agg-worker still exists")
    assert "created by the operator" in lines[first]
    assert not any("judging.py" in line for line in lines)
    assert report(pytester)["verdict"] == "violates"


def test_a_case_that_proves_nothing_is_unknown_and_gates(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine='''
        from conformance.suite import case

        @case(feature="add")
        def test_nothing(trial):
            """It does nothing."""
        '''
    )
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert report(pytester)["verdict"] == "unknown"


def test_known_failures_are_expected_and_make_the_report_partial(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=BAD)
    path = profile(pytester.path, known_failures=KNOWN)
    result = fake_run(pytester, f"--operator={path}")
    assert result.ret == 0, result.outlines
    result.assert_outcomes(xfailed=1)
    data = report(pytester)
    assert data["verdict"] == "partial"
    assert cases_of(data)["mine/bad"]["verdict"] == "violates"


def test_a_known_failure_that_does_not_show_is_exit_1(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=BAD.replace("trial.bad()", "trial.good()"))
    result = fake_run(pytester, f"--operator={profile(pytester.path, known_failures=KNOWN[:1])}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*https://example.com/issues/1*"])
    assert report(pytester)["verdict"] == "unknown"


def test_what_the_profile_does_not_declare_is_skipped_and_stands_in_the_report(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=CASES)
    path = profile(pytester.path, versions=["v1beta1"], features=["multinode"])
    result = fake_run(pytester, f"--operator={path}", "-rs")
    assert result.ret == 0, result.outlines
    result.assert_outcomes(passed=2, skipped=3)
    reason = "unsupported: the profile of mine does not declare v1alpha1"
    result.stdout.fnmatch_lines([f"*{reason}*"])
    data = report(pytester)
    left = cases_of(data)["mine/deploy[v1alpha1]"]
    assert (left["not_run"], left["reason"], left["required"]) == ("unsupported", reason, False)
    assert cases_of(data)["mine/kill"]["required"] is True
    assert data["verdict"] == "partial"
    assert "open mine-own" not in log(pytester)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_what_was_deselected_stands_in_the_report_which_is_then_partial(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", "-k", "good", *workers)
    assert result.ret == 0, result.outlines
    data = report(pytester)
    assert data["verdict"] == "partial"
    assert {
        case["id"]: case.get("not_run") for case in cases_of(data).values()
    } == {
        "mine/good": None, "mine/kill": "deselected", "mine/stop": "deselected",
        "mine/deploy[v1alpha1]": "deselected", "mine/deploy[v1beta1]": "deselected",
        **dict.fromkeys(RunCase, None),
    }  # fmt: skip


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_cluster_that_cannot_be_opened_ends_the_run_in_one_sentence(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    monkeypatch.setenv("FAKE_SHUT", "reference")
    result = fake_run(pytester, "--operator=reference", *workers)
    assert result.ret == 3
    text = result.stdout.str() + result.stderr.str()
    cause = "etcd of reference-shared ended with code 1; its log is empty"
    assert f"left no result, since the run was broken off: {cause}" in text
    assert text.count(cause) == 2, "in the report, and in pytest's own last line"
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert not (pytester.path / "results" / "told.log").exists()
    assert report(pytester)["verdict"] == "unknown"


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_mistake_of_the_users_is_told_whole_and_not_proposed_again(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_mine=CASES)
    monkeypatch.setenv("FAKE_REFUSED", "1")
    result = fake_run(pytester, "--operator=reference", *workers)
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert "the user lacks rights\nof these two" in text
    assert "next:" not in text
    assert "Traceback" not in text
    monkeypatch.delenv("FAKE_REFUSED")
    monkeypatch.setenv("FAKE_SHUT", "reference")
    result = fake_run(pytester, "--operator=reference", *workers)
    assert "next: pytest --operator=reference" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize("seen", [True, False], ids=["a case failed", "every case conforms"])
def test_a_cluster_that_dies_ends_the_run_at_the_first_case_that_shows_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...], seen: bool
) -> None:
    good = BAD.replace("bad", "good")
    first = BAD if seen else good.replace("test_good", "test_a")
    more = (good.replace("test_good", f"test_{name}") for name in "cdefgh")
    pytester.makepyfile(test_mine=first + "".join(more))
    cause = "etcd of the embedded control plane ended with code 1; its log is empty"
    monkeypatch.setenv("FAKE_DEAD", cause)
    result = fake_run(pytester, "--operator=reference", *workers)
    if not seen:
        assert result.ret == 0, result.outlines
        return
    assert result.ret == 3
    text = result.stdout.str() + result.stderr.str()
    assert f"left no result, since the run was broken off: {cause}" in text
    assert "INTERNALERROR" not in text
    assert "judge reference-shared" not in log(pytester)
    assert "close reference-shared" in log(pytester)
    assert report(pytester)["verdict"] != "conforms"


def test_a_second_operator_without_a_cluster_ends_the_run_with_the_first_ones_report(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(test_mine=CASES)
    monkeypatch.setenv("FAKE_SHUT", "two")
    one, two = profile(pytester.path, "one"), profile(pytester.path, "two")
    result = fake_run(pytester, f"--operator={one}", f"--operator={two}", "-k", "good or deploy")
    assert result.ret == 3
    assert "etcd of two-shared ended with code 1" in result.stdout.str() + result.stderr.str()
    assert cases_of(report(pytester, "report-one"))["mine/good"]["verdict"] == "conforms"
    assert report(pytester, "report-two")["verdict"] == "unknown"


def test_a_worker_that_dies_is_an_unknown_case_and_the_cluster_is_closed(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_mine=CASES
        + '''
@case(feature="add")
def test_dies(trial):
    """The worker dies."""
    import os
    os._exit(9)
'''
    )
    result = fake_run(pytester, "--operator=reference", "-n", "2", "-k", "good or dies")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    case = cases_of(report(pytester))["mine/dies"]
    assert case["verdict"] == "unknown"
    assert "its worker process died" in str(case["error"])
    assert log(pytester)[-3:] == [
        "judge reference-shared", "evidence reference-shared", "close reference-shared",
    ]  # fmt: skip


def test_a_fixture_that_is_no_case_is_told_in_a_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_it(trial): pass")
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*uses `trial` but is no case; decorate it with @case(...)*"])


def test_changed_bounds_are_told_above_the_first_case_and_the_report_is_partial(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "--operator=reference", "--hold=2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["bounds changed: hold 2 (a report of such a run does not claim*"])
    assert report(pytester)["verdict"] == "partial"


def test_the_lock_is_given_back_at_the_end(pytester: pytest.Pytester, tmp_path: Path) -> None:
    pytester.makepyfile(test_mine=CASES)
    for _ in range(2):
        assert fake_run(pytester, "--operator=reference", "-k", "good").ret == 0
